"""What retrieval knows of a promoted answer: its uri, and the chunks that its text says it rests on.

Both stand in the document itself and are bound by its root, so that ranking never asks the ledger and replays.
"""

import re

PROMOTED_URI_PREFIXES = ("arborist://providence/", "aborist://providence/")
"""How the uri of a promoted answer begins; the second is the older spelling."""

CITED_DIGITS = 16
"""Hex digits of a chunk's leaf hash in a cite: enough to tell chunks apart, few enough to read."""

_CITE = re.compile(rf"\[E\d+: [^\[\]]*@([0-9a-f]{{{CITED_DIGITS}}})\]")
# No bracket that could open a cite, and no control character, which a document may not hold.
_PLAIN = str.maketrans("[]", "()") | dict.fromkeys((*range(32), *range(127, 160)), " ")


def promoted_uri(cache_key: str) -> str:
    """The uri of the record's promoted answer."""
    return PROMOTED_URI_PREFIXES[0] + cache_key


def promoted_cache_key(uri: str) -> str | None:
    """The cache key in the uri of a promoted answer, in either spelling; None for any other uri."""
    for prefix in PROMOTED_URI_PREFIXES:
        if uri.startswith(prefix):
            return uri.removeprefix(prefix)
    return None


def names_promoted_answer(text: str) -> bool:
    """Whether the uri of a promoted answer, in either spelling, stands anywhere in the text."""
    lowered = text.lower()
    return any(prefix in lowered for prefix in PROMOTED_URI_PREFIXES)


def cite(number: int, uri: str, leaf_hash: str) -> str:
    """A chunk of the document `uri` as a promoted answer names it: `[E1: handbook/a.md@0123456789abcdef]`."""
    return f"[E{number}: {uncited(uri)}@{leaf_hash[:CITED_DIGITS]}]"


def uncited(text: str) -> str:
    """The text on one line, with round brackets and no control characters: nothing in it reads as a cite."""
    return " ".join(text.translate(_PLAIN).split())


def cited_leaves(text: str) -> frozenset[str]:
    """The first digits of the leaf hashes of all chunks that the text of a promoted answer cites."""
    return frozenset(_CITE.findall(text))


def claims_stated(text: str) -> str:
    """What a chunk of a promoted answer states: its claims a line each, without the question and the cites.

    A chunk that holds no claim line is given back as it is.
    """
    claims = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    return "\n".join(_CITE.sub("", claim).strip() for claim in claims) or text
