"""What must hold between a record's row, its run DAG and the events that speak of it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from arborist.answering.run_dag import ANSWER_STAGES, CACHE_KEY_PARTS, RunDag
from arborist.errors import ArboristError
from arborist.hashing import Domain, canonical_json
from arborist.providence.audit_events import AuditEvent, EventType
from arborist.providence.ledger_fault import LedgerFault
from arborist.providence.record import (
    Ancestor,
    ProvidenceRecord,
    RecordSource,
    cache_key_domain,
    cited_ancestors,
    row_root,
    snapshot_root,
)
from arborist.providence.schema import BOUND_COLUMNS

UNREADABLE = (
    ArboristError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
)
"""What reading a value of a wrong shape can raise."""


def record_faults(
    record: ProvidenceRecord,
    sources: Sequence[RecordSource],
    ancestors: Sequence[Ancestor],
    event: AuditEvent,
    before: Sequence[AuditEvent],
) -> list[LedgerFault]:
    """What is wrong between a record, its `answer_recorded` event and the events just `before` that one.

    `sources` and `ancestors` are what the tables beside the record say of it.
    """
    try:
        bound, dag = event.value, record.dag
    except UNREADABLE:
        found = [("run", "its run DAG or its event cannot be read")]
    else:
        found = _told(_row_faults(record, sources, bound))
        found += _told((fault.stage, fault.problem) for fault in dag.faults())
        found += _told(_dag_faults(record, dag, bound, sources))
        found += _told(_ancestor_faults(dag, sources, ancestors))
        found += _told(_retrieval_event_faults(dag, before))
    where = f"record {record.record_id}"
    return [LedgerFault(where, problem, record.cache_key, stage) for stage, problem in found]


def hit_faults(record: ProvidenceRecord, event: AuditEvent, before: Sequence[AuditEvent]) -> list[LedgerFault]:
    """What is wrong with a `cache_hit_with_retrieval_plan` that was answered from `record`."""
    found = _told(_hit_faults(record, event, before))
    return [LedgerFault(f"event {event.seq}", problem, record.cache_key, stage) for stage, problem in found]


_Found = Iterator[tuple[str, str]]


def _told(checks: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Stage and problem of each fault, up to where something is of another shape than can be checked."""
    found: list[tuple[str, str]] = []
    try:
        for fault in checks:
            found.append(fault)  # noqa: PERF402
    except UNREADABLE:
        found.append(("run", "something in its row, its run DAG or its event cannot be read"))
    return found


def _row_faults(record: ProvidenceRecord, sources: Sequence[RecordSource], bound: Mapping[str, Any]) -> _Found:
    columns = {name: getattr(record, name) for name in BOUND_COLUMNS}
    for name in BOUND_COLUMNS:
        if name in bound and bound[name] != columns[name]:
            yield "row", f"the column {name} is not what its event says"
    if row_root(columns, sources) != bound["row_root"]:
        yield "row", "the row, or its sources, is not what its event binds by row_root"


def _dag_faults(
    record: ProvidenceRecord, dag: RunDag, bound: Mapping[str, Any], sources: Sequence[RecordSource]
) -> _Found:
    if dag.root != record.run_dag_root:
        yield "run", "its stages do not give run_dag_root"
    for name in ("answer_hash", "claims_hash", *CACHE_KEY_PARTS):
        if name in bound and bound[name] != dag.commitment(name):
            yield "row", f"its event has another {name} than its run DAG"
    payloads = dag.payloads()
    for node in dag.nodes:
        if node.stage not in payloads and node.stage not in bound["withheld_stages"]:
            yield node.stage, "its payload is missing"
    if "verify" in payloads and json.loads(record.claims) != payloads["verify"]["claims"]:
        yield "row", "the column claims is not what the run DAG says"
    for name, value in _columns_of(dag, payloads).items():
        if getattr(record, name) != value:
            yield "row", f"the column {name} is not what the run DAG says"
    keywords = None if record.retrieval_keywords is None else json.loads(record.retrieval_keywords)
    yield from _plan_faults(payloads.get("retrieval_plan"), bound, keywords)
    yield from _cache_key_faults(record, dag, bound, keywords)
    yield from _source_faults(payloads.get("context"), sources)


