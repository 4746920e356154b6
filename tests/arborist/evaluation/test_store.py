"""Runs and baselines on disk: rows F1 to F11 and F18 of `retrieval-evaluation.md`, 7.7.

F6 (series apart by grader) has no counterpart: this store keeps retrieval runs only.
"""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arborist.clock import FixedClock
from arborist.errors import InputError
from arborist.evaluation.errors import EvaluationStoreError, NotComparableError, PromotionError
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.privacy import PrivacyLevel, StandardPolicy
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.regression import Tolerances, changes
from arborist.evaluation.run import EvaluationRun, Tally
from arborist.evaluation.scoring import evaluate_retrieval
from arborist.evaluation.store import EvaluationStore, StoredRun

Maker = Callable[..., Any]
PERSON = "person@example.test"
PRIVATE = GradedSet(
    GoldenQuestionSet(
        "office.test",
        "T",
        "",
        (
            GoldenQuestion("q1", "What did " + PERSON + " ask?", Form.GAP, ("internal-doc",), "near-duplicate"),
            GoldenQuestion("q2", "Nothing?", Form.MATCH),
        ),
    )
)
FULL = StandardPolicy(PrivacyLevel.FULL)
METADATA = StandardPolicy(PrivacyLevel.METADATA)


@pytest.fixture
def private_run(table_retriever: Maker, labels: RetrievalProvenance, clock: FixedClock) -> EvaluationRun:
    rankings = {PRIVATE.golden.questions[0].question: ["other", "internal-doc", PERSON]}
    run: EvaluationRun = evaluate_retrieval(PRIVATE, table_retriever(rankings, labels), clock)
    return run


def saved(store: EvaluationStore, run: EvaluationRun, level: PrivacyLevel = PrivacyLevel.METADATA) -> StoredRun:
    return store.save(run, StandardPolicy(level), Tolerances())


def tampered(store: EvaluationStore, assignment: str, value: object = None) -> None:
    with sqlite3.connect(store.path) as connection:
        connection.execute(f"UPDATE runs SET {assignment}", (value,) if "?" in assignment else ())
    connection.close()


def text_of(path: Path) -> str:
    connection = sqlite3.connect(path)
    text = "\n".join(connection.iterdump())
    connection.close()
    return text


def test_counts_and_details_are_kept(store: EvaluationStore, private_run: EvaluationRun) -> None:
    """F1"""
    kept = saved(store, private_run, PrivacyLevel.FULL)
    assert kept.summary == private_run.summary()
    assert (kept.summary.all, kept.summary.no_result) == (Tally(2, 1, 2), Tally(1, 1, 1))
    assert len(json.loads(kept.details)) == 2


def test_the_record_and_the_identity_come_back_exactly(store: EvaluationStore, private_run: EvaluationRun) -> None:
    """F8"""
    kept = store.run(saved(store, private_run, PrivacyLevel.FULL).id)
    assert kept.summary.identity == private_run.identity
    assert json.loads(kept.details)[0] == {
        "questionId": "q1",
        "form": "gap",
        "hardClass": "near-duplicate",
        "top1Hit": False,
        "top3Hit": True,
        "retrievedDocumentIds": ["other", "internal-doc", PERSON],
        "latencyMs": private_run.evaluations[0].latency_ms,
    }
    assert list(json.loads(kept.details)[0]) == [
        *("questionId", "form", "hardClass", "top1Hit", "top3Hit", "retrievedDocumentIds", "latencyMs")
    ]


def test_the_latest_is_by_date_and_then_by_id(store: EvaluationStore, private_run: EvaluationRun) -> None:
    """F2"""
    late = saved(store, replace(private_run, run_date=2000))
    saved(store, replace(private_run, run_date=1000))
    assert store.latest("office.test", "test.table") == late
    later = saved(store, replace(private_run, run_date=2000))
    assert store.latest("office.test", "test.table") == later


def test_recent_runs_are_newest_first_and_none_below_one(
    store: EvaluationStore, private_run: EvaluationRun
) -> None:
    """F3"""
    for date in (1000, 3000, 2000):
        saved(store, replace(private_run, run_date=date))
    saved(store, replace(private_run, set_identifier="other", run_date=4000))
    assert [run.summary.run_date for run in store.recent(2, "office.test")] == [3000, 2000]
    assert [run.summary.run_date for run in store.recent(2)] == [4000, 3000]
    assert store.recent(0) == []


