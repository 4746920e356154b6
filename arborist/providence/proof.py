"""Proof bundles: everything that shows where an answer came from, in one file (`self-providence.md`, Proof).

A bundle has, for each chunk of the context, its path to document, shard and snapshot root; the run DAG; the
record's place in the signed audit log; and the same for every promoted answer the record leans on, to any depth.
`bundle_verifier` checks it without any of what it was made from.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from arborist.answering.run_dag import RunDag
from arborist.corpus.shard import Shard
from arborist.errors import CorpusError, ProofError
from arborist.hashing import Domain, canonical_json
from arborist.home import Home
from arborist.merkle import inclusion_proof, leaf_hash
from arborist.providence.audit_events import EventType
from arborist.providence.audit_log import AuditLog, last_checkpoint
from arborist.providence.bundle_verifier import FORMAT, LARGEST_BUNDLE, SHOWN_STAGES
from arborist.providence.ledger import Ledger
from arborist.providence.record import ProvidenceRecord, cache_key_domain, keyed_plan_hash
from arborist.retrieval.promoted import promoted_cache_key

_SHOWN_OF_PRIVATE = (*SHOWN_STAGES, "context")
"""What a bundle shows of a record whose payloads are private: what is proven, not how it was searched for."""

_EVENTS_AFTER_PLAN = 2
"""`answer_recorded` is the second event after `retrieval_plan_built`."""


class ShardReader(Protocol):
    """A shard, as far as a proof needs it. Raises CorpusError for a document that it does not hold."""

    def document_roots(self) -> list[bytes]: ...
    def header(self, document_root: str) -> dict[str, Any]: ...
    def leaves(self, document_root: str) -> list[bytes]: ...
    def chunk_text(self, document_root: str, chunk_index: int) -> str: ...


class ShardsAtRoots(Protocol):
    """Where shards are had as they were when they were searched."""

    def at(self, shard: str, root: str) -> ShardReader:
        """The shard of that name at that root. Raises ProofError where it cannot be had."""
        ...


class PublishedShards:
    """The shards of a home as they are published now; a context manager that closes them."""

    def __init__(self, home: Path) -> None:
        self._home = Home(home)
        self._open: dict[str, Shard] = {}

    def at(self, shard: str, root: str) -> Shard:
        if shard not in self._open:
            try:
                self._open[shard] = Shard(self._home.shard_file(shard))
            except CorpusError as error:
                raise ProofError(f"the shard {shard} cannot be had as it was: {error}") from error
        found = self._open[shard]
        if found.meta.shard_root != root:
            raise ProofError(
                f"the shard {shard} has moved, from {root[:16]} to {found.meta.shard_root[:16]} "
                "(prove a record before its sources change, or build the corpus as it was)"
            )
        return found

    def __enter__(self) -> "PublishedShards":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for shard in self._open.values():
            shard.close()


def prove(ledger: Ledger, log: AuditLog, shards: ShardsAtRoots, record: ProvidenceRecord) -> bytes:
    """The bundle that proves `record`, as canonical JSON, under the last checkpoint that was signed.

    Raises ProofError where no checkpoint covers the record, a searched shard cannot be had as it was, what is kept
    of a record is not enough, or the bundle would be larger than the verifier reads.
    """
    signed = last_checkpoint(ledger)
    if signed is None or signed[2] < record.record_id:
        raise ProofError("no checkpoint covers this record yet (run `arborist ledger checkpoint`)")
    note, key, size = signed
    leaves = log.leaves[:size]
    proofs: dict[str, dict[str, Any]] = {}
    waiting = [record]
    while waiting:
        current = waiting.pop()
        if current.run_dag_root in proofs:
            continue
        evidence = _evidence_proof(current, _searched_shards(ledger, current), shards)
        proofs[current.run_dag_root] = {
            "event": _event(ledger, current),
            "inclusion": [sibling.hex() for sibling in inclusion_proof(leaves, current.record_id - 1)],
            "run_dag": {"nodes": [node.canonical() for node in _shown_dag(current).nodes]},
            **_key_material(current),
            **evidence,
        }
        waiting += [_ancestor(ledger, current, document["header"]) for document in _promoted(evidence)]
    bundle = canonical_json(
        {
            "format": FORMAT,
            "run_dag_root": record.run_dag_root,
            "records": [proofs[root] for root in sorted(proofs)],
            "checkpoint": note,
            "public_key": key.text(),
        }
    )
    if len(bundle) > LARGEST_BUNDLE:
        raise ProofError(f"the bundle has {len(bundle)} bytes, and none of more than {LARGEST_BUNDLE} is verified")
    return bundle


def _event(ledger: Ledger, record: ProvidenceRecord) -> dict[str, Any]:
    """What the hash of the record's event binds."""
    event = ledger.event(record.record_id)
    return {name: getattr(event, name) for name in ("seq", "type", "payload", "time", "previous_hash")}


def _shown_dag(record: ProvidenceRecord) -> RunDag:
    """The DAG with the payloads that a reader of the bundle may see."""
    payloads = record.dag.payloads()
    missing = [stage for stage in _SHOWN_OF_PRIVATE if stage not in payloads]
    if missing:
        raise ProofError(f"record {record.record_id}: what its stages {', '.join(missing)} held is not kept")
    if record.private_payloads is None:
        return record.dag
    return record.dag.without_payloads().with_payloads({stage: payloads[stage] for stage in _SHOWN_OF_PRIVATE})


