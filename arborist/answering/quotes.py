"""Quotations inside a claim, and whether the evidence holds them word for word."""

import re
from collections.abc import Sequence

from arborist.answering.findings import QUOTE_INVENTED, QUOTE_MISATTRIBUTED, QUOTE_SPLICED
from arborist.answering.statement import folded

# A single quote opens only after white space or a bracket and closes only before them, or it is an apostrophe.
_QUOTATION = re.compile(r'"([^"]{2,2000})"|(?<![^\s(\[])\'([^\'"]{2,2000}(?:\'\w[^\'"]{0,2000}){0,20})\'(?!\w)')
_WORD = re.compile(r"[^\W_]+")
_ELLIPSIS = re.compile(r"\[?(?:…|\.\.\.|\. \. \.)\]?")
_MIN_PIECE = 2


def quotations_of(text: str, min_words: int) -> tuple[tuple[str, ...], ...]:
    """The quotations in `text` of at least `min_words` words, each as its pieces between ellipses, normalised."""
    found = []
    for match in _QUOTATION.finditer(folded(text)):
        inner = match[1] if match[1] is not None else match[2]
        pieces = tuple(piece for part in _ELLIPSIS.split(inner) if (piece := word_line(part)).strip())
        if sum(piece.count(" ") - 1 for piece in pieces) >= min_words:
            found.append(pieces)
    return tuple(found)


def word_line(text: str) -> str:
    """The words of `text` in lower case with one blank around each, so that `in` finds whole words only."""
    words = _WORD.findall(folded(text).lower())
    return f" {' '.join(words)} " if words else ""


def quote_finding(pieces: Sequence[str], cited: Sequence[str], others: Sequence[str]) -> str | None:
    """What is wrong with a quotation, or None.

    `cited` and `others` are the `word_line` of the evidence the claim cites and of all other evidence. Pieces
    between ellipses must follow each other in one text.
    """
    if any(_in_order(pieces, line) for line in cited):
        return None
    if any(_in_order(pieces, line) for line in others):
        return QUOTE_MISATTRIBUTED
    everything = [*cited, *others]
    if all(_spliced_from(piece, everything) for piece in pieces):
        return QUOTE_SPLICED
    return QUOTE_INVENTED


def _in_order(pieces: Sequence[str], line: str) -> bool:
    position = 0
    for piece in pieces:
        found = line.find(piece, position)
        if found < 0:
            return False
        # The blank after a piece is the blank before the next one.
        position = found + len(piece) - 1
    return bool(pieces)


def _spliced_from(piece: str, lines: Sequence[str]) -> bool:
    """Whether `piece` is one run, or two runs of at least two words, that the lines hold apart from each other."""
    words = piece.split()
    if _held(words, lines):
        return True
    longest = _longest_held_prefix(words, lines)
    return any(
        _held(words[cut:], lines) for cut in range(longest, _MIN_PIECE - 1, -1) if len(words) - cut >= _MIN_PIECE
    )


def _longest_held_prefix(words: Sequence[str], lines: Sequence[str]) -> int:
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if _held(words[:middle], lines):
            low = middle
        else:
            high = middle - 1
    return low


def _held(words: Sequence[str], lines: Sequence[str]) -> bool:
    run = f" {' '.join(words)} "
    return any(run in line for line in lines)
