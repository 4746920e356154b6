"""From a question to the evidence: the plan, the search over shards, the ranking, the context."""