def test_what_is_not_there_is_none_or_an_error_of_the_user(store: EvaluationStore) -> None:
    """F4"""
    assert store.latest("office.test", "test.table") is None
    assert store.recent(5) == []
    assert store.baselines() == []
    assert not store.path.exists()
    with pytest.raises(InputError, match="no run 7"):
        store.run(7)


def test_a_drop_shows_across_two_kept_runs(
    store: EvaluationStore, ten_questions: GradedSet, hits_of_ten: Maker, clock: FixedClock
) -> None:
    """F5"""
    first, second = (saved(store, evaluate_retrieval(ten_questions, hits_of_ten(hits), clock)) for hits in (10, 3))
    top1 = changes(first.summary, second.summary, Tolerances())[0]
    assert float(top1.delta) == -0.7
    assert top1.is_regression


def test_metadata_drops_details_and_keeps_counts(store: EvaluationStore, private_run: EvaluationRun) -> None:
    """F7 and F9: the identity stays, no document id and no question text does."""
    kept = saved(store, private_run, PrivacyLevel.METADATA)
    assert kept.details == ""
    assert kept.summary.all == private_run.summary().all
    assert kept.summary.outcomes == private_run.summary().outcomes
    text = text_of(store.path)
    assert private_run.identity.labels in text
    assert private_run.identity.benchmark in text
    assert private_run.identity.scoring_version in text
    for trace in ("internal-doc", "What did", "person", "q1"):
        assert trace not in text


def test_none_keeps_no_outcomes_and_no_class_names_either(
    store: EvaluationStore, private_run: EvaluationRun
) -> None:
    kept = saved(store, private_run, PrivacyLevel.NONE)
    assert (kept.summary.outcomes, kept.summary.by_hard_class) == ((), ())
    assert kept.summary.by_form == private_run.summary().by_form
    assert kept.summary.all == private_run.summary().all
    assert "near-duplicate" not in text_of(store.path)


def test_the_labels_fingerprint_is_kept_also_where_nothing_was_declared(
    store: EvaluationStore, table_retriever: Maker, clock: FixedClock
) -> None:
    run = evaluate_retrieval(PRIVATE, table_retriever({}), clock)
    kept = saved(store, run)
    assert kept.summary.identity == run.identity
    assert kept.summary.identity.labels == run.identity.labels != ""
    assert kept.summary.identity.benchmark == ""


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("retrieval_provenance = ''", None),
        ("retrieval_provenance = '{'", None),
        ("retrieval_provenance = ?", "[" * 100_000),
        ("benchmark_fingerprint = 'wrong'", None),
        ("benchmark_fingerprint = ''", None),
        ("benchmark_fingerprint = 'v1:' || hex(zeroblob(32))", None),
        ("variant_fingerprint = 'v1:' || lower(hex(zeroblob(32)))", None),
    ],
)
def test_legacy_and_inconsistent_rows_read_as_unknown(
    store: EvaluationStore, private_run: EvaluationRun, assignment: str, value: object
) -> None:
    """F10"""
    saved(store, private_run)
    tampered(store, assignment, value)
    assert store.recent(1)[0].summary.identity.provenance is None


REQUIRED = ["corpusRevision", "modelRevision", "chunkingIdentity", "pipelineIdentity"]
BROKEN_DOCUMENTS: list[Any] = [
    None,
    "text",
    ["list"],
    {"executionRevision": 7},
    *({key: value} for key in REQUIRED for value in (..., 7, "http://host/v1")),
    {"executionRevision": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}}},
]


@pytest.mark.parametrize("broken", BROKEN_DOCUMENTS, ids=str)
def test_invalid_provenance_documents_read_as_unknown(
    store: EvaluationStore, private_run: EvaluationRun, broken: Any
) -> None:
    """F11"""
    saved(store, private_run)
    with sqlite3.connect(store.path) as connection:
        good = json.loads(connection.execute("SELECT retrieval_provenance FROM runs").fetchone()[0])
    connection.close()
    document = broken
    if isinstance(broken, dict):
        document = {key: value for key, value in (good | broken).items() if value is not ...}
    tampered(store, "retrieval_provenance = ?", json.dumps(document))
    assert store.recent(1)[0].summary.identity.provenance is None


