"""Counts of a run: rows R1 to R7 of `retrieval-evaluation.md`, 7.4.

R5 and R7 speak of a conversion to an older result model; here the summary is what a run is converted to.
"""

from typing import Any

from arborist.evaluation.fingerprint import Identity
from arborist.evaluation.golden import Form
from arborist.evaluation.run import EvaluationRun, QuestionEvaluation, Tally, tally


def evaluation(question_id: str, *, top1: bool, top3: bool, **changes: Any) -> QuestionEvaluation:
    fields: dict[str, Any] = {
        "form": Form.MATCH,
        "hard_class": None,
        "expects_no_result": False,
        "retrieved_document_ids": ("a", "b"),
        "latency_ms": 7,
    }
    return QuestionEvaluation(question_id, top1_hit=top1, top3_hit=top3, **(fields | changes))


def run(*evaluations: QuestionEvaluation) -> EvaluationRun:
    return EvaluationRun("office.test", "test.table", 1, Identity("", "", None), evaluations)


FOUR = (
    evaluation("a", top1=True, top3=True),
    evaluation("b", top1=False, top3=True, hard_class="rare"),
    evaluation("c", top1=True, top3=True, form=Form.GAP, hard_class="normal"),
    evaluation("d", top1=False, top3=False, form=Form.GAP, hard_class="rare", expects_no_result=True),
)


def test_an_empty_run_counts_nothing() -> None:
    """R1"""
    summary = run().summary()
    assert summary.all == Tally(0, 0, 0)
    assert (summary.all.top1_rate, summary.all.top3_rate) == (0.0, 0.0)
    assert (summary.by_form, summary.by_hard_class, summary.metrics) == ((), (), None)


def test_rates_are_hits_of_questions() -> None:
    """R2"""
    counted = run(*FOUR).summary().all
    assert counted == Tally(4, 2, 3)
    assert (counted.top1_rate, counted.top3_rate) == (0.5, 0.75)


def test_forms_are_counted_in_the_order_they_appear() -> None:
    """R3"""
    evaluations = (
        evaluation("a", top1=True, top3=True),
        evaluation("b", top1=False, top3=True),
        evaluation("c", top1=False, top3=False, form=Form.GAP),
    )
    assert run(*evaluations).summary().by_form == (("match", Tally(2, 1, 2)), ("gap", Tally(1, 0, 0)))
    assert [name for name, _ in run(*evaluations[::-1]).summary().by_form] == ["gap", "match"]


def test_questions_without_a_class_are_left_out_of_the_classes() -> None:
    """R4"""
    assert run(*FOUR).summary().by_hard_class == (("rare", Tally(2, 0, 1)), ("normal", Tally(1, 1, 1)))


def test_a_summary_keeps_both_counts() -> None:
    """R5"""
    summary = run(*(FOUR[1], FOUR[2], FOUR[3])).summary()
    assert (summary.all.top1_rate, summary.all.top3_rate) == (1 / 3, 2 / 3)


def test_answerable_and_no_result_questions_have_figures_of_their_own() -> None:
    summary = run(*FOUR).summary()
    assert summary.answerable == Tally(3, 2, 3) == tally(FOUR[:3])
    assert summary.no_result == Tally(1, 0, 0)


def test_outcomes_are_ordered_by_the_bytes_of_ids_not_by_the_run() -> None:
    """R7: what a comparison needs of each question survives."""
    outcomes = run(*FOUR[::-1]).summary().outcomes
    assert [(o.top1_hit, o.top3_hit) for o in outcomes] == [
        (True, True),
        (False, True),
        (True, True),
        (False, False),
    ]
