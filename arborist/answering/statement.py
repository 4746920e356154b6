"""What a text states, as comparable terms in order: words by stem, numbers by value, negations applied."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from arborist.answering.lexicon import (
    FUNCTION_WORDS,
    IRREGULAR,
    NEGATIONS,
    ORDINALS,
    SCALES,
    SMALL_NUMBERS,
    UNITS,
)

NOT = "¬"

# A number with its sign, thousands and decimals; a word with inner apostrophes or points (U.S., o'clock); signs
# that carry a value.
_TOKEN = re.compile(
    r"(?P<number>(?<![^\W_])[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:st|nd|rd|th|s)?(?![^\W_]))"
    r"|(?P<word>[^\W_]+(?:['’][^\W_]+)*)|(?P<sign>[%$€£°<>≤≥±])|(?P<stop>[.;:!?,()])"
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "−": "-", "–": "-", "—": "-"})


class Kind(IntEnum):
    """What a term is; everything but WORD is compared strictly."""

    WORD = 0
    NAME = 1
    NUMBER = 2
    UNIT = 3


@dataclass(frozen=True, slots=True)
class Statement:
    """The terms of a text in order: what they are compared by, their kind, and where they start in the text."""

    keys: tuple[str, ...]
    kinds: tuple[Kind, ...]
    starts: tuple[int, ...]


class _Token(NamedTuple):
    text: str
    lower: str
    start: int
    group: str


def folded(text: str) -> str:
    """`text` with quotes and dashes made plain, character for character, so that offsets stay what they were."""
    return text.translate(_QUOTES)


def statement_of(text: str) -> Statement:
    """The terms of `text`. Function words are left out; a negation is joined to the term it stands before."""
    tokens = [_token(match) for match in _TOKEN.finditer(folded(text))]
    keys: list[str] = []
    kinds: list[Kind] = []
    starts: list[int] = []
    negated = False
    for key, kind, start in _terms(tokens):
        if key == NOT:
            negated = not negated
            continue
        keys.append(NOT + key if negated else key)
        kinds.append(kind)
        starts.append(start)
        negated = False
    if negated:
        keys.append(NOT)
        kinds.append(Kind.WORD)
        starts.append(max(len(text) - 1, 0))
    return Statement(tuple(keys), tuple(kinds), tuple(starts))


def _token(match: re.Match[str]) -> _Token:
    return _Token(match[0], match[0].lower(), match.start(), match.lastgroup or "")


def _terms(tokens: list[_Token]) -> Iterator[tuple[str, Kind, int]]:
    position = 0
    while position < len(tokens):
        token = tokens[position]
        key, length = _number(tokens, position) if _may_be_number(token) else ("", 0)
        if length:
            yield key, Kind.NUMBER, token.start
            position += length
            unit = _unit(tokens, position)
            if unit:
                yield unit, Kind.UNIT, tokens[position].start
                position += 1
            continue
        if token.group == "sign":
            yield UNITS.get(token.lower, token.lower), Kind.UNIT, token.start
        elif token.group == "word" and (key := _word_key(token.lower)):
            is_name = token.text[0].isupper() and not _opens_sentence(tokens, position)
            yield key, Kind.NAME if is_name else Kind.WORD, token.start
        position += 1


def _may_be_number(token: _Token) -> bool:
    return token.group == "number" or token.lower in SMALL_NUMBERS or token.lower in ORDINALS


def _opens_sentence(tokens: list[_Token], position: int) -> bool:
    return position == 0 or (tokens[position - 1].group == "stop" and tokens[position - 1].text in ".!?:")


@lru_cache(maxsize=65536)
def _word_key(word: str) -> str:
    """What a word in lower case is compared by: NOT for a negation, nothing for a function word, else its stem."""
    if word in NEGATIONS or word.endswith("n't"):
        return NOT
    if word in FUNCTION_WORDS:
        return ""
    key = stem(word)
    return "" if key in FUNCTION_WORDS else key


def _number(tokens: list[_Token], position: int) -> tuple[str, int]:
    """The key of the number that starts at `position` and how many tokens it takes; none when there is none."""
    token = tokens[position]
    if token.lower in ORDINALS and token.group == "word":
        return f"#{ORDINALS[token.lower]}th", 1
    if token.group == "number" and token.lower[-1].isalpha():
        return _suffixed(token.lower), 1
    value, length = _cardinal(tokens, position)
    return (f"#{_plain(value)}", length) if length else ("", 0)


def _suffixed(text: str) -> str:
    digits = text.rstrip("sthndr").replace(",", "")
    return f"#{digits}s" if text.endswith("s") else f"#{digits}th"


def _cardinal(tokens: list[_Token], position: int) -> tuple[Decimal, int]:
    """A number in digits or words, with the scale after it: `3.5 million`, `two hundred and fifty`."""
    total, group, length = Decimal(0), Decimal(0), 0
    seen = position
    while seen < len(tokens):
        token = tokens[seen]
        if token.group == "number" and length == 0 and not token.lower[-1].isalpha():
            group = Decimal(token.lower.replace(",", ""))
        elif token.lower in SMALL_NUMBERS and not group % 10 and (group % 100 or SMALL_NUMBERS[token.lower] < 100):
            group += SMALL_NUMBERS[token.lower]
        elif token.lower in SCALES and length:
            total, group = _scaled(total, group, SCALES[token.lower])
        elif token.lower == "and" and _continues(tokens, seen):
            seen += 1
            continue
        else:
            break
        seen += 1
        length = seen - position
    return total + group, length


def _scaled(total: Decimal, group: Decimal, scale: int) -> tuple[Decimal, Decimal]:
    return (total, group * scale) if scale == 100 else (total + group * scale, Decimal(0))


def _continues(tokens: list[_Token], position: int) -> bool:
    """Whether the `and` at `position` stands inside a number: `two hundred and fifty`."""
    return (
        0 < position < len(tokens) - 1
        and tokens[position - 1].lower in SCALES
        and tokens[position + 1].lower in SMALL_NUMBERS
    )


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _unit(tokens: list[_Token], position: int) -> str:
    if position >= len(tokens) or tokens[position].group not in ("word", "sign"):
        return ""
    return UNITS.get(tokens[position].lower, "")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without its inflection (plural, past, -ing), never without what turns its meaning (un-, -less)."""
    if not word.isascii():
        word = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    word = word.removesuffix("'s").removesuffix("'").replace("'", "")
    if word in IRREGULAR:
        word = IRREGULAR[word]
    if len(word) < 4:
        return word
    return _without_e(_without_past(_without_plural(word)))


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_past(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ed", "ing"):
        root = word.removesuffix(ending)
        if (
            root != word
            and len(root) > 2
            and not word.endswith("eed")
            and any(letter in "aeiouy" for letter in root)
        ):
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
    return word


def _without_e(word: str) -> str:
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("ll"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word
