"""From sources to shards: documents, chunks, the full-text index and the roots over them."""