def test_other_keys_of_a_provenance_document_are_ignored(
    store: EvaluationStore, private_run: EvaluationRun
) -> None:
    saved(store, private_run)
    tampered(store, "retrieval_provenance = json_set(retrieval_provenance, '$.more', 1)")
    assert store.recent(1)[0].summary.identity == private_run.identity


def test_purging_removes_strictly_older_runs_only(store: EvaluationStore, private_run: EvaluationRun) -> None:
    """F9 and F18"""
    saved(store, private_run)
    assert store.purge(private_run.run_date) == 0
    assert store.purge(private_run.run_date + 1) == 1
    assert store.recent(5) == []


def test_a_pinned_baseline_outlives_a_purge_without_its_details(
    store: EvaluationStore, private_run: EvaluationRun, clock: FixedClock
) -> None:
    pinned = saved(store, private_run, PrivacyLevel.FULL)
    store.promote(pinned.id, clock)
    assert store.purge(private_run.run_date + 1) == 0
    assert store.run(pinned.id) == replace(pinned, details="")


def test_the_ids_of_purged_runs_are_not_given_again(store: EvaluationStore, private_run: EvaluationRun) -> None:
    first = saved(store, private_run)
    store.purge(private_run.run_date + 1)
    assert saved(store, private_run).id > first.id


def test_a_baseline_is_what_was_promoted_last_for_its_benchmark(
    store: EvaluationStore, private_run: EvaluationRun, clock: FixedClock, labels: RetrievalProvenance
) -> None:
    assert store.baseline_for(private_run) is None
    first, second = saved(store, private_run), saved(store, private_run)
    other_corpus = replace(
        private_run,
        identity=replace(private_run.identity, provenance=replace(labels, corpus_revision="corpus-v2")),
    )
    elsewhere = saved(store, other_corpus)
    store.promote(second.id, clock)
    store.promote(first.id, clock)
    store.promote(elsewhere.id, clock)
    assert store.baseline_for(private_run) == first
    assert store.baseline_for(other_corpus) == elsewhere
    assert [baseline.run for baseline in store.baselines("office.test")] == [elsewhere, first]
    assert store.baselines("other.set") == []


def test_a_run_of_unknown_provenance_or_with_errors_cannot_be_promoted(
    store: EvaluationStore, table_retriever: Maker, labels: RetrievalProvenance, clock: FixedClock
) -> None:
    unknown = saved(store, evaluate_retrieval(PRIVATE, table_retriever({}), clock))
    with pytest.raises(NotComparableError):
        store.promote(unknown.id, clock)
    failing = table_retriever({"Nothing?": OSError()}, labels)
    broken = saved(store, evaluate_retrieval(PRIVATE, failing, clock))
    with pytest.raises(PromotionError, match="failed on 1 questions"):
        store.promote(broken.id, clock)
    assert store.baselines() == []


def test_a_file_of_something_else_is_refused_in_words(store: EvaluationStore, private_run: EvaluationRun) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(b"not a database" * 100)
    with pytest.raises(EvaluationStoreError, match="is not an evaluations database"):
        saved(store, private_run)


def test_another_schema_and_a_damaged_row_are_refused_in_words(
    store: EvaluationStore, private_run: EvaluationRun
) -> None:
    saved(store, private_run)
    tampered(store, "outcomes = '{'")
    with pytest.raises(EvaluationStoreError, match="run 1 is damaged"):
        store.run(1)
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(EvaluationStoreError, match="schema 99"):
        store.run(1)


def test_a_save_that_cannot_finish_leaves_nothing(store: EvaluationStore, private_run: EvaluationRun) -> None:
    saved(store, private_run)
    with sqlite3.connect(store.path) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON breakdowns WHEN NEW.kind = 'hardClass' "
            "BEGIN SELECT raise(ABORT, 'disk full'); END"
        )
    connection.close()
    with pytest.raises(EvaluationStoreError):
        saved(store, private_run)
    assert len(store.recent(10)) == 1
