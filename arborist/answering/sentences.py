"""Sentences of a text with their places in it."""

import re
from dataclasses import dataclass

import sentencex

from arborist.answering.lexicon import SUBJECT_PRONOUNS

_WRAP = re.compile(r"(?<!\n)\n(?!\s*\n)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `start` and `end` are character offsets in the text, white space around it left out."""

    start: int
    end: int
    text: str


def sentences_of(text: str) -> tuple[Sentence, ...]:
    """The sentences of `text` in order. A single line break inside a paragraph is a blank, as in wrapped text."""
    unwrapped = _WRAP.sub(" ", text)
    found: list[Sentence] = []
    position = 0
    for part in sentencex.segment("en", unwrapped):
        start = unwrapped.find(part, position)
        # sentencex gives the text back whole; a part it does not is placed where it was expected.
        start = position if start < 0 else start
        position = start + len(part)
        left, right = _trimmed(unwrapped, start, position)
        if left < right:
            found.append(Sentence(left, right, unwrapped[left:right]))
    return tuple(found)


def opens_with_pronoun(sentence: str) -> bool:
    """Whether its subject may have been named before it: in the title, or in the sentence above."""
    first = sentence.split(maxsplit=1)[:1]
    return bool(first) and first[0].lower().strip("\"'(,") in SUBJECT_PRONOUNS


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end
