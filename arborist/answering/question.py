"""What a question asks for: its terms, and the kind of thing that would answer it."""

import re
from dataclasses import dataclass
from typing import Literal

from arborist.answering.lexicon import FUNCTION_WORDS, MONTHS
from arborist.answering.statement import Kind, Statement, statement_of, stem

AnswerType = Literal["person", "time", "number", "place", "thing"]

_WANTED: dict[AnswerType, str] = {
    "person": "the person or body",
    "time": "the time",
    "number": "the number",
    "place": "the place",
    "thing": "what is",
}
_CUES: tuple[tuple[re.Pattern[str], AnswerType], ...] = (
    (
        re.compile(r"\b(?:when|what|which|in what)\s+(?:year|date|day|month|century|decade)\b|\bwhen\b", re.I),
        "time",
    ),
    (
        re.compile(r"\bhow\s+(?:many|much|long|old|tall|high|far|large|big|deep|wide|heavy|fast|often)\b", re.I),
        "number",
    ),
    (re.compile(r"\b(?:who|whom|whose)\b", re.I), "person"),
    (re.compile(r"\bwhere\b", re.I), "place"),
)
_MONTHS = frozenset(stem(month) for month in MONTHS)


@dataclass(frozen=True, slots=True)
class Question:
    """A question: `terms` maps each comparable term to the word it was asked with."""

    text: str
    terms: dict[str, str]
    answer_type: AnswerType

    @classmethod
    def of(cls, text: str) -> "Question":
        """Read a question in English."""
        stated = statement_of(text)
        words = {stem(word.lower()): word for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text)}
        terms = {key: words.get(key.lstrip("¬"), key.lstrip("¬#")) for key in stated.keys}
        kind: AnswerType = next((kind for cue, kind in _CUES if cue.search(text)), "thing")
        return cls(text, {key: word for key, word in terms.items() if word.lower() not in FUNCTION_WORDS}, kind)

    @property
    def wanted(self) -> str:
        return _WANTED[self.answer_type]


def answer_type_cue(asked: Question, sentence: str, stated: Statement) -> bool:
    """Whether a sentence holds, beside what the question itself says, something of the kind asked for."""
    new = [kind for key, kind in zip(stated.keys, stated.kinds, strict=True) if key not in asked.terms]
    if asked.answer_type == "time":
        return Kind.NUMBER in new or bool(_MONTHS.intersection(stated.keys))
    if asked.answer_type == "number":
        return Kind.NUMBER in new
    if asked.answer_type in ("person", "place"):
        return Kind.NAME in new or sentence[:1].isupper()
    return bool(new)
