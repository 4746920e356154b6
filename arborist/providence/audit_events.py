"""Audit events: what happened to the ledger, in order, each bound to the one before (`provenance.md`, Records)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arborist.answering.run_dag import RunDag
from arborist.hashing import Domain, canonical_json, hash_json
from arborist.merkle import leaf_hash

GENESIS = "0" * 64
"""`previous_hash` of the first event."""


class EventType(StrEnum):
    """Everything that can happen to a ledger."""

    RETRIEVAL_PLAN_BUILT = "retrieval_plan_built"
    RETRIEVAL_RESULT_SELECTED = "retrieval_result_selected"
    ANSWER_RECORDED = "answer_recorded"
    CACHE_HIT = "cache_hit_with_retrieval_plan"
    RECORD_FALSIFIED = "record_falsified"
    RECORD_REVIVED = "record_revived"
    RECORD_PROMOTED = "record_promoted"
    RECORD_RETIRED = "record_retired"
    PROMOTION_RETIRED = "promotion_retired"
    PROMOTIONS_RECONCILED = "promotions_reconciled"
    CHECKPOINT_SIGNED = "checkpoint_signed"
    KINDERGARTEN_BURNED = "kindergarten_burned"
    SHARD_EVICTED = "shard_evicted"
    SHARD_REHYDRATED = "shard_rehydrated"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that is about to be appended. `payload` holds JSON values."""

    type: EventType
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event as it is stored. `payload` is canonical JSON text and is hashed as that text, byte for byte."""

    seq: int
    type: str
    payload: str
    time: str
    previous_hash: str
    hash: str

    @classmethod
    def following(cls, previous: tuple[int, str], new: NewEvent, time: str) -> "AuditEvent":
        """The event that follows the one with that seq and hash; `(0, GENESIS)` before the first.

        Raises InputError where the payload is not representable as canonical JSON.
        """
        seq, previous_hash = previous[0] + 1, previous[1]
        payload = canonical_json(dict(new.payload)).decode("utf-8")
        digest = event_hash(seq, new.type, payload, time, previous_hash)
        return cls(seq, str(new.type), payload, time, previous_hash, digest)

    @property
    def value(self) -> dict[str, Any]:
        """The payload as JSON values. Raises ValueError where the stored text is not a JSON object."""
        value = json.loads(self.payload)
        if not isinstance(value, dict):
            raise ValueError("the payload is not a JSON object")
        return value

    def recomputed_hash(self) -> str:
        return event_hash(self.seq, self.type, self.payload, self.time, self.previous_hash)

    def to_json(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "type": self.type,
            "payload": self.value,
            "time": self.time,
            "previous_hash": self.previous_hash,
            "hash": self.hash,
        }


def event_hash(seq: int, kind: str, payload: str, time: str, previous_hash: str) -> str:
    """Identity of an event; `payload` is its canonical JSON text."""
    bound = {
        "seq": seq,
        "type": str(kind),
        "payload": payload,
        "time": time,
        "previous_hash": previous_hash,
    }
    return hash_json(Domain.AUDIT_EVENT, bound)


def event_leaf(digest: str) -> bytes:
    """The event's leaf in the Merkle log: the leaf hash of the 32 bytes of its own hash.

    Raises ValueError for what is not hex.
    """
    return leaf_hash(bytes.fromhex(digest))


def retrieval_events(dag: RunDag, keywords: tuple[str, ...] | None) -> tuple[NewEvent, ...]:
    """`retrieval_plan_built` and `retrieval_result_selected` of a run (Appendix A.4.3 of the audit-gap seed).

    `dag` has its payloads; `keywords` are those that may be written down, None where a policy keeps them out, and
    then the plan is written down without them. A run without a known plan has only the second event.
    """
    result = dag.node("retrieval_result")
    selected = NewEvent(
        EventType.RETRIEVAL_RESULT_SELECTED,
        {
            "retrieval_plan_hash": dag.commitment("retrieval_plan_hash"),
            "sources_summary_hash": dag.commitment("sources_summary_hash"),
            "context_root": dag.commitment("context_root"),
            "source_count": len(result.payload["sources_summary"]),
        },
    )
    if dag.commitment("retrieval_plan_hash") is None:
        return (selected,)
    plan = dag.node("retrieval_plan").payload
    payload = {
        name: plan[name]
        for name in ("question_hash", "retrieval_mode", "top_k", "over_fetch", "max_context_chars")
    }
    payload["retrieval_plan_hash"] = dag.commitment("retrieval_plan_hash")
    payload["retrieval_plan"] = {name: plan[name] for name in plan if name != "retrieval_keywords"}
    if keywords is not None:
        payload |= {"retrieval_keywords": list(keywords), "retrieval_plan": plan}
    return (NewEvent(EventType.RETRIEVAL_PLAN_BUILT, payload), selected)
