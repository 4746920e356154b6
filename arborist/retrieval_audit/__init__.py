"""Offline verification of retained responses of a hosted search service (`retained-retrieval-audit.md`).

Reads one input document and four files beside it, writes nothing, asks nobody. Uses the standard library alone, so
that it can be run and read apart from the rest of the project.
"""

from arborist.retrieval_audit.audit import verify, verify_file
from arborist.retrieval_audit.command import exit_code, main

__all__ = ["exit_code", "main", "verify", "verify_file"]
