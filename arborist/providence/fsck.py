"""A walk over everything a ledger holds, listing every fault: events, chain, Merkle log, records, run DAGs.

The walk believes nothing it can recompute. It reads one state of the ledger for what spans it, and may run while
others append.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from arborist.clock import from_iso_time
from arborist.errors import LedgerError
from arborist.home import Home
from arborist.providence.audit_events import GENESIS, AuditEvent, EventType, event_leaf
from arborist.providence.audit_log import roots_at
from arborist.providence.ledger_fault import LedgerFault
from arborist.providence.promotions import PROMOTION_EVENTS, Promotion, promotions_of
from arborist.providence.record import LIVE, Ancestor, ProvidenceRecord, RecordSource
from arborist.providence.record_checks import UNREADABLE, hit_faults, record_faults
from arborist.providence.schema import BOUND_COLUMNS, STATE_COLUMNS, migrate, schema_objects, version_of

RANGE = 3000
"""Events that one process checks at a time."""

_EVENTS_BEFORE = 2
_COLUMNS = ", ".join(BOUND_COLUMNS + STATE_COLUMNS)
_TYPES = frozenset(map(str, EventType))
_MOST_DAMAGE_LINES = 20

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What a walk found: how many events and records it saw, the hashes of the events, and every fault."""

    events: int
    records: int
    event_hashes: tuple[str, ...]
    faults: tuple[LedgerFault, ...]


def fsck(home: Path, processes: int | None = None, progress: Progress | None = None) -> FsckReport:
    """Walk the ledger of `home`; a large one with as many processes as there are processors, or as are given.

    `progress` is told how many events are done and how many there are. Raises LedgerError where the walk cannot be
    made at all: no ledger, another program's file, a newer version.
    """
    path = Home(home).ledger_file
    if not path.is_file():
        raise LedgerError(f"{path}: there is no ledger to check (it is made by the first `arborist ask`)")
    connection = _opened(path)
    try:
        version_of(connection, path)
        return _walk(connection, path, processes or os.cpu_count() or 1, progress or _silent)
    except sqlite3.DatabaseError:
        damage = LedgerFault("file", "SQLite cannot read it whole: it is damaged, or not an SQLite file")
        return FsckReport(0, 0, (), (damage,))
    finally:
        connection.close()


def _silent(done: int, total: int) -> None:
    pass


def _opened(path: Path) -> sqlite3.Connection:
    """For reading; text that is not UTF-8 is read as other text, so that it is found by its digest."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", timeout=30.0, isolation_level=None, uri=True
    )
    connection.text_factory = lambda data: data.decode("utf-8", "backslashreplace")
    return connection


def _walk(connection: sqlite3.Connection, path: Path, processes: int, progress: Progress) -> FsckReport:
    faults = _schema_faults(connection, path)
    if any(fault.place == "table" for fault in faults):
        return FsckReport(0, 0, (), tuple(faults))
    connection.execute("BEGIN")
    hashes = [row[0] for row in connection.execute("SELECT hash FROM audit_events ORDER BY seq")]
    last = connection.execute("SELECT coalesce(max(seq), 0) FROM audit_events").fetchone()[0]
    records = connection.execute("SELECT count(*) FROM providence_records").fetchone()[0]
    faults += _checkpoint_faults(connection, hashes)
    faults += _state_faults(connection)
    faults += _orphan_faults(connection)
    faults += _promotion_faults(connection)
    faults += _damage(connection)
    connection.execute("COMMIT")
    for start_faults in _checked_ranges(path, last, processes, progress):
        faults += start_faults
    return FsckReport(len(hashes), records, tuple(hashes), tuple(sorted(faults, key=_place_order)))


def _place_order(fault: LedgerFault) -> tuple[str, int]:
    name, _, number = fault.place.partition(" ")
    return name, int(number) if number.isdecimal() else 0


def _schema_faults(connection: sqlite3.Connection, path: Path) -> list[LedgerFault]:
    reference = sqlite3.connect(":memory:", isolation_level=None)
    migrate(reference, path)
    wanted, found = schema_objects(reference), schema_objects(connection)
    reference.close()
    tables = {name for name, sql in wanted.items() if sql.startswith("CREATE TABLE")}
    return [
        LedgerFault("table" if name in tables else "schema", f"{name} is missing, or not as it was declared")
        for name in sorted(wanted)
        if found.get(name) != wanted[name]
    ] + [LedgerFault("schema", f"{name} does not belong here") for name in sorted(found.keys() - wanted.keys())]


def _damage(connection: sqlite3.Connection) -> list[LedgerFault]:
    """SQLite's own check of pages, types and indexes."""
    rows = connection.execute(f"PRAGMA integrity_check({_MOST_DAMAGE_LINES})")
    return [LedgerFault("file", f"SQLite's integrity check says: {text}") for (text,) in rows if text != "ok"]


