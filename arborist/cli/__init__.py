"""The `arborist` command: parse, call the engine, print. Results go to stdout, errors to stderr."""
