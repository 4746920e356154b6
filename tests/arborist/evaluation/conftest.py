"""Retrievers that answer from a table, and golden questions to ask them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from arborist.clock import FixedClock
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.store import EvaluationStore


class TableRetriever:
    """Gives the ranking that a question has in the table, as far as the limit, and remembers what it was asked."""

    def __init__(self, rankings: Mapping[str, list[str] | Exception], identifier: str) -> None:
        self.identifier = identifier
        self.asked: list[tuple[str, int]] = []
        self._rankings = rankings

    def retrieve(self, question: str, limit: int) -> list[str]:
        self.asked.append((question, limit))
        ranking = self._rankings.get(question, [])
        if isinstance(ranking, Exception):
            raise ranking
        return ranking[:limit]


class DeclaringTableRetriever(TableRetriever):
    """A table that declares its provenance, and remembers when it was asked to."""

    def __init__(
        self, rankings: Mapping[str, list[str] | Exception], identifier: str, provenance: RetrievalProvenance
    ) -> None:
        super().__init__(rankings, identifier)
        self._provenance = provenance
        self.questions_before_declaring: list[int] = []

    def retrieval_provenance(self) -> RetrievalProvenance:
        self.questions_before_declaring.append(len(self.asked))
        return self._provenance


RetrieverMaker = Callable[..., Any]


@pytest.fixture
def labels() -> RetrievalProvenance:
    return RetrievalProvenance("corpus-v1", "embed-v1", "chunk-v1", "hybrid-v1")


@pytest.fixture
def table_retriever() -> RetrieverMaker:
    """Makes a retriever of a table (question -> ranking or exception), declaring if it is given a provenance."""

    def make(
        rankings: Mapping[str, list[str] | Exception],
        provenance: RetrievalProvenance | None = None,
        identifier: str = "test.table",
    ) -> TableRetriever:
        if provenance is None:
            return TableRetriever(rankings, identifier)
        return DeclaringTableRetriever(rankings, identifier, provenance)

    return make


@pytest.fixture
def ten_questions() -> GradedSet:
    """Questions q0 to q9, each answered by the document `right`."""
    questions = [GoldenQuestion(f"q{n}", f"Question {n}?", Form.MATCH, ("right",), "normal") for n in range(10)]
    return GradedSet(GoldenQuestionSet("office.test", "Ten", "", tuple(questions)))


@pytest.fixture
def hits_of_ten(table_retriever: RetrieverMaker, labels: RetrievalProvenance) -> RetrieverMaker:
    """Makes a retriever that finds `right` for the first so many of `ten_questions`, and nothing else."""

    def make(hits: int, provenance: RetrievalProvenance | None = labels) -> TableRetriever:
        rankings = {f"Question {n}?": ["right"] if n < hits else ["wrong"] for n in range(10)}
        retriever: TableRetriever = table_retriever(rankings, provenance)
        return retriever

    return make


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(tmp_path: Path) -> EvaluationStore:
    return EvaluationStore(tmp_path / "evaluations")
