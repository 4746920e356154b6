"""nDCG@10, recall@10 and MRR@10 against their formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.clock import FixedClock
from arborist.evaluation.bytestrings import byte_text
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.metrics import MeanMetrics, QuestionMetrics, mean_metrics, question_metrics
from arborist.evaluation.scoring import evaluate_retrieval


def by_formula(ranking: list[str], relevance: dict[str, int]) -> QuestionMetrics:
    """Linear gains over log2(rank + 1), as trec_eval computes nDCG."""
    top = ranking[:10]
    dcg = sum(relevance.get(document, 0) / math.log2(rank + 1) for rank, document in enumerate(top, 1))
    ideal = sum(g / math.log2(rank + 1) for rank, g in enumerate(sorted(relevance.values(), reverse=True)[:10], 1))
    found = [rank for rank, document in enumerate(top, 1) if document in relevance]
    return QuestionMetrics(dcg / ideal, len(found) / len(relevance), 1 / found[0] if found else 0.0)


DOCUMENTS = [f"d{number}" for number in range(14)]


@given(
    st.permutations(DOCUMENTS),
    st.integers(0, 14),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(1, 3), min_size=1),
)
def test_figures_are_those_of_the_formulas(order: list[str], length: int, relevance: dict[str, int]) -> None:
    found = question_metrics([order[:length]], [relevance])[0]
    expected = by_formula(order[:length], relevance)
    assert found.ndcg == pytest.approx(expected.ndcg)
    assert found.recall == pytest.approx(expected.recall)
    assert found.reciprocal_rank == pytest.approx(expected.reciprocal_rank)


def test_ids_may_be_any_bytes_and_an_empty_ranking_scores_nothing() -> None:
    odd = byte_text(b"doc \xff")
    assert question_metrics([[odd], []], [{odd: 1}, {odd: 1}]) == [
        QuestionMetrics(1.0, 1.0, 1.0),
        QuestionMetrics(0.0, 0.0, 0.0),
    ]


def test_means_are_over_the_questions_and_of_none_there_is_none() -> None:
    assert mean_metrics([QuestionMetrics(1.0, 0.5, 0.5), QuestionMetrics(0.0, 0.5, 0.0)]) == MeanMetrics(
        0.5, 0.5, 0.25
    )
    assert mean_metrics([]) is None


class SameRanking:
    identifier = "test.same"

    def retrieve(self, question: str, limit: int) -> list[str]:
        return ["a", "a", "b", "c"]


def test_questions_that_expect_nothing_have_no_metrics_and_grades_never_change_a_fingerprint() -> None:
    questions = (GoldenQuestion("q1", "Q1", Form.GAP), GoldenQuestion("q2", "Q2", Form.GAP, ("c",)))
    golden = GoldenQuestionSet("office.test", "Test", "", questions)
    plain = evaluate_retrieval(GradedSet(golden), SameRanking(), FixedClock())
    graded = evaluate_retrieval(GradedSet(golden, {"q2": {"c": 2, "b": 1}}), SameRanking(), FixedClock())
    assert plain.evaluations[0].metrics is None
    assert plain.evaluations[1].metrics == by_formula(["a", "b", "c"], {"c": 1})
    assert graded.evaluations[1].metrics == by_formula(["a", "b", "c"], {"c": 2, "b": 1})
    assert plain.identity == graded.identity
