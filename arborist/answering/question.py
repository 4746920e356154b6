"""What a question asks for: its terms, and the kind of thing that would answer it."""

import re
from dataclasses import dataclass
from typing import Literal

from arborist.answering.lexicon import LIGHT_WORDS
from arborist.answering.statement import Kind, statement_of, stem

AnswerType = Literal["person", "time", "number", "place", "thing"]

_WANTED: dict[AnswerType, str] = {
    "person": "who it was",
    "time": "when it was",
    "number": "the number or amount",
    "place": "where it is",
    "thing": "what is",
}
# The first that matches decides.
_CUES: tuple[tuple[re.Pattern[str], AnswerType], ...] = (
    (re.compile(r"\bhow (?:many|much)\b|\bwhat (?:percent|percentage|number|amount|fraction)\b"), "number"),
    (re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade|time)\b"), "time"),
    (re.compile(r"\bhow (?:long|old|tall|high|far|large|big|deep|wide|fast|often)\b"), "number"),
    (re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|state|county|region|continent|town)\b"), "place"),
    (re.compile(r"\bwho(?:m|se)?\b"), "person"),
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LIGHT = frozenset(stem(word) for word in LIGHT_WORDS)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a question speaks of: what it is compared by, its kind, and the word it was asked with."""

    key: str
    kind: Kind
    word: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question in English: its terms, light words left out, and the type of its answer."""

    text: str
    terms: tuple[Term, ...]
    answer_type: AnswerType

    @classmethod
    def of(cls, text: str) -> "Question":
        stated = statement_of(text)
        terms = [
            Term(key, kind, _word_at(text, start) or key)
            for key, kind, start in zip(stated.keys, stated.kinds, stated.starts, strict=True)
        ]
        stating = [term for term in terms if term.key not in _LIGHT]
        lower = text.lower()
        answer_type: AnswerType = next((kind for cue, kind in _CUES if cue.search(lower)), "thing")
        return cls(text, tuple(stating or terms), answer_type)

    @property
    def wanted(self) -> str:
        """The answer asked for, in words that fit after `no sentence states`."""
        return _WANTED[self.answer_type]


def _word_at(text: str, start: int) -> str:
    match = _WORD.match(text, start)
    return match[0] if match else ""
