"""Where the last promotion pass stood, and what there is to do since."""

from collections.abc import Iterator
from dataclasses import dataclass

from arborist.policy import Policy
from arborist.providence.audit_events import EventType
from arborist.providence.gates import CANDIDATE_COLUMNS, Candidate, Cooling, cooling
from arborist.providence.ledger import Ledger

FALLING_EVENTS = (
    EventType.RECORD_FALSIFIED,
    EventType.RECORD_REVIVED,
    EventType.RECORD_RETIRED,
    EventType.KINDERGARTEN_BURNED,
)
"""Events after which a promoted answer may have to go, or may come back."""

# The condition of the index `records_promotable`: what could become a source once it has cooled.
PROMOTABLE = "audit_mode = 'STRICT' AND falsification_state = 'live' AND retired_at IS NULL"
_NEWLY_COOLED = (
    f"FROM providence_records INDEXED BY records_promotable WHERE {PROMOTABLE} "
    "AND record_id > ? AND record_id <= ? AND created_at <= ?"
)
# Records that were dated in the future when the ledger around them had cooled already.
_LATE = (
    f"FROM providence_records INDEXED BY records_by_created_at WHERE {PROMOTABLE} "
    "AND created_at > ? AND created_at <= ? AND record_id <= ?"
)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class PassMark:
    """What the last pass knew: the events up to `head`, how far the ledger had cooled, and its gate setting.

    `published` is the event up to which the shards hold what was promoted, the pass's own among them. `cooled` and
    `cutoff` are those of `Cooling`, `gates` is `GatePolicy.digest()`. The mark of no pass at all, which
    `PassMark()` is, has everything before it.
    """

    head: int = 0
    published: int = 0
    cooled: int = 0
    cutoff: str = ""
    gates: str = ""

    @classmethod
    def last(cls, ledger: Ledger) -> "PassMark":
        """The mark in the log."""
        rows = ledger.rows(
            "SELECT seq FROM audit_events WHERE type = ? ORDER BY seq DESC LIMIT 1",
            (EventType.PROMOTIONS_RECONCILED,),
        )
        if not rows:
            return cls()
        value = ledger.event(rows[0][0]).value
        return cls(**{name: value[name] for name in cls.__slots__})

    def matured(self, ledger: Ledger, cooled: Cooling) -> Iterator[Candidate]:
        """The records that could be promoted and have cooled since; the ledger may be written to meanwhile."""
        after = self.cooled
        query = f"SELECT {CANDIDATE_COLUMNS} {_NEWLY_COOLED} ORDER BY record_id LIMIT {_PAGE}"
        while rows := ledger.rows(query, (after, cooled.seq, cooled.cutoff)):
            yield from (Candidate(*row) for row in rows)
            after = rows[-1][0]
        late = ledger.rows(f"SELECT {CANDIDATE_COLUMNS} {_LATE}", (self.cutoff, cooled.cutoff, self.cooled))
        yield from (Candidate(*row) for row in late)

    def last_matured(self, ledger: Ledger, cooled: Cooling) -> str | None:
        """When the last of these records was made, as ISO time; None where there is none."""
        newest = f"SELECT created_at {_NEWLY_COOLED} ORDER BY record_id DESC LIMIT 1"
        late = f"SELECT max(created_at) {_LATE}"
        rows = ledger.rows(newest, (self.cooled, cooled.seq, cooled.cutoff))
        rows += ledger.rows(late, (self.cutoff, cooled.cutoff, self.cooled))
        return max((moment for (moment,) in rows if moment is not None), default=None)

    def fallen(self, ledger: Ledger) -> list[tuple[int, str]]:
        """Seq and cache key of every event since, after which a promoted answer may have to go or come back."""
        events = ledger.events(self.head + 1, types=FALLING_EVENTS)
        return [(event.seq, event.value["cache_key"]) for event in events]


@dataclass(frozen=True, slots=True)
class PromotionDue:
    """What a pass would have to look at now.

    `head` is the hash of the last event. `matured_at` is when the last record that has cooled since the last
    pass was made (ISO time), `fallen` the seq of the last event after which a promotion may have to go; None for
    nothing.
    """

    head: str
    matured_at: str | None
    fallen: int | None


def promotion_due(ledger: Ledger, policy: Policy, now: float) -> PromotionDue:
    """What there is to do at `now` (seconds since the epoch); it costs as much as there is new."""
    mark = PassMark.last(ledger)
    cooled = cooling(ledger, now, policy.promotion.kindergarten_seconds)
    fallen = mark.fallen(ledger)
    return PromotionDue(ledger.head()[1], mark.last_matured(ledger, cooled), fallen[-1][0] if fallen else None)
