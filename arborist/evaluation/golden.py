"""Golden questions and the sets they form (`retrieval-evaluation.md`, 2.1 to 2.3)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from arborist.evaluation.bytestrings import is_byte_text
from arborist.evaluation.errors import GoldenSetError, RegistryError

QUESTION_ID = 1794000050
QUESTION_TEXT = 1794000051
EMPTY_TARGET = 1794000052
DUPLICATE_TARGET = 1794000053
HARD_CLASS = 1794000054
SET_IDENTIFIER = 1794000055
SET_NAME = 1794000056
NO_QUESTIONS = 1794000057
DUPLICATE_QUESTION = 1794000058
DUPLICATE_SET = 1794000059

MAX_SET_IDENTIFIER_BYTES = 190
_SET_IDENTIFIER = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*\Z", re.ASCII)

Grades = Mapping[str, Mapping[str, int]]
"""Question id -> document id -> grade of relevance (1 and up); kept beside a set, never in its fingerprint."""

Rule = tuple[int, str]
"""The number of a broken rule and what is wrong, in words."""


class Form(StrEnum):
    """How a question's wording relates to its target: shared vocabulary, or everyday words with little overlap."""

    MATCH = "match"
    GAP = "gap"


def text_rules_broken(
    question_id: str, question: str, expected_document_ids: Iterable[str], hard_class: str | None
) -> list[Rule]:
    """Every rule that a question's texts break, in the order of its fields."""
    targets = list(expected_document_ids)
    broken: list[Rule] = []
    if not _is_filled(question_id):
        broken.append((QUESTION_ID, "the question id is empty or not a byte string"))
    if not _is_filled(question):
        broken.append((QUESTION_TEXT, "the question is empty or not a byte string"))
    if not all(_is_filled(target) for target in targets):
        broken.append((EMPTY_TARGET, "an expected document id is empty or not a byte string"))
    if len(set(targets)) != len(targets):
        broken.append((DUPLICATE_TARGET, "an expected document id is given twice"))
    if hard_class is not None and not _is_filled(hard_class):
        broken.append((HARD_CLASS, "the hard class is empty or not a byte string (leave it out for none)"))
    return broken


def _is_filled(text: str) -> bool:
    return text != "" and is_byte_text(text)


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question and the documents of which any one answers it; no documents mean that the corpus has no answer.

    Texts are byte strings (`bytestrings.py`). `hard_class` is a free label of what makes the question hard,
    by convention `near-duplicate`, `specific-vs-general`, `prose-free`, `boilerplate` or `normal`.
    `answer_gist` is for people: it is neither checked, scored nor hashed. Raises GoldenSetError.
    """

    id: str
    question: str
    form: Form
    expected_document_ids: tuple[str, ...] = ()
    hard_class: str | None = None
    answer_gist: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.form, Form):
            raise TypeError(f"form is a Form, not {type(self.form).__name__}")
        object.__setattr__(self, "expected_document_ids", tuple(self.expected_document_ids))
        for code, problem in text_rules_broken(
            self.id, self.question, self.expected_document_ids, self.hard_class
        ):
            raise GoldenSetError(problem, code)

    @property
    def expects_no_result(self) -> bool:
        return not self.expected_document_ids


@dataclass(frozen=True, slots=True)
class GoldenQuestionSet:
    """Golden questions under one identifier: dot-joined segments of lowercase letters, digits and underscores.

    Raises GoldenSetError where a rule is broken.
    """

    identifier: str
    name: str
    description: str
    questions: tuple[GoldenQuestion, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        for code, problem in header_rules_broken(self.identifier, self.name):
            raise GoldenSetError(problem, code)
        if not self.questions:
            raise GoldenSetError(f"golden set {self.identifier} has no questions", NO_QUESTIONS)
        ids = [question.id for question in self.questions]
        if len(set(ids)) != len(ids):
            raise GoldenSetError(f"golden set {self.identifier} has a question id twice", DUPLICATE_QUESTION)


def header_rules_broken(identifier: str, name: str) -> list[Rule]:
    """Every rule that a set's identifier and name break."""
    broken: list[Rule] = []
    if not _SET_IDENTIFIER.match(identifier) or len(identifier) > MAX_SET_IDENTIFIER_BYTES:
        rule = "dot-joined segments of lowercase letters, digits and underscores, 190 bytes at most"
        broken.append((SET_IDENTIFIER, f"the set's identifier is not made of {rule}"))
    if name == "":
        broken.append((SET_NAME, "the set's name is empty"))
    return broken


@dataclass(frozen=True, slots=True)
class GradedSet:
    """A golden set and, for questions that have them, grades of relevance for nDCG."""

    golden: GoldenQuestionSet
    grades: Grades = field(default_factory=dict)

    def relevance(self, question: GoldenQuestion) -> Mapping[str, int]:
        """Document id -> grade; a question without grades counts each expected document as 1."""
        return self.grades.get(question.id) or dict.fromkeys(question.expected_document_ids, 1)


class GoldenSetRegistry:
    """Golden sets of several providers by identifier, in the order they were given."""

    def __init__(self, providers: Iterable[Iterable[GradedSet]]) -> None:
        """Raises RegistryError (1794000059) where two sets share an identifier."""
        self._sets: dict[str, GradedSet] = {}
        for provider in providers:
            for graded in provider:
                identifier = graded.golden.identifier
                if identifier in self._sets:
                    raise RegistryError(f"two golden sets are called {identifier}", DUPLICATE_SET)
                self._sets[identifier] = graded

    def identifiers(self) -> list[str]:
        return list(self._sets)

    def find(self, identifier: str) -> GradedSet | None:
        return self._sets.get(identifier)