def _checkpoint_faults(connection: sqlite3.Connection, hashes: Sequence[str]) -> list[LedgerFault]:
    """A checkpoint that was signed must be of this log."""
    faults: list[LedgerFault] = []
    signed = dict(_payloads(connection, [EventType.CHECKPOINT_SIGNED], faults))
    try:
        leaves = [event_leaf(digest) for digest in hashes]
        roots = roots_at(leaves, [value["size"] for value in signed.values()])
    except UNREADABLE:
        roots = {}
    for seq, value in signed.items():
        size = value.get("size")
        if not isinstance(size, int) or size >= seq or roots.get(size, b"").hex() != value.get("root"):
            faults.append(
                LedgerFault(f"event {seq}", "the log does not have the root that this checkpoint signed")
            )
    return faults


def _payloads(
    connection: sqlite3.Connection, types: Sequence[EventType], faults: list[LedgerFault]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Seq and payload of the events of these types; what cannot be read is added to `faults`."""
    marks = ", ".join("?" * len(types))
    query = f"SELECT seq, type, payload, time, previous_hash, hash FROM audit_events WHERE type IN ({marks})"
    for row in connection.execute(f"{query} ORDER BY seq", [str(kind) for kind in types]).fetchall():
        event = AuditEvent(*row)
        try:
            yield event.seq, event.value | {"time": event.time, "type": event.type}
        except UNREADABLE:
            faults.append(LedgerFault(f"event {event.seq}", "its payload cannot be read"))


def _state_faults(connection: sqlite3.Connection) -> list[LedgerFault]:
    """The columns that change must be what the events made of them."""
    faults: list[LedgerFault] = []
    wanted: dict[int, tuple[Any, Any]] = {
        row[0]: (LIVE, None)
        for row in connection.execute("SELECT seq FROM audit_events WHERE type = ?", [EventType.ANSWER_RECORDED])
    }
    changes = (
        EventType.RECORD_FALSIFIED,
        EventType.RECORD_REVIVED,
        EventType.RECORD_RETIRED,
        EventType.KINDERGARTEN_BURNED,
    )
    for seq, value in _payloads(connection, changes, faults):
        number = value.get("record_id")
        if number not in wanted:
            faults.append(LedgerFault(f"event {seq}", "it speaks of a record that was never made, or is gone"))
        elif value["type"] == EventType.KINDERGARTEN_BURNED:
            del wanted[number]
        elif value["type"] == EventType.RECORD_RETIRED:
            wanted[number] = (wanted[number][0], value["time"])
        else:
            wanted[number] = (value.get("state"), wanted[number][1])
    rows = connection.execute(
        "SELECT record_id, cache_key, falsification_state, retired_at FROM providence_records"
    )
    return faults + _differing_states(wanted, rows.fetchall())


def _differing_states(
    wanted: dict[int, Any], rows: Iterable[tuple[int, str, str, str | None]]
) -> list[LedgerFault]:
    faults = []
    for number, key, *state in rows:
        if number not in wanted:
            faults.append(LedgerFault(f"record {number}", "no event made this record", key))
        elif wanted.pop(number) != tuple(state):
            problem = "falsification_state or retired_at is not what its events say"
            faults.append(LedgerFault(f"record {number}", problem, key))
    return faults + [LedgerFault(f"record {number}", "it is missing, its event is there") for number in wanted]


def _orphan_faults(connection: sqlite3.Connection) -> list[LedgerFault]:
    return [
        LedgerFault(f"record {row[0]}", f"it has {what}, but there is no such record")
        for table, what in (("record_sources", "sources"), ("record_ancestors", "ancestors"))
        for row in connection.execute(
            f"SELECT DISTINCT record_id FROM {table} "
            "WHERE record_id NOT IN (SELECT record_id FROM providence_records)"
        )
    ]


def _promotion_faults(connection: sqlite3.Connection) -> list[LedgerFault]:
    """The promotions must be what the events made of them."""
    marks = ", ".join("?" * len(PROMOTION_EVENTS))
    query = "SELECT seq, type, payload, time, previous_hash, hash FROM audit_events"
    events = connection.execute(f"{query} WHERE type IN ({marks}) ORDER BY seq", list(map(str, PROMOTION_EVENTS)))
    try:
        wanted = {item.number: item for item in promotions_of(AuditEvent(*row) for row in events).values()}
    except UNREADABLE:
        return [LedgerFault("promotions", "an event of a promotion cannot be read")]
    columns = ", ".join(Promotion.__slots__)
    found = {row[0]: Promotion(*row) for row in connection.execute(f"SELECT {columns} FROM promotions")}
    return [
        LedgerFault(f"promotion {number}", "it is not what its events say")
        for number in sorted(wanted.keys() | found.keys())
        if wanted.get(number) != found.get(number)
    ]


def _checked_ranges(path: Path, last: int, processes: int, progress: Progress) -> Iterator[list[LedgerFault]]:
    """The faults of all ranges of events up to seq `last`, in whatever order they are done."""
    starts = range(1, last + 1, RANGE)
    ranges = [(start, min(start + RANGE, last + 1)) for start in starts]
    if len(ranges) < 2 or processes < 2:
        for start, stop in ranges:
            yield range_faults(path, start, stop)
            progress(stop - 1, last)
        return
    # Not by fork: whoever calls this may have threads.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        pending = {pool.submit(range_faults, path, start, stop): stop - start for start, stop in ranges}
        done = 0
        for future in as_completed(pending):
            yield future.result()
            done += pending[future]
            progress(done, last)


def range_faults(path: Path, start: int, stop: int) -> list[LedgerFault]:
    """The faults of the events from seq `start` up to but not including `stop`, and of the records they made."""
    connection = _opened(path)
    try:
        connection.execute("BEGIN")
        return _range_faults(connection, start, stop)
    except sqlite3.DatabaseError:
        return [LedgerFault(f"event {start}", f"SQLite cannot read the events up to {stop - 1}, or their records")]
    finally:
        connection.close()


def _range_faults(connection: sqlite3.Connection, start: int, stop: int) -> list[LedgerFault]:
    faults: list[LedgerFault] = []
    query = "SELECT seq, type, payload, time, previous_hash, hash FROM audit_events WHERE seq >= ? AND seq < ?"
    first = start - _EVENTS_BEFORE
    before = [AuditEvent(*row) for row in connection.execute(f"{query} ORDER BY seq", (first, start))]
    previous = (before[-1].seq, before[-1].hash) if before else (0, GENESIS)
    for row in connection.execute(f"{query} ORDER BY seq", (start, stop)):
        event = AuditEvent(*row)
        faults += _event_faults(event, previous)
        faults += _run_faults(connection, event, before)
        before = [*before[1 - _EVENTS_BEFORE :], event]
        previous = (event.seq, event.hash)
    if previous[0] != stop - 1:
        faults.append(LedgerFault(f"event {previous[0] + 1}", "it is missing"))
    return faults


def _event_faults(event: AuditEvent, previous: tuple[int, str]) -> list[LedgerFault]:
    where = f"event {event.seq}"
    faults = []
    if event.seq != previous[0] + 1:
        faults.append(LedgerFault(f"event {previous[0] + 1}", "it is missing"))
    if event.previous_hash != previous[1]:
        faults.append(LedgerFault(where, "its previous_hash is not the hash of the event before"))
    if event.recomputed_hash() != event.hash:
        faults.append(LedgerFault(where, "its hash is not that of its content"))
    if event.type not in _TYPES:
        faults.append(LedgerFault(where, f"its type {event.type!r} is not known"))
    if not _is_time(event.time):
        faults.append(LedgerFault(where, "its time is not a time"))
    return faults


@lru_cache(maxsize=4)
def _is_time(text: str) -> bool:
    """Remembered, since the events of a run have one time, and reading it is slow."""
    try:
        from_iso_time(text)
    except ValueError:
        return False
    return True


def _run_faults(
    connection: sqlite3.Connection, event: AuditEvent, before: Sequence[AuditEvent]
) -> list[LedgerFault]:
    if event.type == EventType.ANSWER_RECORDED:
        record = _record(connection, event.seq)
        # A record that is not there is found by `_state_faults`, which knows whether it was burned.
        if record is None:
            return []
        sources, ancestors = _sources(connection, event.seq), _ancestors(connection, event.seq)
        return record_faults(record, sources, ancestors, event, before)
    if event.type == EventType.CACHE_HIT:
        try:
            record = _record(connection, int(event.value["record_id"]))
        except UNREADABLE:
            return [LedgerFault(f"event {event.seq}", "its payload cannot be read")]
        return hit_faults(record, event, before) if record else []
    return []


def _record(connection: sqlite3.Connection, record_id: int) -> ProvidenceRecord | None:
    query = f"SELECT {_COLUMNS} FROM providence_records WHERE record_id = ?"
    row = connection.execute(query, (record_id,)).fetchone()
    return ProvidenceRecord(*row) if row else None


def _sources(connection: sqlite3.Connection, record_id: int) -> list[RecordSource]:
    query = "SELECT document_root, uri, role FROM record_sources WHERE record_id = ?"
    return [RecordSource(*row) for row in connection.execute(query, (record_id,))]


def _ancestors(connection: sqlite3.Connection, record_id: int) -> list[Ancestor]:
    query = "SELECT document_root, cache_key FROM record_ancestors WHERE record_id = ? ORDER BY document_root"
    return [Ancestor(*row) for row in connection.execute(query, (record_id,))]
