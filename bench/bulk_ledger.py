"""A ledger of very many records, filled without running a question for each of them."""

from collections.abc import Iterator
from typing import Any

from arborist.answering.run_dag import RunDag
from arborist.clock import from_iso_time, iso_time
from arborist.hashing import hash_bytes
from arborist.providence.audit_events import AuditEvent, EventType, NewEvent
from arborist.providence.ledger import Ledger
from arborist.providence.record import ProvidenceRecord
from arborist.providence.schema import BOUND_COLUMNS

_BATCH = 20_000
# Keys are random, so that their indexes must stay in memory while they grow.
_CACHE_KIBIBYTES = -2_000_000
_INSERT_RECORD = (
    f"INSERT INTO providence_records({', '.join(BOUND_COLUMNS)}) VALUES ({', '.join('?' * len(BOUND_COLUMNS))})"
)


def fill(
    ledger: Ledger,
    template: ProvidenceRecord,
    numbers: range,
    seconds_apart: float = 0.001,
    one_strict_in: int = 1,
) -> None:
    """Append a record like `template` for each number, with an event and a question of its own.

    Record `n` is made `n` times `seconds_apart` after the template; all but one in `one_strict_in` are HYBRID.

    Columns, sources and the chain of events are in order; of the run DAG only the context is there, which is what
    a promoted answer is made from.
    """
    context = RunDag((template.dag.node("context"),)).blob()
    sources = ledger.sources(template.record_id)
    start = from_iso_time(template.created_at)
    for first in range(numbers.start, numbers.stop, _BATCH):
        batch = range(first, min(first + _BATCH, numbers.stop))
        with ledger.changes() as changes:
            connection = changes.connection
            connection.execute(f"PRAGMA cache_size = {_CACHE_KIBIBYTES}")
            (last,) = connection.execute("SELECT seq, hash FROM audit_events ORDER BY seq DESC LIMIT 1").fetchall()
            events = list(_events(last, batch, start, seconds_apart))
            rows = [
                _row(template, number, event, context, one_strict_in)
                for number, event in zip(batch, events, strict=True)
            ]
            marks = ", ".join("?" * 6)
            connection.executemany(
                f"INSERT INTO audit_events VALUES ({marks})",
                [(e.seq, e.type, e.payload, e.time, e.previous_hash, e.hash) for e in events],
            )
            connection.executemany(_INSERT_RECORD, rows)
            connection.executemany(
                "INSERT INTO record_sources(record_id, document_root, uri, role) VALUES (?, ?, ?, ?)",
                [(event.seq, item.document_root, item.uri, item.role) for event in events for item in sources],
            )


def _events(previous: tuple[int, str], numbers: range, start: float, seconds_apart: float) -> Iterator[AuditEvent]:
    for number in numbers:
        time = iso_time(start + number * seconds_apart)
        event = AuditEvent.following(previous, NewEvent(EventType.ANSWER_RECORDED, {"number": number}), time)
        previous = event.seq, event.hash
        yield event


def _row(
    template: ProvidenceRecord, number: int, event: AuditEvent, context: bytes, one_strict_in: int
) -> tuple[Any, ...]:
    question = f"{template.question} And in case {number}?"
    values = {name: getattr(template, name) for name in BOUND_COLUMNS} | {
        "record_id": event.seq,
        "cache_key": hash_bytes(f"key {number}".encode()),
        "created_at": event.time,
        "question": question,
        "audit_mode": "HYBRID" if number % one_strict_in else "STRICT",
        "question_hash": hash_bytes(question.encode()),
        "run_dag_root": hash_bytes(f"root {number}".encode()),
        "run_dag": context,
        "private_payloads": None,
    }
    return tuple(values.values())
