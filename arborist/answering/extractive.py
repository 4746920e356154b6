"""The embedded answer model: it picks sentences of the evidence, word for word, or says that there is none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arborist.answering.abstention import abstention_text
from arborist.answering.claims import defused
from arborist.answering.model import Message, ModelAnswer, ModelIdentity
from arborist.answering.question import Question, answer_type_cue
from arborist.answering.sentences import sentences_of
from arborist.answering.statement import Statement, statement_of
from arborist.retrieval.context import Evidence

REVISION = "extractive-1"


@dataclass(frozen=True, slots=True)
class ExtractiveSettings:
    """The operating point.

    `min_coverage` is the weighted share of the question's terms that a sentence must hold, with the title and the
    sentence before it; `max_sentences` is how many sentences an answer has at most.
    """

    min_coverage: float = 0.55
    max_sentences: int = 2


@dataclass(frozen=True, slots=True)
class _Candidate:
    number: int
    position: int
    text: str
    statement: Statement
    coverage: float
    has_cue: bool


class ExtractiveModel:
    """Deterministic, without weights and without network."""

    deterministic = True

    def __init__(self, settings: ExtractiveSettings | None = None) -> None:
        self._settings = settings or ExtractiveSettings()

    @property
    def identity(self) -> ModelIdentity:
        settings = self._settings
        return ModelIdentity(
            "extractive",
            REVISION,
            (("max_sentences", settings.max_sentences), ("min_coverage", settings.min_coverage)),
        )

    def answer(self, question: str, evidence: Sequence[Evidence], messages: Sequence[Message] = ()) -> ModelAnswer:
        """Sentences of the evidence, each with its `[E#]`, or an abstention that says what is missing."""
        asked = Question.of(question)
        if not evidence:
            return ModelAnswer(abstention_text("no evidence was found for the question."), abstained=True)
        candidates = _candidates(asked, evidence)
        fit = [
            candidate
            for candidate in candidates
            if candidate.coverage >= self._settings.min_coverage and candidate.has_cue
        ]
        if not fit:
            return ModelAnswer(abstention_text(_missing(asked, candidates)), abstained=True)
        best = sorted(fit, key=lambda item: (-item.coverage, item.number, item.position))
        chosen = best[: self._settings.max_sentences]
        return ModelAnswer(" ".join(f"{item.text} [E{item.number}]" for item in chosen))


def _candidates(asked: Question, evidence: Sequence[Evidence]) -> list[_Candidate]:
    weights = _weights(asked, evidence)
    total = sum(weights.values()) or 1.0
    found = []
    for item in evidence:
        held = set(statement_of(item.title).keys)
        before: set[str] = set()
        for position, sentence in enumerate(sentences_of(item.text)):
            stated = statement_of(sentence.text)
            own = set(stated.keys)
            reach = own | before | held
            coverage = sum(weight for term, weight in weights.items() if term in reach) / total
            text = " ".join(defused(sentence.text).split())
            found.append(
                _Candidate(
                    item.number,
                    position,
                    text,
                    stated,
                    coverage,
                    answer_type_cue(asked, sentence.text, stated),
                )
            )
            before = own
    return found


def _weights(asked: Question, evidence: Sequence[Evidence]) -> dict[str, float]:
    """A term of the question weighs more the fewer sentences of the evidence hold it."""
    sentences = [set(statement_of(s.text).keys) for item in evidence for s in sentences_of(item.text)]
    return {
        term: math.log(1 + len(sentences) / (1 + sum(term in sentence for sentence in sentences)))
        for term in asked.terms
    }


def _missing(asked: Question, candidates: Sequence[_Candidate]) -> str:
    held = {key for candidate in candidates for key in candidate.statement.keys}
    lacking = [word for term, word in asked.terms.items() if term not in held]
    if lacking:
        return f"the evidence says nothing about {', '.join(lacking)}."
    return f"no sentence of the evidence states {asked.wanted} asked for."
