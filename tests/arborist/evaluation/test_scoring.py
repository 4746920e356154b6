"""The scoring protocol: table 2.4 and rows S1 to S17 of `retrieval-evaluation.md`."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.clock import FixedClock
from arborist.evaluation.errors import RetrieverError
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.protocol import ScoringProtocol
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.retriever import DeclaredRetriever
from arborist.evaluation.run import QuestionEvaluation
from arborist.evaluation.scoring import distinct_documents, evaluate_retrieval, hits, whole_milliseconds

Maker = Callable[..., Any]


def asked(*targets: str, question_id: str = "q") -> GradedSet:
    question = GoldenQuestion(question_id, "Question?", Form.GAP, targets, "rare")
    return GradedSet(GoldenQuestionSet("office.test", "Test", "", (question,)))


def several(*targets: tuple[str, ...]) -> GradedSet:
    questions = [GoldenQuestion(f"q{n}", f"Question {n}?", Form.MATCH, t) for n, t in enumerate(targets)]
    return GradedSet(GoldenQuestionSet("office.test", "Test", "", tuple(questions)))


class UnlimitedRetriever:
    """Gives the same ranking whatever the limit."""

    identifier = "test.unlimited"

    def __init__(self, ranking: Any) -> None:
        self._ranking = ranking

    def retrieve(self, question: str, limit: int) -> list[str]:
        ranking: list[str] = self._ranking
        return ranking


def evaluated(ranking: Any, *targets: str) -> QuestionEvaluation:
    return evaluate_retrieval(asked(*targets), UnlimitedRetriever(ranking), FixedClock()).evaluations[0]


@pytest.mark.parametrize(
    ("row", "ranking", "targets", "kept", "top1", "top3"),
    [
        ("S1", "a b c", "a", "a b c", True, True),
        ("S2", "a b c", "c", "a b c", False, True),
        ("S3", "a b c d", "d", "a b c", False, False),
        ("S4", "a b c", "x b", "a b c", False, True),
        ("S5", "a a a b", "b", "a b", False, True),
        ("S13", "a a b c d", "c", "a b c", False, True),
        ("S6", "'' a", "a", "a", True, True),
        ("S7", "a b c d e", "a", "a b c", True, True),
        ("S8", "", "a", "", False, False),
        ("S9", "", "", "", True, True),
        ("S10", "a", "", "a", False, False),
        ("S16", "'' ''", "", "", True, True),
        ("S17", "a " * 12 + "b c", "c", "a b c", False, True),
    ],
)
def test_the_protocols_table(row: str, ranking: str, targets: str, kept: str, *, top1: bool, top3: bool) -> None:
    found = evaluated([document.strip("'") for document in ranking.split()], *targets.split())
    assert found.retrieved_document_ids == tuple(kept.split())
    assert (found.top1_hit, found.top3_hit) == (top1, top3)


def test_every_question_is_asked_in_order_for_12_results(table_retriever: Maker, clock: FixedClock) -> None:
    """S11"""
    retriever = table_retriever({})
    evaluate_retrieval(several(("a",), (), ("b",)), retriever, clock)
    assert retriever.asked == [("Question 0?", 12), ("Question 1?", 12), ("Question 2?", 12)]


def test_a_retriever_that_keeps_the_limit_still_yields_three_documents(
    table_retriever: Maker, clock: FixedClock
) -> None:
    """S12"""
    run = evaluate_retrieval(asked("c"), table_retriever({"Question?": ["a", "a", "b", "c", "d"]}), clock)
    assert run.evaluations[0].retrieved_document_ids == ("a", "b", "c")


def test_a_result_says_what_it_belongs_to(table_retriever: Maker, clock: FixedClock) -> None:
    """S14"""
    run = evaluate_retrieval(asked("a"), table_retriever({}, identifier="office.static"), clock)
    found = run.evaluations[0]
    assert (run.set_identifier, run.retriever_identifier) == ("office.test", "office.static")
    assert (found.question_id, found.form, found.hard_class) == ("q", Form.GAP, "rare")
    assert found.latency_ms >= 0
    assert run.run_date == int(clock.now())


def test_the_run_is_dated_after_its_last_question(clock: FixedClock) -> None:
    class Slow(UnlimitedRetriever):
        def retrieve(self, question: str, limit: int) -> list[str]:
            clock.advance(60)
            return []

    start = clock.now()
    assert evaluate_retrieval(several(("a",), ("b",)), Slow([]), clock).run_date == int(start) + 120


def test_only_the_retrievers_call_is_timed(table_retriever: Maker, clock: FixedClock) -> None:
    ticks = iter([10.0, 10.0625, 20.0, 20.007])
    run = evaluate_retrieval(several(("a",), ("b",)), table_retriever({}), clock, stopwatch=lambda: next(ticks))
    assert [evaluation.latency_ms for evaluation in run.evaluations] == [63, 7]


def test_half_a_millisecond_rounds_up() -> None:
    assert [whole_milliseconds(s) for s in (0.0, 0.00048828125, 0.001953125, 0.0625)] == [0, 0, 2, 63]


def test_provenance_is_asked_once_and_before_the_first_question(
    table_retriever: Maker, labels: RetrievalProvenance, clock: FixedClock
) -> None:
    """S15"""
    retriever = table_retriever({}, labels)
    run = evaluate_retrieval(several(("a",), ("b",)), retriever, clock)
    assert retriever.questions_before_declaring == [0]
    assert run.identity.provenance == labels


def test_a_retriever_that_raises_never_scores_a_hit(table_retriever: Maker, clock: FixedClock) -> None:
    rankings = {"Question 0?": ["a"], "Question 1?": OSError("secret host"), "Question 2?": RuntimeError()}
    run = evaluate_retrieval(several(("a",), ("b",), ()), table_retriever(rankings), clock)
    assert [(e.top1_hit, e.top3_hit) for e in run.evaluations] == [(True, True), (False, False), (False, False)]
    assert [e.error for e in run.evaluations] == [None, "it raised OSError", "it raised RuntimeError"]
    assert run.summary().errors == 2
    assert run.summary().no_result.top1_hits == 0


@pytest.mark.parametrize("answer", [None, "abc", ("a",), {"a": 1}, [1], [None], ["\ud800"], [b"a"]])
def test_an_answer_that_is_no_list_of_ids_is_an_error_also_where_nothing_is_expected(answer: Any) -> None:
    class SometimesWrong(UnlimitedRetriever):
        def retrieve(self, question: str, limit: int) -> list[str]:
            return ["a"] if question == "Question 0?" else super().retrieve(question, limit)

    run = evaluate_retrieval(several(("a",), ()), SometimesWrong(answer), FixedClock())
    assert run.evaluations[1].error is not None
    assert not run.evaluations[1].top1_hit


def test_a_retriever_that_fails_on_everything_leaves_nothing_to_keep(
    table_retriever: Maker, clock: FixedClock
) -> None:
    failing = {f"Question {n}?": OSError() for n in range(100)}
    with pytest.raises(RetrieverError, match="2 questions in a row"):
        evaluate_retrieval(several((), ()), table_retriever(failing), clock)


def test_an_outage_ends_the_run_early(table_retriever: Maker, clock: FixedClock) -> None:
    retriever = table_retriever({f"Question {n}?": OSError() for n in range(1, 100)})
    with pytest.raises(RetrieverError):
        evaluate_retrieval(several(*[("right",)] * 100), retriever, clock)
    assert len(retriever.asked) == 6


def test_a_corpus_that_changes_during_the_run_is_refused(labels: RetrievalProvenance) -> None:
    class Watching(UnlimitedRetriever):
        revision = labels.corpus_revision

        def current_corpus_revision(self) -> str:
            return self.revision

    retriever = Watching(["a"])
    evaluate_retrieval(asked("a"), DeclaredRetriever(retriever, labels), FixedClock())
    retriever.revision = "corpus-v2"
    with pytest.raises(RetrieverError, match=r"from corpus-v1 to corpus-v2"):
        evaluate_retrieval(asked("a"), DeclaredRetriever(retriever, labels), FixedClock())


@pytest.mark.parametrize("identifier", ["", "x" * 151, "a\nb"])
def test_a_retriever_needs_a_printable_identifier(
    identifier: str, table_retriever: Maker, clock: FixedClock
) -> None:
    with pytest.raises(RetrieverError):
        evaluate_retrieval(asked("a"), table_retriever({}, identifier=identifier), clock)


def test_a_shortfall_is_told_only_where_more_results_might_have_held_more_documents() -> None:
    cut_short = evaluated(["a"] * 12, "b")
    assert (cut_short.is_short, cut_short.is_ranking_short) == (True, True)
    found_all = evaluated(["a"] * 11, "b")
    assert (found_all.is_short, found_all.is_ranking_short) == (False, False)
    three = evaluated(["a", "b", "c"] * 4, "b")
    assert (three.is_short, three.is_ranking_short) == (False, True)


def test_over_fetch_ends_a_shortfall(table_retriever: Maker, clock: FixedClock) -> None:
    retriever = table_retriever({"Question?": ["a"] * 14 + ["b", "c"]})
    run = evaluate_retrieval(asked("c"), retriever, clock, ScoringProtocol(over_fetch=8))
    assert run.evaluations[0].retrieved_document_ids == ("a", "b", "c")
    assert run.identity.scoring_version.endswith("+over-fetch-8")


IDS = st.lists(st.sampled_from(["", "a", "b", "c", "d", "A", "é", "e\u0301"]), max_size=14)


@given(IDS, st.sets(st.sampled_from(["a", "b", "c", "d", "x"])))
def test_the_first_hit_implies_a_hit_among_three_and_targets_have_no_order(
    ids: list[str], targets: set[str]
) -> None:
    kept = distinct_documents(ids, 3)
    top1, top3 = hits(kept, sorted(targets))
    assert top3 or not top1
    assert hits(kept, sorted(targets, reverse=True)) == (top1, top3)


@given(IDS, st.integers(1, 12))
def test_kept_documents_are_the_first_distinct_ones_by_their_bytes(ids: list[str], depth: int) -> None:
    kept = distinct_documents(ids, depth)
    assert "" not in kept
    assert list(kept) == sorted(set(ids) - {""}, key=ids.index)[:depth]


def test_ids_of_equal_bytes_are_one_document() -> None:
    assert evaluated(["\udcc3\udca9", "é", "b"], "é").retrieved_document_ids == ("é", "b")
