"""Retrievers that a user might bring, by `module:function`."""


def finds_nothing(question: str, limit: int) -> list[str]:
    return []
