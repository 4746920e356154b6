"""What is kept: records, audit events, the log over them, and what can be proven from it."""
