"""A ledger of very many records, filled without running a question for each of them."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from arborist.answering.run_dag import RunDag
from arborist.clock import from_iso_time, iso_time
from arborist.hashing import hash_bytes
from arborist.providence.audit_events import AuditEvent, EventType, NewEvent
from arborist.providence.ledger import Ledger
from arborist.providence.record import ProvidenceRecord
from arborist.providence.schema import BOUND_COLUMNS

_BATCH = 20_000
_INSERT_RECORD = (
    f"INSERT INTO providence_records({', '.join(BOUND_COLUMNS)}) VALUES ({', '.join('?' * len(BOUND_COLUMNS))})"
)


def fill(ledger: Ledger, template: ProvidenceRecord, count: int, seconds_apart: float = 0.001) -> None:
    """Append `count` records like `template`, each with an event and a question of its own, from its time on.

    Columns, sources and the chain of events are in order; of the run DAG only the context is there, which is what
    a promoted answer is made from.
    """
    context = RunDag((template.dag.node("context"),)).blob()
    sources = ledger.sources(template.record_id)
    start = from_iso_time(template.created_at)
    numbered = iter(range(count))
    while numbers := list(islice(numbered, _BATCH)):
        rows = []
        with ledger.changes() as changes:
            connection = changes.connection
            (last,) = connection.execute("SELECT seq, hash FROM audit_events ORDER BY seq DESC LIMIT 1").fetchall()
            events = list(_events(last, numbers, start, seconds_apart))
            for number, event in zip(numbers, events, strict=True):
                rows.append(_row(template, number, event, context))
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


def _events(
    previous: tuple[int, str], numbers: list[int], start: float, seconds_apart: float
) -> Iterator[AuditEvent]:
    for number in numbers:
        time = iso_time(start + number * seconds_apart)
        event = AuditEvent.following(previous, NewEvent(EventType.ANSWER_RECORDED, {"number": number}), time)
        previous = event.seq, event.hash
        yield event


def _row(template: ProvidenceRecord, number: int, event: AuditEvent, context: bytes) -> tuple[Any, ...]:
    question = f"{template.question} And in case {number}?"
    values = {name: getattr(template, name) for name in BOUND_COLUMNS} | {
        "record_id": event.seq,
        "cache_key": hash_bytes(f"key {number}".encode()),
        "created_at": event.time,
        "question": question,
        "question_hash": hash_bytes(question.encode()),
        "run_dag_root": hash_bytes(f"root {number}".encode()),
        "run_dag": context,
        "private_payloads": None,
    }
    return tuple(values.values())
