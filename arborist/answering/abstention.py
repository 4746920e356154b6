"""The form of an answer that is none: one line that says what the evidence lacks."""

ABSTENTION_PREFIX = "NO ANSWER:"


def abstention_text(missing: str) -> str:
    """The text of an abstention; `missing` says what the evidence would have to hold."""
    return f"{ABSTENTION_PREFIX} {missing.strip()}"


def is_abstention(text: str) -> bool:
    """Whether the whole answer is an abstention. An empty answer is one too: it states nothing."""
    return not text.strip() or text.lstrip().startswith(ABSTENTION_PREFIX)
