"""Evidence made up for a test."""

from arborist.retrieval.context import Evidence


def evidence(number: int, text: str, title: str = "", role: str = "primary", document_root: str = "") -> Evidence:
    """A chunk of a document of its own unless `document_root` says otherwise."""
    root = document_root or f"{number:064x}"
    return Evidence(number, root, 0, "0" * 64, role, "shard", f"doc:{number}", title, text)