def _key_material(record: ProvidenceRecord) -> dict[str, Any]:
    """What a cache key of another kind than the usual is made of, beyond what the DAG commits."""
    keywords = None if record.retrieval_keywords is None else json.loads(record.retrieval_keywords)
    domain = cache_key_domain(record.cache_key, record.dag, keywords)
    if domain is None:
        raise ProofError(f"record {record.record_id}: the keywords in its cache key are not kept")
    if domain == Domain.CACHE_KEY_KEYWORDS:
        return {"retrieval_keywords": keywords}
    plan = keyed_plan_hash(record.dag, keywords)
    if domain == Domain.CACHE_KEY_STRICT and plan not in (None, record.retrieval_plan_hash):
        return {"keyed_plan_hash": plan}
    return {}


def _searched_shards(ledger: Ledger, record: ProvidenceRecord) -> list[tuple[str, str]]:
    """Name and root of the shards that were searched, in the plan's order; none for a run without a known plan."""
    plan = record.dag.payloads().get("retrieval_plan")
    if plan is None and record.retrieval_plan_hash is not None:
        built = ledger.event(record.record_id - _EVENTS_AFTER_PLAN)
        plan = built.value["retrieval_plan"] if built.type == EventType.RETRIEVAL_PLAN_BUILT else None
    return [(shard, root) for shard, root in plan["shard_ids"]] if plan else []


def _evidence_proof(
    record: ProvidenceRecord, searched: Sequence[tuple[str, str]], shards: ShardsAtRoots
) -> dict[str, Any]:
    """The parts `evidence`, `documents` and `shards` of a record's proof."""
    items = record.dag.payloads()["context"]["items"]
    homes: dict[str, tuple[int, ShardReader]] = {}
    for root in sorted({item["document_root"] for item in items}):
        homes[root] = _home_of(root, searched, shards, record)
    snapshot = [leaf_hash(canonical_json(list(item))) for item in searched]
    return {
        "evidence": [_chunk(item, homes[item["document_root"]][1]) for item in items],
        "documents": [_document(root, searched[index][0], reader) for root, (index, reader) in homes.items()],
        "shards": [
            {"shard": searched[index][0], "root": searched[index][1], "path": path_steps(snapshot, index)}
            for index in sorted({index for index, _ in homes.values()})
        ],
    }


def _home_of(
    document_root: str, searched: Sequence[tuple[str, str]], shards: ShardsAtRoots, record: ProvidenceRecord
) -> tuple[int, ShardReader]:
    """Index and reader of the searched shard that holds the document."""
    moved = []
    for index, (shard, root) in enumerate(searched):
        try:
            reader = shards.at(shard, root)
            reader.header(document_root)
        except ProofError as error:
            moved.append(str(error))
        except CorpusError:
            continue
        else:
            return index, reader
    problem = "; ".join(moved) or "no shard that was searched holds it now"
    raise ProofError(f"record {record.record_id}: document {document_root[:16]} cannot be proven: {problem}")


def _chunk(item: Mapping[str, Any], reader: ShardReader) -> dict[str, Any]:
    leaves = reader.leaves(item["document_root"])
    # Equal chunks of a document have equal leaves: whichever is shown, it is this text in this document.
    index = leaves.index(bytes.fromhex(item["leaf_hash"]), 1)
    return {
        "document_root": item["document_root"],
        "role": item["role"],
        "text": reader.chunk_text(item["document_root"], index - 1),
        "path": path_steps(leaves, index),
    }


def _document(document_root: str, shard: str, reader: ShardReader) -> dict[str, Any]:
    roots = reader.document_roots()
    index = roots.index(bytes.fromhex(document_root))
    return {
        "document_root": document_root,
        "header": reader.header(document_root),
        "header_path": path_steps(reader.leaves(document_root), 0),
        "shard": shard,
        "shard_path": path_steps([leaf_hash(root) for root in roots], index),
    }


def _promoted(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [item for item in evidence["documents"] if promoted_cache_key(item["header"]["uri"]) is not None]


def _ancestor(ledger: Ledger, record: ProvidenceRecord, header: Mapping[str, Any]) -> ProvidenceRecord:
    """The record that a promoted document was made of: its key is in the uri, its run DAG root the revision."""
    key = promoted_cache_key(header["uri"]) or ""
    made_of = [
        earlier
        for earlier in ledger.history(key)
        if earlier.run_dag_root == header["source_revision"] and earlier.record_id < record.record_id
    ]
    if not made_of:
        raise ProofError(f"record {record.record_id} leans on {header['uri']}, and no record is that any more")
    return made_of[-1]


def path_steps(leaves: Sequence[bytes], index: int) -> list[str]:
    """The path from a leaf to the root; a step is the side the sibling stands on, L or R, and its hash in hex.

    Sides leave nothing open that the root does not bind, while index and size of an RFC 9162 path could be others
    for the same path.
    """
    steps = []
    node, last = index, len(leaves) - 1
    for sibling in inclusion_proof(leaves, index):
        if node & 1 or node == last:
            steps.append("L" + sibling.hex())
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            steps.append("R" + sibling.hex())
        node, last = node >> 1, last >> 1
    return steps
