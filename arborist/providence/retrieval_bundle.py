"""Audit bundles of our own records: what a record's retrieval rests on, in files that `retrieval_audit` checks.

A bundle is a folder of five files, `FILES`. The record's plan is executed again, and then a control question from
the same plan builder, between two looks at the shards on disk, so that the bundle shows whether anything moved
meanwhile. Nothing is recorded, and no model is asked.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arborist.answering.run_dag import RunDag
from arborist.clock import iso_time
from arborist.corpus.shard import Shard, read_shard_meta
from arborist.errors import InputError, ProofError
from arborist.files import write_replacing
from arborist.hashing import canonical_json
from arborist.merkle import inclusion_proof, leaf_hash
from arborist.providence.proof import PublishedShards
from arborist.providence.record import ProvidenceRecord, snapshot_root
from arborist.retrieval.context import context_root, evidence_within
from arborist.retrieval.plan import FTS5, RetrievalPlan, RetrievalResult, RetrievedSource
from arborist.retrieval.retrieve import Query, plan_for, retrieved
from arborist.workspace import Workspace

KIND = "arborist-record-audit-1"
FILES = ("audit.json", "before.json", "after.json", "customer.json", "unrelated.json")
SHOWN_STAGES = ("context", "verify", "final_label")

_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")
_CONTROL_LETTERS = 32


def control_question(run_dag_root: str) -> str:
    """A word that no text holds unless it quotes this bundle: letters for the first digits of the run's root.

    Real words nearly always bring something up in a full-text index; for this one nothing is the right result.
    """
    return run_dag_root[:_CONTROL_LETTERS].translate(_LETTERS)


def control_query(plan: RetrievalPlan, run_dag_root: str) -> Query:
    """The control question under the limits and filters of a plan, without its keywords."""
    return Query(
        control_question(run_dag_root),
        top_k=plan.top_k,
        over_fetch=plan.over_fetch,
        max_context_chars=plan.max_context_chars,
        filters=plan.filters,
    )


def bundle_folder(workspace: Workspace, record: ProvidenceRecord) -> Path:
    """Where the bundle of a record lies in its home."""
    return workspace.home.audits_folder / f"ledger-{record.cache_key[:16]}"


def write_retrieval_bundle(workspace: Workspace, record: ProvidenceRecord, folder: Path) -> Path:
    """Write the bundle of a record into `folder`, in the place of an older one; the path of its `audit.json`.

    Raises ProofError for a record whose retrieval cannot be repeated: its plan or its keywords were not kept, a
    shard that was searched has moved, or a policy that decides what is found has changed.
    """
    plan = _stored_plan(record)
    _refuse_changed_policies(workspace, record, plan)
    with _searched(workspace, plan) as shards:
        repeated = _Repeated(workspace, record, plan, shards)
        documents = {
            "before.json": repeated.snapshot(),
            "customer.json": repeated.customer(),
            "unrelated.json": repeated.unrelated(),
            "after.json": repeated.snapshot(),
        }
    names = {Path(name).stem: name for name in documents}
    audit = {"kind": KIND, "cache_key": record.cache_key, "run_dag_root": record.run_dag_root, **names}
    # The input last: whoever finds a new one finds what it names.
    for name, document in (documents | {"audit.json": audit}).items():
        write_replacing(folder / name, canonical_json(document))
    return folder / "audit.json"


def _stored_plan(record: ProvidenceRecord) -> RetrievalPlan:
    try:
        return RetrievalPlan.from_canonical(record.dag.payloads()["retrieval_plan"])
    except (InputError, KeyError) as error:
        raise ProofError(f"record {record.record_id}: its plan was not kept, so it cannot be repeated") from error


def _keywords(record: ProvidenceRecord, plan: RetrievalPlan) -> tuple[str, ...]:
    """The keywords that the record was searched with, which a policy may have left out of the plan it binds."""
    if record.retrieval_keywords is not None:
        return tuple(json.loads(record.retrieval_keywords))
    if plan.retrieval_mode != FTS5:
        raise ProofError(f"record {record.record_id}: its keywords were not kept, so it cannot be repeated")
    return ()


def _refuse_changed_policies(workspace: Workspace, record: ProvidenceRecord, plan: RetrievalPlan) -> None:
    policy = workspace.config.policy
    today = {"ranking": policy.ranking.digest(), "answering": policy.answering.digest()}
    then = {"ranking": plan.ranking_policy_hash, "answering": record.governance_policy_hash}
    for name, digest in today.items():
        if digest != then[name]:
            raise ProofError(
                f"record {record.record_id}: [policy.{name}] of {workspace.config.path} has changed since "
                "(set it as it was, or ask the question anew and audit that)"
            )


@contextmanager
def _searched(workspace: Workspace, plan: RetrievalPlan) -> Iterator[list[Shard]]:
    with PublishedShards(workspace.home.root) as published:
        yield [published.at(item.shard, item.root) for item in plan.shard_ids]


@dataclass(frozen=True)
class _Repeated:
    """The retrieval of a record, repeated over the shards that its plan names, opened at their roots."""

    workspace: Workspace
    record: ProvidenceRecord
    plan: RetrievalPlan
    shards: Sequence[Shard]

    def snapshot(self) -> dict[str, Any]:
        """What stands on disk now, under the names of the searched shards; a root is empty where there is none."""
        metas = {item.shard: read_shard_meta(self.workspace.home, item.shard) for item in self.plan.shard_ids}
        roots = [[name, meta.shard_root if meta else ""] for name, meta in metas.items()]
        return {
            "captured_at": self._now(),
            "shards": roots,
            "snapshot_root": snapshot_root(roots),
            "index_versions": sorted({meta.index_version for meta in metas.values() if meta}),
            "ranking_policy_hash": self.workspace.config.policy.ranking.digest(),
        }

    def customer(self) -> dict[str, Any]:
        keywords = _keywords(self.record, self.plan)
        found = self._found(replace(self.plan, retrieval_keywords=keywords), self.record.question)
        return {
            "captured_at": self._now(),
            "plan": self.plan.canonical(),
            "retrieval_keywords": list(keywords),
            "result": self._result(found),
            "hits": [self._hit(source) for source in found],
            "documents": self._documents(found),
            "run_dag": {"nodes": [node.canonical() for node in _shown_dag(self.record).nodes]},
        }

    def unrelated(self) -> dict[str, Any]:
        policy = self.workspace.config.policy
        query = control_query(self.plan, self.record.run_dag_root)
        plan = plan_for(query, self.shards, policy.retrieval, policy.ranking)
        return {
            "captured_at": self._now(),
            "question": query.question,
            "plan": plan.canonical(),
            "result": self._result(self._found(plan, query.question)),
        }

    def _now(self) -> str:
        return iso_time(self.workspace.clock.now())

    def _found(self, plan: RetrievalPlan, question: str) -> tuple[RetrievedSource, ...]:
        return tuple(retrieved(plan, question, self.shards, self.workspace.config.policy.ranking))

    def _result(self, found: tuple[RetrievedSource, ...]) -> dict[str, Any]:
        chosen = evidence_within(found, self.plan.max_context_chars, self.workspace.config.policy.answering)
        return RetrievalResult(found, context_root([item.canonical() for item in chosen])).canonical()

    def _hit(self, source: RetrievedSource) -> dict[str, Any]:
        leaves = self._shard(source.shard).leaves(source.document_root)
        return {
            "document_root": source.document_root,
            "chunk_index": source.chunk_index,
            "text": source.text,
            "inclusion": _inclusion(leaves, source.chunk_index + 1),
        }

    def _documents(self, found: Sequence[RetrievedSource]) -> list[dict[str, Any]]:
        """The documents that hits are chunks of, each once, proven up to the root of its shard."""
        homes = {source.document_root: self._shard(source.shard) for source in found}
        roots = {shard.meta.shard: shard.document_roots() for shard in homes.values()}
        return [_document(root, shard, roots[shard.meta.shard]) for root, shard in homes.items()]

    def _shard(self, name: str) -> Shard:
        return next(shard for shard in self.shards if shard.meta.shard == name)


def _document(document_root: str, shard: Shard, roots: Sequence[bytes]) -> dict[str, Any]:
    leaves = shard.leaves(document_root)
    index = roots.index(bytes.fromhex(document_root))
    return {
        "document_root": document_root,
        "leaves": len(leaves),
        "header": shard.header(document_root),
        "header_inclusion": _inclusion(leaves, 0),
        "shard": shard.meta.shard,
        "index": index,
        "documents": len(roots),
        "shard_inclusion": _inclusion([leaf_hash(root) for root in roots], index),
    }


def _inclusion(leaves: Sequence[bytes], index: int) -> list[str]:
    return [sibling.hex() for sibling in inclusion_proof(leaves, index)]


def _shown_dag(record: ProvidenceRecord) -> RunDag:
    """The record's DAG with the payloads that tell what was cited."""
    payloads = record.dag.payloads()
    missing = [stage for stage in SHOWN_STAGES if stage not in payloads]
    if missing:
        raise ProofError(f"record {record.record_id}: what its stages {', '.join(missing)} held is not kept")
    return record.dag.without_payloads().with_payloads({stage: payloads[stage] for stage in SHOWN_STAGES})
