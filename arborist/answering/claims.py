"""An answer's claims: its sentences, each with the evidence numbers it cites."""

import re
from bisect import bisect_left
from dataclasses import dataclass

from arborist.answering.abstention import is_abstention
from arborist.answering.model import Claim
from arborist.answering.sentences import Sentence, sentences_of

MARKER = re.compile(r"\[\s*E\d{1,6}(?:\s*[,;]\s*E\d{1,6})*\s*\]")
_NUMBER = re.compile(r"E(\d+)")
_WORD = re.compile(r"[^\W_]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A citation at `position` of a line that has been freed of its markers."""

    position: int
    numbers: tuple[int, ...]


def claims_of(answer: str) -> tuple[Claim, ...]:
    """The claims of an answer in the `[E#]` text form, none for an abstention.

    A line ends a claim. A citation after the full stop belongs to the sentence before it, one that opens a line
    to the sentence after it, and a line of citations alone to the last claim above. What has no word in it is no
    claim.
    """
    if is_abstention(answer):
        return ()
    claims: list[Claim] = []
    for line in answer.splitlines():
        bare, marks = _without_markers(_BULLET.sub("", line))
        sentences = tuple(sentence for sentence in sentences_of(bare) if _WORD.search(sentence.text))
        if sentences:
            claims.extend(_claims_of_line(sentences, marks))
        elif marks and claims:
            claims[-1] = _citing(claims[-1].text, claims[-1].citations + _numbers(marks))
    return tuple(claims)


def defused(text: str) -> str:
    """`text` of a source with what looks like a citation put in round brackets, so that it cites nothing."""
    return MARKER.sub(lambda marker: f"({marker[0][1:-1]})", text)


def _without_markers(line: str) -> tuple[str, list[_Mark]]:
    pieces: list[str] = []
    marks: list[_Mark] = []
    position = length = 0
    for marker in MARKER.finditer(line):
        piece = line[position : marker.start()]
        if piece.endswith(" ") and line[marker.end() : marker.end() + 1] in {
            "",
            ".",
            ",",
            ";",
            ":",
            "!",
            "?",
            " ",
        }:
            piece = piece[:-1]
        pieces.append(piece)
        length += len(piece)
        marks.append(_Mark(length, tuple(int(number) for number in _NUMBER.findall(marker[0]))))
        position = marker.end()
    pieces.append(line[position:])
    return "".join(pieces), marks


def _claims_of_line(sentences: tuple[Sentence, ...], marks: list[_Mark]) -> list[Claim]:
    cited: list[list[_Mark]] = [[] for _ in sentences]
    starts = [sentence.start for sentence in sentences]
    for mark in marks:
        # The last sentence that has begun before the mark, else the first.
        cited[max(bisect_left(starts, mark.position) - 1, 0)].append(mark)
    return [_citing(sentence.text, _numbers(own)) for sentence, own in zip(sentences, cited, strict=True)]


def _numbers(marks: list[_Mark]) -> tuple[int, ...]:
    return tuple(number for mark in marks for number in mark.numbers)


def _citing(text: str, citations: tuple[int, ...]) -> Claim:
    return Claim(text, tuple(dict.fromkeys(citations)))
