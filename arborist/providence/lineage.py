"""What a record leans on through promoted answers, and whether it still stands (`self-providence.md`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from arborist.answering.model import STRICT
from arborist.policy import SELF_REFERENCE
from arborist.providence.audit_events import EventType
from arborist.providence.ledger import Ledger
from arborist.providence.promotions import Promotion, promotion_of_document
from arborist.providence.record import LIVE, ProvidenceRecord
from arborist.retrieval.context import Evidence

SHOWN_DIGITS = 16

# CROSS JOIN keeps SQLite to this order: from the ancestors, by their index, to the records.
_BLAST_RADIUS = """
WITH RECURSIVE leaning(record_id, cache_key, question, audit_mode, retired_at) AS (
    SELECT r.record_id, r.cache_key, r.question, r.audit_mode, r.retired_at
    FROM record_ancestors AS a CROSS JOIN providence_records AS r USING (record_id)
    WHERE a.cache_key = ?
    UNION
    SELECT r.record_id, r.cache_key, r.question, r.audit_mode, r.retired_at
    FROM leaning CROSS JOIN record_ancestors AS a ON a.cache_key = leaning.cache_key
    CROSS JOIN providence_records AS r ON r.record_id = a.record_id
)
SELECT cache_key, question, audit_mode, cache_key IN (SELECT cache_key FROM promotions WHERE retired_seq IS NULL)
FROM leaning WHERE retired_at IS NULL AND cache_key <> ? ORDER BY cache_key
"""


@dataclass(frozen=True, slots=True)
class LeaningRecord:
    """A record that cites a promoted answer, directly or through others. `promoted`: it is a source itself."""

    cache_key: str
    question: str
    audit_mode: str
    promoted: bool


def refused_roots(ledger: Ledger, evidence: Iterable[Evidence], as_of: int | None = None) -> dict[str, str]:
    """The documents of promoted answers that no claim may rest on at this moment, each with the reason.

    With `as_of`, at the moment of that event, as it is asked when a run is replayed.
    """
    standing = _StandingNow(ledger) if as_of is None else _StandingThen.at(ledger, as_of)
    roots = {item.document_root for item in evidence if item.role == SELF_REFERENCE}
    reasons = {root: _first_refusal(ledger, [root], standing) for root in sorted(roots)}
    return {root: reason for root, reason in reasons.items() if reason}


def refusal_of_document(ledger: Ledger, document_root: str) -> str:
    """Why a promoted document may not be rested on now; empty where its record and every ancestor stand."""
    return _first_refusal(ledger, [document_root], _StandingNow(ledger))


def refusal_of_record(ledger: Ledger, record: ProvidenceRecord) -> str:
    """Why a record may not be served for what it was; empty where it is live and so is every ancestor.

    The trust of an answer is the lowest in its lineage: an ancestor that is anything but live, STRICT and in use
    refuses all that leans on it.
    """
    if record.falsification_state != LIVE:
        return f"this record is {record.falsification_state}"
    return refusal_of_ancestors(ledger, record.record_id)


def refusal_of_ancestors(ledger: Ledger, record_id: int) -> str:
    """Why what a record leans on does not stand; empty where all of it does, or where it leans on nothing."""
    return _first_refusal(ledger, _cited_documents(ledger, record_id), _StandingNow(ledger))


@dataclass(frozen=True, slots=True)
class _Standing:
    """A record in use: its number, its falsification state and its verdict."""

    record_id: int
    state: str
    mode: str


class _Moment(Protocol):
    """When the ledger is asked what stands."""

    def of(self, promotion: Promotion) -> _Standing | None:
        """The record in use that the promotion is of; the run, not the key alone, since asked anew the same key
        may stand for another answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class _StandingNow:
    ledger: Ledger

    def of(self, promotion: Promotion) -> _Standing | None:
        rows = self.ledger.rows(
            "SELECT record_id, falsification_state, audit_mode FROM providence_records "
            "WHERE cache_key = ? AND run_dag_root = ? AND retired_at IS NULL",
            (promotion.cache_key, promotion.run_dag_root),
        )
        return _Standing(*rows[0]) if rows else None


@dataclass(frozen=True, slots=True)
class _StandingThen:
    """As it was after event `seq`; `states` and `retired` are what the events up to it made of records."""

    ledger: Ledger
    seq: int
    states: Mapping[int, str]
    retired: frozenset[int]

    @classmethod
    def at(cls, ledger: Ledger, seq: int) -> "_StandingThen":
        states: dict[int, str] = {}
        retired = set()
        kinds = (EventType.RECORD_FALSIFIED, EventType.RECORD_REVIVED, EventType.RECORD_RETIRED)
        for event in ledger.events(stop=seq + 1, types=kinds):
            value = event.value
            if event.type == EventType.RECORD_RETIRED:
                retired.add(value["record_id"])
            else:
                states[value["record_id"]] = value["state"]
        return cls(ledger, seq, states, frozenset(retired))

    def of(self, promotion: Promotion) -> _Standing | None:
        rows = self.ledger.rows(
            "SELECT record_id, audit_mode FROM providence_records "
            "WHERE cache_key = ? AND run_dag_root = ? AND record_id <= ? ORDER BY record_id DESC",
            (promotion.cache_key, promotion.run_dag_root, self.seq),
        )
        for record_id, mode in rows:
            if record_id not in self.retired:
                return _Standing(record_id, self.states.get(record_id, LIVE), mode)
        return None


def _first_refusal(ledger: Ledger, document_roots: Iterable[str], moment: _Moment) -> str:
    waiting, seen = list(document_roots), set(document_roots)
    while waiting:
        root = waiting.pop()
        promotion = promotion_of_document(ledger, root)
        if promotion is None:
            return f"no record of this ledger stands behind the promoted document {root[:SHOWN_DIGITS]}"
        record = moment.of(promotion)
        told = _refusal(promotion.cache_key[:SHOWN_DIGITS], record)
        if told or record is None:
            return told
        cited = set(_cited_documents(ledger, record.record_id)) - seen
        waiting += sorted(cited)
        seen |= cited
    return ""


def _refusal(key: str, record: _Standing | None) -> str:
    if record is None:
        return f"the record {key} that it leans on was retired"
    if record.state != LIVE:
        return f"the record {key} that it leans on is {record.state}"
    return "" if record.mode == STRICT else f"the record {key} that it leans on is {record.mode}"


def _cited_documents(ledger: Ledger, record_id: int) -> list[str]:
    rows = ledger.rows("SELECT document_root FROM record_ancestors WHERE record_id = ?", (record_id,))
    return [root for (root,) in rows]


def blast_radius(ledger: Ledger, cache_key: str) -> list[LeaningRecord]:
    """Every record in use that leans on the promoted answer of that key, directly or not, in order of key."""
    rows = ledger.rows(_BLAST_RADIUS, (cache_key, cache_key))
    return [LeaningRecord(key, question, mode, bool(promoted)) for key, question, mode, promoted in rows]
