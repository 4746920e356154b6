"""Falsification: taking a record's word back, and what leans on it (`self-providence.md`, Reading)."""

from dataclasses import dataclass
from typing import Any

from arborist.errors import InputError
from arborist.providence.ledger import Ledger
from arborist.providence.lineage import LeaningRecord, blast_radius
from arborist.providence.record import FALSIFICATION_STATES, LIVE, ProvidenceRecord

FALLEN_STATES = tuple(state for state in FALSIFICATION_STATES if state != LIVE)


@dataclass(frozen=True, slots=True)
class Falsification:
    """A record in its new state, and every record that leans on it, directly or not."""

    record: ProvidenceRecord
    blast_radius: tuple[LeaningRecord, ...]

    def to_json(self) -> dict[str, Any]:
        leaning = [{name: getattr(item, name) for name in item.__slots__} for item in self.blast_radius]
        return {
            "cache_key": self.record.cache_key,
            "question": self.record.question,
            "falsification_state": self.record.falsification_state,
            "blast_radius": leaning,
        }


def falsify(ledger: Ledger, cache_key: str, state: str, reason: str) -> Falsification:
    """Give the record of that key a state that is not live; what leans on it is refused from now on.

    Raises InputError for a state that is none of those, or without a reason; LedgerError where there is no record.
    """
    if state not in FALLEN_STATES:
        raise InputError(f"{state!r} does not falsify a record (one of {', '.join(FALLEN_STATES)})")
    return _changed(ledger, cache_key, state, reason)


def revive(ledger: Ledger, cache_key: str, reason: str) -> Falsification:
    """Make a falsified record live again. Raises as `falsify` does, and InputError for a record that is live."""
    record = ledger.record(cache_key)
    if record is not None and record.falsification_state == LIVE:
        raise InputError(f"the record {cache_key[:16]} is live: there is nothing to revive")
    return _changed(ledger, cache_key, LIVE, reason)


def _changed(ledger: Ledger, cache_key: str, state: str, reason: str) -> Falsification:
    if not reason.strip():
        raise InputError("a reason is needed: it is what the log will say of this")
    record = ledger.set_state(cache_key, state, reason.strip())
    return Falsification(record, tuple(blast_radius(ledger, cache_key)))
