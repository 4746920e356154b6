"""The promotions: which records are sources now, which were, and why not any more. They follow from the events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from arborist.providence.audit_events import AuditEvent, EventType, NewEvent
from arborist.providence.ledger import Changes, Ledger

PROMOTION_EVENTS = (EventType.RECORD_PROMOTED, EventType.PROMOTION_RETIRED)
SUPERSEDED = "superseded"
"""The reason of a promotion that gave way to a newer answer to its question."""


@dataclass(frozen=True, slots=True)
class NewPromotion:
    """A record about to become a source. `supersedes` is the root of the document that gives way to it."""

    document_root: str
    cache_key: str
    record_id: int
    run_dag_root: str
    question_hash: str
    conversation_hash: str
    kindergarten_seconds: int
    supersedes: str | None = None

    def event(self) -> NewEvent:
        return NewEvent(EventType.RECORD_PROMOTED, {item.name: getattr(self, item.name) for item in fields(self)})


@dataclass(frozen=True, slots=True)
class Retirement:
    """A promoted document about to go out of use, and why."""

    document_root: str
    cache_key: str
    reason: str

    def event(self) -> NewEvent:
        return NewEvent(
            EventType.PROMOTION_RETIRED, {item.name: getattr(self, item.name) for item in fields(self)}
        )


@dataclass(frozen=True, slots=True)
class Promotion:
    """A row of `promotions`: a document, from its last promotion to its retirement.

    `number` counts documents in the order in which they were first promoted, from 1. `retired_seq` is None while
    the document is in use.
    """

    number: int
    document_root: str
    cache_key: str
    record_id: int
    run_dag_root: str
    question_hash: str
    conversation_hash: str
    promoted_seq: int
    kindergarten_seconds: int
    supersedes: str | None = None
    retired_seq: int | None = None
    retired_reason: str | None = None


_COLUMNS = tuple(item.name for item in fields(Promotion))
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM promotions"
_UPSERT = (
    f"INSERT INTO promotions({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    f"ON CONFLICT(document_root) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name not in ("number", "document_root"))
)
_STANDS = (
    "SELECT 1 FROM providence_records WHERE cache_key = ? AND run_dag_root = ? "
    "AND retired_at IS NULL AND falsification_state = 'live'"
)
_PAGE = 1000


def write_promotions(
    ledger: Ledger, promoted: Sequence[NewPromotion], retired: Sequence[Retirement]
) -> list[NewPromotion]:
    """Append the events and change the table, in one transaction; give back what was promoted.

    A record that has fallen or was retired since it was judged is left out.
    """
    with ledger.changes() as changes:
        standing = [item for item in promoted if changes.execute(_STANDS, (item.cache_key, item.run_dag_root))]
        events = changes.append([*(item.event() for item in standing), *(item.event() for item in retired)])
        for event in events:
            _apply(changes, event)
    return standing


def _apply(changes: Changes, event: AuditEvent) -> None:
    roots = {event.value["document_root"], event.value.get("supersedes")}
    known = {}
    for root in roots - {None}:
        for row in changes.execute(f"{_SELECT} WHERE document_root = ?", (root,)):
            known[root] = Promotion(*row)
    ((last,),) = changes.execute("SELECT coalesce(max(number), 0) FROM promotions")
    for promotion in promotions_changed(known, last, event):
        changes.execute(_UPSERT, [getattr(promotion, name) for name in _COLUMNS])


def promotions_of(events: Iterable[AuditEvent]) -> dict[str, Promotion]:
    """The table as these events make it, by document root.

    Raises KeyError, ValueError or TypeError where an event is not of the right shape.
    """
    known: dict[str, Promotion] = {}
    for event in events:
        for promotion in promotions_changed(known, len(known), event):
            known[promotion.document_root] = promotion
    return known


def promotions_changed(known: Mapping[str, Promotion], last: int, event: AuditEvent) -> Iterator[Promotion]:
    """The rows that an event changes, as they become; `known` are those before, by document root.

    `last` is the highest number so far. Raises as `promotions_of` does.
    """
    value = event.value
    if event.type == EventType.PROMOTION_RETIRED:
        yield replace(known[value["document_root"]], retired_seq=event.seq, retired_reason=value["reason"])
        return
    new = NewPromotion(**value)
    number = known[new.document_root].number if new.document_root in known else last + 1
    yield Promotion(number=number, promoted_seq=event.seq, **value)
    if new.supersedes is not None:
        yield replace(known[new.supersedes], retired_seq=event.seq, retired_reason=SUPERSEDED)


def promotion_of_document(ledger: Ledger, document_root: str) -> Promotion | None:
    """The promotion of that document, in use or not."""
    rows = ledger.rows(f"{_SELECT} WHERE document_root = ?", (document_root,))
    return Promotion(*rows[0]) if rows else None


def promotions_of_record(ledger: Ledger, cache_key: str) -> list[Promotion]:
    """Every promotion of that cache key, in use or not, the first first."""
    return [Promotion(*row) for row in ledger.rows(f"{_SELECT} WHERE cache_key = ? ORDER BY number", (cache_key,))]


def promotions_in_use(ledger: Ledger, first: int = 1, last: int = 2**62) -> Iterator[Promotion]:
    """The promotions in use with these numbers, in order; the ledger may be written to meanwhile."""
    query = f"{_SELECT} WHERE number >= ? AND number <= ? AND retired_seq IS NULL ORDER BY number LIMIT {_PAGE}"
    while rows := ledger.rows(query, (first, last)):
        yield from (Promotion(*row) for row in rows)
        first = rows[-1][0] + 1


def promotion_in_use(ledger: Ledger, question_hash: str, conversation_hash: str) -> Promotion | None:
    """The promoted answer to that question after that conversation."""
    query = f"{_SELECT} WHERE question_hash = ? AND conversation_hash = ? AND retired_seq IS NULL"
    rows = ledger.rows(query, (question_hash, conversation_hash))
    return Promotion(*rows[0]) if rows else None


def count_in_use(ledger: Ledger) -> int:
    """How many promoted documents are in use."""
    return int(ledger.rows("SELECT count(*) FROM promotions WHERE retired_seq IS NULL")[0][0])


def numbers_changed_after(ledger: Ledger, seq: int) -> list[int]:
    """The numbers of the promotions that events after `seq` changed."""
    rows = ledger.rows(
        "SELECT number FROM promotions WHERE promoted_seq > ? UNION "
        "SELECT number FROM promotions WHERE retired_seq IS NOT NULL AND retired_seq > ?",
        (seq, seq),
    )
    return [number for (number,) in rows]