def _columns_of(dag: RunDag, payloads: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that the DAG knows too, as they have to be."""
    columns: dict[str, Any] = {
        **dag.cache_key_parts(),
        "retrieval_plan_hash": dag.commitment("retrieval_plan_hash"),
    }
    if "question" in payloads:
        columns["question"] = payloads["question"]["question"]
    if "answer" in payloads:
        columns["answer"] = payloads["answer"]["answer"]["text"]
    if "final_label" in payloads:
        columns["audit_mode"] = payloads["final_label"]["audit_mode"]
    if "retrieval_plan" in payloads:
        plan = payloads["retrieval_plan"]
        columns |= {name: plan[name] for name in ("retrieval_mode", "ranking_policy_hash")}
    return columns


def _plan_faults(
    plan: Mapping[str, Any] | None, bound: Mapping[str, Any], keywords: Sequence[str] | None
) -> _Found:
    if plan is None:
        return
    if snapshot_root(plan["shard_ids"]) != bound.get("snapshot_root"):
        yield "retrieval_plan", "its shards do not give the snapshot root in its event"
    # Keywords that the policy did not bind stand in the row alone.
    if plan["retrieval_keywords"] and plan["retrieval_keywords"] != keywords:
        yield "row", "the column retrieval_keywords is not what the run DAG says"


def _cache_key_faults(
    record: ProvidenceRecord, dag: RunDag, bound: Mapping[str, Any], keywords: Sequence[str] | None
) -> _Found:
    claimed = bound["cache_key_domain"]
    # A key that binds keywords which are not kept cannot be made again; its event still binds it.
    if claimed != Domain.CACHE_KEY and keywords is None:
        return
    if cache_key_domain(record.cache_key, dag, keywords) != claimed:
        yield "row", "cache_key is not made of the parts that the run DAG commits"


def _source_faults(context: Mapping[str, Any] | None, sources: Sequence[RecordSource]) -> _Found:
    if context is None:
        return
    bound = {(item["document_root"], item["role"]) for item in context["items"]}
    if bound != {(source.document_root, source.role) for source in sources}:
        yield "context", "its documents are not those in record_sources"


def _ancestor_faults(dag: RunDag, sources: Sequence[RecordSource], ancestors: Sequence[Ancestor]) -> _Found:
    if cited_ancestors(dag, sources) != tuple(ancestors):
        yield "verify", "the promoted answers that it cites are not those in record_ancestors"


def _retrieval_event_faults(dag: RunDag, before: Sequence[AuditEvent]) -> _Found:
    """The events of the run's retrieval stand right before the event that closes the run."""
    wanted = [EventType.RETRIEVAL_RESULT_SELECTED]
    if dag.commitment("retrieval_plan_hash") is not None:
        wanted.insert(0, EventType.RETRIEVAL_PLAN_BUILT)
    events = before[-len(wanted) :]
    if [event.type for event in events] != wanted:
        yield "retrieval_plan", "the events of its retrieval do not stand before it"
        return
    for event in events:
        value = event.value
        for name in ("question_hash", "retrieval_plan_hash", "sources_summary_hash", "context_root"):
            if name in value and value[name] != dag.commitment(name):
                yield "retrieval_plan", f"event {event.seq} has another {name} than its run DAG"


def _hit_faults(record: ProvidenceRecord, event: AuditEvent, before: Sequence[AuditEvent]) -> _Found:
    bound = event.value
    answered = record.dag.without_payloads()
    own = RunDag.from_blob(canonical_json({"nodes": bound["nodes"]}))
    dag = RunDag((*own.nodes, *(answered.node(stage) for stage in ANSWER_STAGES)))
    # The stages from the answer on are the record's, and so are the parents that their hashes bind.
    yield from ((fault.stage, fault.problem) for fault in dag.faults() if fault.stage not in ANSWER_STAGES)
    if dag.root != bound["run_dag_root"]:
        yield "run", "its stages do not give run_dag_root"
    if record.run_dag_root != bound["record_run_dag_root"] or record.cache_key != bound["cache_key"]:
        yield "run", "it is not a hit on the record that it names"
    for name, value in dag.cache_key_parts().items():
        if getattr(record, name) != value:
            yield "run", f"its {name} is not the record's"
    yield from _retrieval_event_faults(dag, before)
