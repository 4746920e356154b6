"""The tests that Appendix A.12 of the audit-gap seed asks for, under its own names."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from arborist.answering.run_dag import cache_key, retrieval_nodes, run_dag, run_dag_on_hit
from arborist.clock import FixedClock
from arborist.policy import ProvenancePolicy
from arborist.providence.audit_events import EventType
from arborist.providence.ledger import Ledger
from arborist.retrieval.plan import RetrievalPlan
from tests.arborist.providence.runs import answered, new_record, retrieval, run

QUESTION = "has oceania always been at war with east asia"
GEOGRAPHY = ["Oceania", "East Asia", "war", "history"]
ORWELL = ["Nineteen Eighty-Four", "Oceania", "Eastasia", "always at war"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, FixedClock()) as opened:
        yield opened


@pytest.fixture
def plan() -> RetrievalPlan:
    found = retrieval(QUESTION, ORWELL).plan
    assert found is not None
    return found


def test_retrieval_keywords_stored_on_providence_record(ledger: Ledger) -> None:
    record = ledger.append_record(new_record(QUESTION, ORWELL))
    assert record.to_json()["retrieval_keywords"] == ORWELL
    assert record.retrieval_plan_hash == record.dag.commitment("retrieval_plan_hash")


def test_retrieval_plan_hash_changes_when_keyword_order_or_content_changes(plan: RetrievalPlan) -> None:
    reordered = replace(plan, retrieval_keywords=tuple(reversed(ORWELL)))
    other = replace(plan, retrieval_keywords=tuple(GEOGRAPHY))
    assert len({plan.digest(), reordered.digest(), other.digest()}) == 3


@pytest.mark.parametrize("name", ["top_k", "over_fetch", "max_context_chars"])
def test_retrieval_plan_hash_changes_when_a_limit_changes(plan: RetrievalPlan, name: str) -> None:
    assert replace(plan, **{name: getattr(plan, name) + 1}).digest() != plan.digest()


def test_run_dag_root_changes_when_retrieval_plan_hash_changes(plan: RetrievalPlan) -> None:
    parts = retrieval(QUESTION, ORWELL)
    other = replace(parts, plan=replace(plan, top_k=plan.top_k + 1))
    roots = [run_dag(retrieval_nodes(item), answered()).root for item in (parts, other)]
    assert roots[0] != roots[1]


def test_two_runs_with_same_sources_but_different_keywords_have_different_run_dag_root() -> None:
    one, two = run(QUESTION, GEOGRAPHY), run(QUESTION, ORWELL)
    assert one.commitment("sources_summary_hash") == two.commitment("sources_summary_hash")
    assert one.commitment("context_root") == two.commitment("context_root")
    assert one.commitment("answer_hash") == two.commitment("answer_hash")
    assert one.root != two.root


def test_question_hash_unchanged_when_only_retrieval_keywords_change() -> None:
    assert run(QUESTION, GEOGRAPHY).commitment("question_hash") == run(QUESTION, ORWELL).commitment(
        "question_hash"
    )


def test_cache_key_unchanged_when_only_retrieval_keywords_change_under_default_policy() -> None:
    assert new_record(QUESTION, GEOGRAPHY).cache_key == new_record(QUESTION, ORWELL).cache_key


def test_cache_key_changes_when_retrieval_plan_affects_cache_key() -> None:
    policy = ProvenancePolicy(retrieval_plan_affects_cache_key=True)
    one, two = (new_record(QUESTION, words, provenance=policy) for words in (GEOGRAPHY, ORWELL))
    assert len({one.cache_key, two.cache_key, new_record(QUESTION, ORWELL).cache_key}) == 3


def test_keywords_shown_to_the_model_enter_prompt_hash_and_cache_key() -> None:
    """The rule of A.5, case C."""
    one, two = (run(QUESTION, words, show_keywords_to_model=True) for words in (GEOGRAPHY, ORWELL))
    assert one.commitment("prompt_hash") != two.commitment("prompt_hash")
    assert cache_key(one.cache_key_parts()) != cache_key(two.cache_key_parts())


def test_audit_events_include_retrieval_plan_built(ledger: Ledger, plan: RetrievalPlan) -> None:
    ledger.append_record(new_record(QUESTION, ORWELL))
    (built,) = ledger.events(types=[EventType.RETRIEVAL_PLAN_BUILT])
    expected = {
        "question_hash": plan.question_hash,
        "retrieval_keywords": ORWELL,
        "retrieval_mode": plan.retrieval_mode,
        "top_k": plan.top_k,
        "over_fetch": plan.over_fetch,
        "max_context_chars": plan.max_context_chars,
        "retrieval_plan_hash": plan.digest(),
    }
    assert {name: built.value[name] for name in expected} == expected


def test_cache_hit_still_records_current_retrieval_plan_hash_in_audit_event(ledger: Ledger) -> None:
    record = ledger.append_record(new_record(QUESTION, GEOGRAPHY))
    own = retrieval(QUESTION, ORWELL)
    assert own.plan is not None
    ledger.append_hit(record, run_dag_on_hit(retrieval_nodes(own), record.dag), ORWELL)
    (hit,) = ledger.events(types=[EventType.CACHE_HIT])
    assert hit.type == "cache_hit_with_retrieval_plan"
    assert hit.value["retrieval_plan_hash"] == own.plan.digest() != record.retrieval_plan_hash


def test_the_clauses_of_a_6_are_nodes_of_the_stored_dag(ledger: Ledger) -> None:
    """frame -> retrieval_plan -> retrieval_result -> context."""
    dag = ledger.append_record(new_record(QUESTION, ORWELL)).dag
    chain = ["frame", "retrieval_plan", "retrieval_result", "context"]
    for parent, stage in pairwise(chain):
        assert parent in dag.node(stage).parents
