"""The kindergarten: records that never matured, and taking them out of the working set (`self-providence.md`)."""

from dataclasses import dataclass

from arborist.clock import iso_time
from arborist.errors import InputError
from arborist.providence.ledger import Ledger

DEFAULT_AGE_SECONDS = 30 * 24 * 3600
REASON = "never matured"

# A falsified record stays: burnt, it would answer again as if nothing had been said against it.
_IMMATURE = (
    "SELECT record_id, cache_key, created_at, question, audit_mode FROM providence_records "
    "WHERE created_at < ? AND audit_mode <> 'STRICT' AND falsification_state = 'live' "
    "AND cache_key NOT IN (SELECT cache_key FROM record_ancestors) "
    "AND cache_key NOT IN (SELECT cache_key FROM promotions) ORDER BY record_id"
)


@dataclass(frozen=True, slots=True)
class ImmatureRecord:
    """A record that is not STRICT, was never cited and never promoted, and is older than it may get."""

    record_id: int
    cache_key: str
    created_at: str
    question: str
    audit_mode: str


def immature_records(ledger: Ledger, now: float, older_than: int) -> list[ImmatureRecord]:
    """The records that never matured and are more than `older_than` seconds old at `now`, the oldest first.

    Raises InputError for an age below zero.
    """
    if older_than < 0:
        raise InputError(f"an age of {older_than} seconds: it must be 0 or more")
    return [ImmatureRecord(*row) for row in ledger.rows(_IMMATURE, (iso_time(now - older_than),))]


def burn_kindergarten(ledger: Ledger, now: float, older_than: int) -> list[ImmatureRecord]:
    """Delete the records that never matured, and give them back; the log keeps their digests."""
    burnt = immature_records(ledger, now, older_than)
    for item in burnt:
        if ledger.record_numbered(item.record_id).retired_at is None:
            ledger.retire(item.cache_key, REASON)
        ledger.burn(item.record_id, REASON)
    return burnt
