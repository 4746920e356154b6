"""`python -m arborist` is the `arborist` command."""

from arborist.cli.main import main

main()
