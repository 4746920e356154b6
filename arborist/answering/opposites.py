"""Whether two terms are each other's opposite: by the word list, by a negation, by a negating prefix."""

from collections.abc import Set

from arborist.answering.lexicon import NEGATING_PREFIXES, OPPOSITES
from arborist.answering.statement import NOT, stem

# Shorter words are too often no word with a prefix at all: `import`, `port`.
_PREFIXED = 5


def _by_word() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for left, right in (map(stem, pair) for pair in OPPOSITES):
        found.setdefault(left, set()).add(right)
        found.setdefault(right, set()).add(left)
    return {word: frozenset(words) for word, words in found.items()}


_OPPOSITES_OF = _by_word()


def has_opposites(key: str) -> bool:
    """Whether the word list knows an opposite of the term, so that its place in a sentence matters."""
    return key in _OPPOSITES_OF


def negated(key: str) -> str:
    """The term with its negation taken away, or put on."""
    return key.removeprefix(NOT) if key.startswith(NOT) else NOT + key


def opposed_in(key: str, held: Set[str]) -> bool:
    """Whether `held` has an opposite of the term: another word for the contrary, or itself with a prefix."""
    if not held.isdisjoint(_OPPOSITES_OF.get(key, frozenset())):
        return True
    return any(
        (len(key) >= _PREFIXED and prefix + key in held) or (key.startswith(prefix) and _bare(key, prefix) in held)
        for prefix in NEGATING_PREFIXES
    )


def _bare(key: str, prefix: str) -> str:
    rest = key.removeprefix(prefix)
    return rest if len(rest) >= _PREFIXED else ""
