"""The tests that Appendix A.12 of the retrieval keywords ticket asks for, each on the whole pipeline."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arborist.answering.ask import Asker, Reply, open_asker
from arborist.policy import ProvenancePolicy
from arborist.providence.audit_events import EventType
from arborist.providence.ledger import Ledger, RecordFilter
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace
from tests.corpora import WHEN_ALDER

LIMITS = {"top_k": 9, "over_fetch": 31, "max_context_chars": 11_000}


@pytest.fixture
def asker(built: Workspace, tmp_path: Path) -> Iterator[Asker]:
    with Ledger.open(tmp_path, built.clock) as ledger:
        yield open_asker(built, ledger)


def context(reply: Reply) -> list[str]:
    return [item.leaf_hash for item in reply.evidence]


def last_event(asker: Asker, kind: EventType) -> dict[str, object]:
    return list(asker.ledger.events(types=[kind]))[-1].value


def test_retrieval_keywords_stored_on_providence_record(asker: Asker) -> None:
    asker.ask(Query(WHEN_ALDER, ("river", "skaters")))
    (record,) = asker.ledger.records()
    assert json.loads(record.retrieval_keywords or "") == ["river", "skaters"]
    assert list(asker.ledger.records(RecordFilter(keyword="skaters"))) == [record]
    assert list(asker.ledger.records(RecordFilter(keyword="bridge"))) == []


@pytest.mark.parametrize("keywords", [("skaters", "river"), ("river",), ("river skaters",), ()])
def test_retrieval_plan_hash_changes_when_keyword_order_or_content_changes(
    asker: Asker, keywords: tuple[str, ...]
) -> None:
    first = asker.ask(Query(WHEN_ALDER, ("river", "skaters")))
    assert asker.ask(Query(WHEN_ALDER, keywords)).retrieval_plan_hash != first.retrieval_plan_hash


@pytest.mark.parametrize("name", list(LIMITS))
def test_retrieval_plan_hash_and_run_dag_root_change_when_a_limit_changes(asker: Asker, name: str) -> None:
    first = asker.ask(Query(WHEN_ALDER))
    second = asker.ask(replace(Query(WHEN_ALDER), **{name: LIMITS[name]}))
    assert context(first) == context(second)
    assert first.retrieval_plan_hash != second.retrieval_plan_hash
    assert first.run_dag_root != second.run_dag_root


def test_two_runs_with_same_sources_but_different_keywords_have_different_run_dag_root(asker: Asker) -> None:
    first, second = (asker.ask_anew(Query(WHEN_ALDER, (word,))) for word in ("Alder", "opened"))
    assert not second.cache_hit
    assert context(first) == context(second)
    assert first.run_dag_root != second.run_dag_root
    assert first.record.run_dag_root != second.record.run_dag_root


def test_keywords_that_find_nothing_still_change_run_dag_root(asker: Asker) -> None:
    first, second = (asker.ask_anew(Query(WHEN_ALDER, (word,))) for word in ("Zanzibar", "Lisbon"))
    assert [source.summary() for source in first.sources] == [source.summary() for source in second.sources]
    assert first.run_dag_root != second.run_dag_root


def test_question_hash_unchanged_when_only_retrieval_keywords_change(asker: Asker) -> None:
    first, second = asker.ask(Query(WHEN_ALDER)), asker.ask(Query(WHEN_ALDER, ("river", "skaters")))
    assert context(first) != context(second)
    assert first.record.question_hash == second.record.question_hash


def test_cache_key_unchanged_when_only_retrieval_keywords_change_under_default_policy(asker: Asker) -> None:
    first, second = asker.ask(Query(WHEN_ALDER)), asker.ask(Query(WHEN_ALDER, ("Alder",)))
    assert context(first) == context(second)
    assert first.record.cache_key == second.record.cache_key
    assert second.cache_hit


def test_cache_key_changes_when_retrieval_plan_affects_cache_key(asker: Asker) -> None:
    plain = asker.ask(Query(WHEN_ALDER))
    strict = replace(
        asker, policy=replace(asker.policy, provenance=ProvenancePolicy(retrieval_plan_affects_cache_key=True))
    )
    first, second = strict.ask(Query(WHEN_ALDER)), strict.ask(Query(WHEN_ALDER, ("Alder",)))
    assert len({plain.record.cache_key, first.record.cache_key, second.record.cache_key}) == 3
    assert not second.cache_hit
    assert strict.ask(Query(WHEN_ALDER, ("Alder",))).cache_hit


def test_audit_events_include_retrieval_plan_built(asker: Asker) -> None:
    reply = asker.ask(Query(WHEN_ALDER, ("river",)))
    built = last_event(asker, EventType.RETRIEVAL_PLAN_BUILT)
    assert built["retrieval_plan_hash"] == reply.retrieval_plan_hash
    assert built["retrieval_keywords"] == ["river"]
    selected = last_event(asker, EventType.RETRIEVAL_RESULT_SELECTED)
    assert selected["retrieval_plan_hash"] == reply.retrieval_plan_hash
    assert selected["context_root"] == reply.record.context_root
    kinds = [event.type for event in asker.ledger.events()]
    assert kinds == [
        EventType.RETRIEVAL_PLAN_BUILT,
        EventType.RETRIEVAL_RESULT_SELECTED,
        EventType.ANSWER_RECORDED,
    ]


def test_cache_hit_still_records_current_retrieval_plan_hash_in_audit_event(asker: Asker) -> None:
    first, hit = asker.ask(Query(WHEN_ALDER)), asker.ask(Query(WHEN_ALDER, ("Alder",)))
    event = last_event(asker, EventType.CACHE_HIT)
    assert event["retrieval_plan_hash"] == hit.retrieval_plan_hash != first.retrieval_plan_hash
    assert event["run_dag_root"] == hit.run_dag_root
    assert event["record_run_dag_root"] == first.run_dag_root
