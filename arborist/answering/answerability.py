"""Whether a sentence answers a question: what it holds of the question, and what speaks against it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arborist.answering.lexicon import MONTHS
from arborist.answering.opposites import negated, opposed_in
from arborist.answering.question import Question, Term
from arborist.answering.statement import NOT, Kind, Statement, stem

_TIME_WORDS = frozenset(stem(word) for word in (*MONTHS, "century", "decade"))
# Terms this alike are the same word in another form: `explore`, `exploration`.
_ROOT = 5
_FAR = 10


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of the evidence with what it may lean on: the terms of the title and of the sentence before."""

    statement: Statement
    before: frozenset[str]
    title: frozenset[str]
    opens_with_pronoun: bool = False

    @property
    def subject(self) -> frozenset[str]:
        """What a pronoun at its beginning may stand for; nothing where there is none."""
        return self.before | self.title if self.opens_with_pronoun else frozenset()


@dataclass(frozen=True, slots=True)
class Features:
    """What is measured of a question against one sentence; shares are 0 to 1, counts are capped.

    `covered`: share of the question's terms in the sentence, the title or the sentence before, the rarer the term
    the heavier; `words_lacking`, `names_lacking`: shares that the sentence does not hold in any form;
    `numbers_lacking`, `opposed`, `negation_differs`: counts; `names_nowhere`: names found nowhere in the evidence;
    `length`: terms of the question, tens; `answer_distance`: how far from the question's terms the nearest thing
    of the type asked for stands, tens of terms; `answer_cue`: 1 when a time, number or place asked for is there.
    """

    covered: float
    words_lacking: float
    names_lacking: float
    names_nowhere: float
    numbers_lacking: float
    opposed: float
    negation_differs: float
    length: float
    answer_distance: float
    answer_cue: float

    def values(self) -> tuple[float, ...]:
        return (
            self.covered,
            self.words_lacking,
            self.names_lacking,
            self.names_nowhere,
            self.numbers_lacking,
            self.opposed,
            self.negation_differs,
            self.length,
            self.answer_distance,
            self.answer_cue,
        )


# What each feature says for (1) or against (-1) an answer; fitted weights keep these signs.
FEATURE_SIGNS = Features(
    covered=1,
    words_lacking=-1,
    names_lacking=-1,
    names_nowhere=-1,
    numbers_lacking=-1,
    opposed=-1,
    negation_differs=-1,
    length=1,
    answer_distance=-1,
    answer_cue=1,
)


class EvidenceTerms:
    """The terms of all evidence of a question: which there are, and in how many sentences each stands."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._sentences = len(passages)
        self._holding: dict[str, int] = {}
        for passage in passages:
            for key in set(passage.statement.keys):
                self._holding[key] = self._holding.get(key, 0) + 1
        titles = frozenset[str]().union(*(passage.title for passage in passages))
        self.roots = frozenset(map(root, self._holding.keys() | titles))
        self.keys = frozenset(self._holding) | titles

    def weight(self, term: Term) -> float:
        """More the fewer sentences hold the term."""
        return math.log(1 + self._sentences / (1 + self._holding.get(term.key, 0)))


def root(key: str) -> str:
    """The first letters of a term, without a negation."""
    return key.removeprefix(NOT)[:_ROOT]


def features_of(asked: Question, passage: Passage, evidence: EvidenceTerms) -> Features:
    """Measure a question against one sentence."""
    own = frozenset(passage.statement.keys)
    own_roots = frozenset(map(root, own))
    subject_roots = frozenset(map(root, passage.subject))
    names = [term for term in asked.terms if term.kind is Kind.NAME]
    words = [term for term in asked.terms if term.kind is Kind.WORD]
    distance = _answer_distance(asked, passage.statement)
    return Features(
        covered=covered_share(asked, own | passage.before | passage.title, evidence),
        words_lacking=_lacking(words, own_roots),
        names_lacking=_lacking(names, own_roots | subject_roots),
        names_nowhere=min(sum(root(term.key) not in evidence.roots for term in names), 3),
        numbers_lacking=min(sum(term.kind is Kind.NUMBER and term.key not in own for term in asked.terms), 2),
        opposed=min(sum(term.key not in own and opposed_in(term.key, own) for term in asked.terms), 2),
        negation_differs=min(sum(_negation_differs(term.key, own) for term in asked.terms), 2),
        length=len(asked.terms) / 10,
        answer_distance=distance / _FAR,
        answer_cue=float(asked.answer_type in ("time", "number", "place") and distance < _FAR),
    )


def covered_share(asked: Question, held: frozenset[str], evidence: EvidenceTerms) -> float:
    """The weighted share of the question's terms that `held` has; 0 for a question without terms."""
    weights = {term.key: evidence.weight(term) for term in asked.terms}
    total = sum(weights.values())
    return sum(weight for key, weight in weights.items() if key in held) / total if total else 0.0


def _lacking(terms: Sequence[Term], roots: frozenset[str]) -> float:
    return sum(root(term.key) not in roots for term in terms) / len(terms) if terms else 0.0


def _negation_differs(key: str, own: frozenset[str]) -> bool:
    """The question negates what the sentence does not, or the other way round."""
    return (key.startswith(NOT) and key not in own) or negated(key) in own


def _answer_distance(asked: Question, statement: Statement) -> int:
    """Terms between the question's own and the nearest new one of the type asked for, at most `_FAR`."""
    roots = frozenset(root(term.key) for term in asked.terms)
    known = [index for index, key in enumerate(statement.keys) if root(key) in roots]
    if not known:
        return _FAR
    nearest = _FAR
    for index, (key, kind) in enumerate(zip(statement.keys, statement.kinds, strict=True)):
        if root(key) not in roots and _is_of_type(asked, key, kind):
            nearest = min(nearest, *(abs(index - other) for other in known))
    return nearest


def _is_of_type(asked: Question, key: str, kind: Kind) -> bool:
    if asked.answer_type == "time":
        return key in _TIME_WORDS or (kind is Kind.NUMBER and (len(key) == 5 or not key[-1].isdigit()))
    if asked.answer_type == "number":
        return kind is Kind.NUMBER
    if asked.answer_type in ("person", "place"):
        return kind is Kind.NAME
    return True
