"""A whole evaluation against pinned baselines: what a failing run can and cannot do."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from arborist.clock import FixedClock
from arborist.evaluation.comparison import BaselineState
from arborist.evaluation.errors import PromotionError, RetrieverError
from arborist.evaluation.gate import (
    NOT_COMPARABLE,
    OK,
    REGRESSION,
    GatedEvaluation,
    comparison_of_runs,
    evaluate_against_baseline,
)
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.privacy import PrivacyLevel, StandardPolicy
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.regression import Tolerances
from arborist.evaluation.store import EvaluationStore

Maker = Callable[..., Any]
Gate = Callable[..., GatedEvaluation]


@pytest.fixture
def gate(ten_questions: GradedSet, hits_of_ten: Maker, store: EvaluationStore, clock: FixedClock) -> Gate:
    """Evaluates a retriever that hits so many of ten questions."""

    def evaluate(hits: int, **options: Any) -> GatedEvaluation:
        provenance = {"provenance": options.pop("provenance")} if "provenance" in options else {}
        clock.advance(60)
        retriever = hits_of_ten(hits, **provenance)
        return evaluate_against_baseline(ten_questions, retriever, store, clock, **options)

    return evaluate


def promoted(gate: Gate, store: EvaluationStore, clock: FixedClock, hits: int, **options: Any) -> int:
    return store.promote(gate(hits, **options).stored.id, clock).run.id


def test_a_first_run_passes_and_could_become_the_baseline(gate: Gate) -> None:
    """C4 and C13"""
    first = gate(8)
    assert (first.comparison.state, first.exit_code) == (BaselineState.BASELINE, OK)


@pytest.mark.parametrize(("hits", "exit_code"), [(9, OK), (8, OK), (7, OK), (6, REGRESSION)])
def test_a_tenth_is_tolerated_exactly(
    gate: Gate, store: EvaluationStore, clock: FixedClock, hits: int, exit_code: int
) -> None:
    promoted(gate, store, clock, 8)
    assert gate(hits).exit_code == exit_code


def test_a_failing_run_run_again_still_fails(gate: Gate, store: EvaluationStore, clock: FixedClock) -> None:
    promoted(gate, store, clock, 8)
    assert [gate(5).exit_code for _ in range(4)] == [REGRESSION] * 4
    assert gate(8).exit_code == OK


def test_a_failing_run_never_becomes_a_baseline(gate: Gate, store: EvaluationStore, clock: FixedClock) -> None:
    baseline = promoted(gate, store, clock, 8)
    failing = gate(6)
    with pytest.raises(PromotionError, match=r"top-1 8/10 -> 6/10"):
        store.promote(failing.stored.id, clock)
    promoted(gate, store, clock, 7)
    with pytest.raises(PromotionError, match=f"from baseline {baseline}"):
        store.promote(failing.stored.id, clock)


def test_a_wider_tolerance_is_the_way_to_accept_a_drop(
    gate: Gate, store: EvaluationStore, clock: FixedClock
) -> None:
    promoted(gate, store, clock, 8)
    accepted = gate(6, tolerances=Tolerances(0.2, 0.2))
    store.promote(accepted.stored.id, clock)
    assert gate(5).exit_code == OK


def test_six_drifts_of_nine_points_are_caught_against_the_pinned_baseline(
    store: EvaluationStore, table_retriever: Maker, labels: RetrievalProvenance, clock: FixedClock
) -> None:
    questions = tuple(GoldenQuestion(f"q{n}", f"Question {n}?", Form.GAP, ("right",)) for n in range(100))
    graded = GradedSet(GoldenQuestionSet("office.hundred", "Hundred", "", questions))

    def evaluated(hits: int) -> GatedEvaluation:
        rankings = {f"Question {n}?": ["right" if n < hits else "wrong"] for n in range(100)}
        return evaluate_against_baseline(graded, table_retriever(rankings, labels), store, clock)

    store.promote(evaluated(100).stored.id, clock)
    drifts = [evaluated(100 - 9 * step).exit_code for step in range(1, 7)]
    assert drifts == [OK] + [REGRESSION] * 5


def test_other_runs_in_between_do_not_hide_the_baseline(
    gate: Gate, store: EvaluationStore, clock: FixedClock, labels: RetrievalProvenance
) -> None:
    baseline = promoted(gate, store, clock, 8)
    other = replace(labels, corpus_revision="corpus-v2")
    assert gate(8, provenance=other).comparison.state is BaselineState.MISMATCH
    promoted(gate, store, clock, 8, provenance=other)
    assert gate(8, provenance=None).comparison.state is BaselineState.UNKNOWN
    again = gate(8)
    assert again.comparison.baseline is not None
    assert again.comparison.baseline.id == baseline


def test_another_corpus_is_a_mismatch_named_with_both_values(
    gate: Gate, store: EvaluationStore, clock: FixedClock, labels: RetrievalProvenance
) -> None:
    """C10"""
    promoted(gate, store, clock, 8)
    moved = gate(1, provenance=replace(labels, corpus_revision="corpus-v2"))
    assert moved.exit_code == NOT_COMPARABLE
    assert [str(d) for d in moved.comparison.differences] == ["corpusRevision: corpus-v1 -> corpus-v2"]
    assert (moved.comparison.changes, moved.comparison.tests) == ((), None)
    assert store.run(moved.stored.id) == moved.stored


def test_a_baseline_damaged_on_disk_is_unknown(gate: Gate, store: EvaluationStore, clock: FixedClock) -> None:
    """C9"""
    import sqlite3

    promoted(gate, store, clock, 8)
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE runs SET benchmark_fingerprint = '', variant_fingerprint = ''")
    connection.close()
    held = gate(8)
    assert (held.comparison.state, held.exit_code) == (BaselineState.UNKNOWN, NOT_COMPARABLE)


def test_a_changed_treatment_is_compared_and_named(
    gate: Gate, store: EvaluationStore, clock: FixedClock, labels: RetrievalProvenance
) -> None:
    """C11"""
    promoted(gate, store, clock, 8)
    treated = replace(
        labels, model_revision="embed-v2", chunking_identity="chunk-v2", pipeline_identity="hybrid-v2"
    )
    worse = gate(5, provenance=treated)
    assert (worse.comparison.state, worse.exit_code) == (BaselineState.COMPARABLE, REGRESSION)
    named = [difference.field for difference in worse.comparison.treatment]
    assert named == ["modelRevision", "chunkingIdentity", "pipelineIdentity"]


def test_other_code_alone_is_no_treatment(
    gate: Gate, store: EvaluationStore, clock: FixedClock, labels: RetrievalProvenance
) -> None:
    """C12"""
    promoted(gate, store, clock, 8)
    held = gate(8, provenance=replace(labels, execution_revision="commit-b"))
    assert (held.comparison.state, held.comparison.treatment, held.exit_code) == (BaselineState.COMPARABLE, (), OK)


def test_failed_questions_fail_the_gate_also_on_a_first_run(
    ten_questions: GradedSet,
    table_retriever: Maker,
    labels: RetrievalProvenance,
    store: EvaluationStore,
    clock: FixedClock,
) -> None:
    rankings: dict[str, Any] = {f"Question {n}?": ["right"] for n in range(10)} | {"Question 3?": TimeoutError()}
    run = evaluate_against_baseline(ten_questions, table_retriever(rankings, labels), store, clock)
    assert run.exit_code == REGRESSION
    assert run.stored.summary.errors == 1


def test_a_run_without_any_answer_is_not_kept(
    ten_questions: GradedSet, table_retriever: Maker, store: EvaluationStore, clock: FixedClock
) -> None:
    failing = table_retriever({f"Question {n}?": OSError() for n in range(10)})
    with pytest.raises(RetrieverError):
        evaluate_against_baseline(ten_questions, failing, store, clock)
    assert store.recent(1) == []


def test_comparable_runs_come_with_paired_tests(gate: Gate, store: EvaluationStore, clock: FixedClock) -> None:
    first, second = promoted(gate, store, clock, 10), gate(2).stored.id
    compared = comparison_of_runs(store, first, second)
    assert compared.tests is not None
    assert (compared.tests.top1.lost, compared.tests.top1.gained) == (8, 0)
    assert compared.tests.top1.p_value == pytest.approx(2 / 2**8)
    assert compared.tests.ndcg is not None
    assert compared.tests.ndcg.difference == pytest.approx(-0.8)


def test_runs_that_kept_no_outcomes_are_compared_without_tests(
    gate: Gate, store: EvaluationStore, clock: FixedClock
) -> None:
    policy = StandardPolicy(PrivacyLevel.NONE)
    promoted(gate, store, clock, 8, policy=policy)
    compared = gate(5, policy=policy)
    assert compared.comparison.tests is None
    assert compared.exit_code == REGRESSION


def test_targets_that_the_corpus_lacks_are_told(
    ten_questions: GradedSet, store: EvaluationStore, clock: FixedClock
) -> None:
    class Cataloged:
        identifier = "test.cataloged"

        def retrieve(self, question: str, limit: int) -> list[str]:
            return []

        def missing_documents(self, document_ids: Sequence[str]) -> list[str]:
            return list(document_ids)

    evaluated = evaluate_against_baseline(ten_questions, Cataloged(), store, clock)
    assert evaluated.targets.missing == ("right",)
