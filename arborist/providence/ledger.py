"""The ledger: records and audit events in one append-only SQLite file, safe for several processes at once."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import Any

from arborist.answering.run_dag import RUN_STAGES, RunDag
from arborist.clock import Clock, iso_time
from arborist.errors import InputError, LedgerError, RecordInUseError
from arborist.home import Home
from arborist.providence.audit_events import GENESIS, AuditEvent, EventType, NewEvent, retrieval_events
from arborist.providence.record import (
    FALSIFICATION_STATES,
    LIVE,
    NewRecord,
    ProvidenceRecord,
    RecordSource,
)
from arborist.providence.schema import BOUND_COLUMNS, STATE_COLUMNS, migrate, version_of

BUSY_SECONDS = 30.0
RETRY_SECONDS = 0.02
SHORTEST_PREFIX = 8
_PAGE = 500

_COLUMNS = ", ".join(BOUND_COLUMNS + STATE_COLUMNS)
_HAS_KEYWORD = (
    "retrieval_keywords <> '[]' AND EXISTS (SELECT 1 FROM json_each(retrieval_keywords) WHERE value = ?)"
)
_INSERT_RECORD = (
    f"INSERT INTO providence_records({', '.join(BOUND_COLUMNS)}) VALUES ({', '.join('?' * len(BOUND_COLUMNS))})"
)
_INSERT_EVENT = "INSERT INTO audit_events(seq, type, payload, time, previous_hash, hash) VALUES (?, ?, ?, ?, ?, ?)"
_WRITTEN_WITH_A_RECORD = frozenset(
    {
        EventType.ANSWER_RECORDED,
        EventType.RECORD_FALSIFIED,
        EventType.RECORD_REVIVED,
        EventType.RECORD_RETIRED,
        EventType.RECORD_PROMOTED,
        EventType.PROMOTION_RETIRED,
        EventType.KINDERGARTEN_BURNED,
    }
)


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are wanted; what is left None does not matter.

    `stale_ranking_policy` is the hash of today's ranking policy: wanted are records of another one. `with_retired`
    takes in records that were retired.
    """

    keyword: str | None = None
    audit_mode: str | None = None
    retrieval_mode: str | None = None
    plan: str | None = None
    stale_ranking_policy: str | None = None
    state: str | None = None
    with_retired: bool = False

    def where(self) -> tuple[str, list[str]]:
        """The condition in SQL, and its parameters."""
        conditions = {
            _HAS_KEYWORD: self.keyword,
            "audit_mode = ?": self.audit_mode,
            "retrieval_mode = ?": self.retrieval_mode,
            "retrieval_plan_hash = ?": self.plan,
            "ranking_policy_hash <> ?": self.stale_ranking_policy,
            "falsification_state = ?": self.state,
        }
        wanted = {condition: value for condition, value in conditions.items() if value is not None}
        clauses = [*wanted, *([] if self.with_retired else ["retired_at IS NULL"])]
        return " AND ".join(clauses) or "1", list(wanted.values())


@dataclass(frozen=True, slots=True)
class Changes:
    """A transaction under way: `append` adds events, `execute` changes what follows from them."""

    append: Callable[[Sequence[NewEvent]], list[AuditEvent]]
    connection: sqlite3.Connection

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, parameters).fetchall()


class Ledger:
    """An open ledger. Use it as a context manager, in one thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path, clock: Clock) -> None:
        self._connection = connection
        self.path = path
        self._clock = clock

    @classmethod
    def open(cls, home: Path, clock: Clock) -> "Ledger":
        """The ledger of `home`, made on first use.

        Raises LedgerError where the file cannot be opened, is not a ledger, or is of a newer version.
        """
        path = Home(home).ledger_file
        with _told_plainly(path):
            home.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                version_of(connection, path)
                _set_durable(connection)
                migrate(connection, path)
            except BaseException:
                connection.close()
                raise
        return cls(connection, path, clock)

    @classmethod
    def open_readonly(cls, home: Path, clock: Clock) -> "Ledger":
        """The ledger of `home` for reading. Raises LedgerError as `open` does, and where there is none."""
        path = Home(home).ledger_file
        if not path.is_file():
            raise LedgerError(f"{path}: there is no ledger yet (it is made by the first `arborist ask`)")
        with _told_plainly(path):
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY_SECONDS, isolation_level=None, uri=True
            )
            try:
                if version_of(connection, path) == 0:
                    raise LedgerError(f"{path}: the file is empty (it is made whole by the first `arborist ask`)")
            except BaseException:
                connection.close()
                raise
        return cls(connection, path, clock)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append_record(self, new: NewRecord) -> ProvidenceRecord:
        """Record a run together with its events, in one transaction, durable when this returns.

        The events are `retrieval_plan_built`, `retrieval_result_selected` and `answer_recorded`. Raises
        LedgerError where an unretired record has that cache key: another process was first, and this run is a hit.
        """
        return self.append_records([new])[0]

    def append_records(self, new: Iterable[NewRecord]) -> list[ProvidenceRecord]:
        """Record several runs in one transaction: all of them or none."""
        with self._transaction():
            return [self._append_record(item) for item in new]

    def replace_record(self, new: NewRecord, reason: str) -> ProvidenceRecord:
        """Retire the record in use under that key, if there is one, and record the run, in one transaction.

        Raises LedgerError where the one in use has fallen: another must not stand in for it unsaid.
        """
        with self._transaction():
            old = self.record(new.cache_key)
            if old is not None:
                refuse_fallen(old)
                self._retire(old, reason)
            return self._append_record(new)

    def append_hit(self, record: ProvidenceRecord, dag: RunDag, keywords: Sequence[str] | None) -> AuditEvent:
        """Note that a run was answered from `record`; `dag` is the run's own, made by `run_dag_on_hit`.

        The events are `retrieval_plan_built`, `retrieval_result_selected` and `cache_hit_with_retrieval_plan`; the
        last is returned. It keeps the run's own nodes without payloads, so that its root can be recomputed.
        `keywords` are those that may be written down, None where the policy keeps them out.
        """
        bare = dag.without_payloads()
        payload: dict[str, Any] = {
            "cache_key": record.cache_key,
            "record_id": record.record_id,
            "run_dag_root": dag.root,
            "record_run_dag_root": record.run_dag_root,
            "retrieval_plan_hash": dag.commitment("retrieval_plan_hash"),
            "nodes": [node.canonical() for node in bare.nodes if node.stage in RUN_STAGES],
        }
        hit = NewEvent(EventType.CACHE_HIT, payload)
        kept = None if keywords is None else tuple(keywords)
        with self._transaction():
            return self._append_events([*retrieval_events(dag, kept), hit])[-1]

    def append_event(self, new: NewEvent) -> AuditEvent:
        """Append one event that changes no record.

        Raises LedgerError for a type that is only written together with a record: `append_record`, `retire`,
        `set_state` and `burn` write those.
        """
        if new.type in _WRITTEN_WITH_A_RECORD:
            raise LedgerError(f"{new.type}: this event is written together with what it says of a record")
        with self._transaction():
            return self._append_events([new])[0]

    def retire(self, cache_key: str, reason: str) -> ProvidenceRecord:
        """Take the record of that key out of use; it stays readable. Raises LedgerError where there is none."""
        with self._transaction():
            record = self._unretired(cache_key)
            self._retire(record, reason)
            return self.record_numbered(record.record_id)

    def set_state(self, cache_key: str, state: str, reason: str) -> ProvidenceRecord:
        """Give the record of that key another falsification state, and return it.

        The event is `record_revived` for `live`, else `record_falsified`; a record in that state already is
        left alone. Raises LedgerError where there is no such record, InputError for a state that does not exist.
        """
        if state not in FALSIFICATION_STATES:
            raise InputError(f"{state!r} is not a falsification state (one of {', '.join(FALSIFICATION_STATES)})")
        kind = EventType.RECORD_REVIVED if state == LIVE else EventType.RECORD_FALSIFIED
        with self._transaction():
            record = self._unretired(cache_key)
            if record.falsification_state == state:
                return record
            payload = {"cache_key": cache_key, "record_id": record.record_id, "state": state, "reason": reason}
            self._append_events([NewEvent(kind, payload)])
            self._connection.execute(
                "UPDATE providence_records SET falsification_state = ? WHERE record_id = ?",
                (state, record.record_id),
            )
            return self.record_numbered(record.record_id)

    def burn(self, record_id: int, reason: str) -> AuditEvent:
        """Delete a retired record; the log keeps its digests. Raises LedgerError where it is in use or missing."""
        with self._transaction():
            record = self.record_numbered(record_id)
            if record.retired_at is None:
                raise LedgerError(f"record {record_id} is in use: retire it first")
            payload = {"cache_key": record.cache_key, "record_id": record_id, "reason": reason}
            event = self._append_events([NewEvent(EventType.KINDERGARTEN_BURNED, payload)])[0]
            self._connection.execute("DELETE FROM providence_records WHERE record_id = ?", (record_id,))
            self._connection.execute("DELETE FROM record_sources WHERE record_id = ?", (record_id,))
            self._connection.execute("DELETE FROM record_ancestors WHERE record_id = ?", (record_id,))
            return event

    @contextmanager
    def changes(self) -> Iterator["Changes"]:
        """One transaction of events and of what follows from them; all of it is there when the block has ended."""
        with self._transaction():
            yield Changes(self._append_events, self._connection)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; what SQLite says of a damaged file becomes a LedgerError."""
        with _told_plainly(self.path):
            return self._connection.execute(query, parameters).fetchall()

    def record(self, cache_key: str) -> ProvidenceRecord | None:
        """The unretired record of that key."""
        found = self._records("cache_key = ? AND retired_at IS NULL", [cache_key])
        return next(found, None)

    def find(self, prefix: str) -> ProvidenceRecord:
        """The record whose cache key begins with `prefix`, 8 hex digits or more: the unretired one, else the last.

        Raises InputError where the prefix is too short or not hex, or fits no key or several.
        """
        wanted = prefix.lower()
        if len(wanted) < SHORTEST_PREFIX or wanted.strip("0123456789abcdef"):
            raise InputError(
                f"{prefix!r} is not a cache key (give at least its first {SHORTEST_PREFIX} hex digits)"
            )
        with _told_plainly(self.path):
            rows = self._connection.execute(
                "SELECT DISTINCT cache_key FROM providence_records WHERE cache_key >= ? AND cache_key < ? LIMIT 5",
                (wanted, wanted + "g"),
            ).fetchall()
        if not rows:
            raise InputError(
                f"no record has a cache key that begins with {wanted} (see `arborist providence list`)"
            )
        if len(rows) > 1:
            raise InputError(
                f"several records have a cache key that begins with {wanted}, give more digits: "
                + ", ".join(row[0][: len(wanted) + 8] for row in rows)
            )
        return next(self._records("cache_key = ? ORDER BY retired_at IS NOT NULL, record_id DESC", [rows[0][0]]))

    def records(self, wanted: RecordFilter | None = None, limit: int | None = None) -> Iterator[ProvidenceRecord]:
        """The wanted records, the latest first, `limit` at most; the ledger may be written to meanwhile."""
        condition, parameters = (wanted or RecordFilter()).where()
        left = 2**62 if limit is None else limit
        before = 2**62
        while left > 0:
            page = min(left, _PAGE)
            tail = "AND record_id < ? ORDER BY record_id DESC LIMIT ?"
            found = list(self._records(f"{condition} {tail}", [*parameters, before, page]))
            yield from found
            if len(found) < page:
                return
            left, before = left - page, found[-1].record_id

    def counts(self) -> dict[str, int]:
        """How many unretired records there are of each verdict."""
        with _told_plainly(self.path):
            rows = self._connection.execute(
                "SELECT audit_mode, count(*) FROM providence_records WHERE retired_at IS NULL GROUP BY audit_mode"
            )
            return dict(rows.fetchall())

    def history(self, cache_key: str) -> list[ProvidenceRecord]:
        """Every record that had that key, the first first, retired ones too."""
        return list(self._records("cache_key = ? ORDER BY record_id", [cache_key]))

    def sources(self, record_id: int) -> tuple[RecordSource, ...]:
        """The documents that the record's context was made of."""
        with _told_plainly(self.path):
            rows = self._connection.execute(
                "SELECT document_root, uri, role FROM record_sources WHERE record_id = ? ORDER BY document_root",
                (record_id,),
            )
            return tuple(RecordSource(*row) for row in rows)

    def leaning_on(self, cache_key: str) -> list[str]:
        """Cache keys, in order, of the records that cite that promoted answer, directly or through others."""
        query = (
            "WITH RECURSIVE leaned_on(cache_key) AS (VALUES (?) UNION "
            "SELECT providence_records.cache_key FROM leaned_on "
            "CROSS JOIN record_ancestors USING (cache_key) "
            "CROSS JOIN providence_records USING (record_id)) "
            "SELECT cache_key FROM leaned_on WHERE cache_key <> ? ORDER BY cache_key"
        )
        with _told_plainly(self.path):
            rows = self._connection.execute(query, (cache_key, cache_key))
            return [row[0] for row in rows]

    def citing(self, document_root: str) -> list[str]:
        """Cache keys of the unretired records whose context held that document, in key order."""
        query = (
            "SELECT cache_key FROM providence_records JOIN record_sources USING (record_id) "
            "WHERE document_root = ? AND retired_at IS NULL ORDER BY cache_key"
        )
        with _told_plainly(self.path):
            return [row[0] for row in self._connection.execute(query, (document_root,))]

    def head(self) -> tuple[int, str]:
        """How many events there are, and the hash of the last; `GENESIS` before the first."""
        with _told_plainly(self.path):
            row = self._connection.execute(
                "SELECT seq, hash FROM audit_events ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        return (row[0], row[1]) if row else (0, GENESIS)

    def events(
        self, start: int = 1, stop: int | None = None, types: Sequence[EventType] = ()
    ) -> Iterator[AuditEvent]:
        """The events from seq `start` up to but not including `stop`, in order; of `types` only, where given."""
        chosen = f"AND type IN ({', '.join('?' * len(types))})" if types else ""
        query = (
            "SELECT seq, type, payload, time, previous_hash, hash FROM audit_events "
            f"WHERE seq >= ? AND seq < ? {chosen} ORDER BY seq LIMIT {_PAGE}"
        )
        end = 2**62 if stop is None else stop
        while True:
            with _told_plainly(self.path):
                rows = self._connection.execute(query, [start, end, *map(str, types)]).fetchall()
            yield from (AuditEvent(*row) for row in rows)
            if len(rows) < _PAGE:
                return
            start = rows[-1][0] + 1

    def event_hashes(self) -> list[str]:
        """The hashes of all events, in order."""
        with _told_plainly(self.path):
            return [row[0] for row in self._connection.execute("SELECT hash FROM audit_events ORDER BY seq")]

    def event(self, seq: int) -> AuditEvent:
        """The event of that number. Raises LedgerError where there is none."""
        for event in self.events(seq, seq + 1):
            return event
        raise LedgerError(f"{self.path}: there is no audit event {seq}")

    def _retire(self, record: ProvidenceRecord, reason: str) -> None:
        payload = {"cache_key": record.cache_key, "record_id": record.record_id, "reason": reason}
        event = self._append_events([NewEvent(EventType.RECORD_RETIRED, payload)])[0]
        self._connection.execute(
            "UPDATE providence_records SET retired_at = ? WHERE record_id = ?", (event.time, record.record_id)
        )

    def _append_record(self, new: NewRecord) -> ProvidenceRecord:
        if self.record(new.cache_key) is not None:
            raise RecordInUseError(f"a record with the cache key {new.cache_key} is in use: it answers this run")
        last, _ = self.head()
        retrieval = retrieval_events(new.dag, new.kept_keywords)
        now = self._now()
        columns = new.columns(last + len(retrieval) + 1, now)
        recorded = NewEvent(EventType.ANSWER_RECORDED, new.recorded_payload(columns))
        self._append_events([*retrieval, recorded], now)
        self._connection.execute(_INSERT_RECORD, tuple(columns.values()))
        self._connection.executemany(
            "INSERT INTO record_sources(record_id, document_root, uri, role) VALUES (?, ?, ?, ?)",
            [(columns["record_id"], item.document_root, item.uri, item.role) for item in new.sources],
        )
        self._connection.executemany(
            "INSERT INTO record_ancestors(record_id, document_root, cache_key) VALUES (?, ?, ?)",
            [(columns["record_id"], item.document_root, item.cache_key) for item in new.ancestors],
        )
        return ProvidenceRecord(**columns, falsification_state=LIVE, retired_at=None)

    def _append_events(self, new: Sequence[NewEvent], time: str | None = None) -> list[AuditEvent]:
        time = time or self._now()
        previous = self.head()
        events = []
        for item in new:
            event = AuditEvent.following(previous, item, time)
            events.append(event)
            previous = event.seq, event.hash
        self._connection.executemany(
            _INSERT_EVENT, [(e.seq, e.type, e.payload, e.time, e.previous_hash, e.hash) for e in events]
        )
        return events

    def _now(self) -> str:
        return iso_time(self._clock.now())

    def _records(self, condition: str, parameters: Sequence[Any]) -> Iterator[ProvidenceRecord]:
        with _told_plainly(self.path):
            query = f"SELECT {_COLUMNS} FROM providence_records WHERE {condition}"
            for row in self._connection.execute(query, parameters):
                yield ProvidenceRecord(*row)

    def record_numbered(self, record_id: int) -> ProvidenceRecord:
        """The record of that number, retired or not. Raises LedgerError where there is none."""
        for record in self._records("record_id = ?", [record_id]):
            return record
        raise LedgerError(f"{self.path}: there is no record {record_id}")

    def _unretired(self, cache_key: str) -> ProvidenceRecord:
        record = self.record(cache_key)
        if record is None:
            raise LedgerError(f"no record in use has the cache key {cache_key} (see `arborist providence list`)")
        return record

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; the write lock is taken at once, so that the head read inside stays the head."""
        with _told_plainly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()


def refuse_fallen(record: ProvidenceRecord) -> None:
    """Raises LedgerError for a record that was falsified: asking again must not wash that off."""
    if record.falsification_state != LIVE:
        raise LedgerError(
            f"the record {record.cache_key[:16]} is {record.falsification_state}: asking anew would hide that "
            f"(`arborist providence revive {record.cache_key[:16]}` says why it may stand again)"
        )


def _set_durable(connection: sqlite3.Connection) -> None:
    """WAL, so that readers never wait; FULL, so that a commit has reached the disk when it returns."""
    attempts = round(BUSY_SECONDS / RETRY_SECONDS)
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = wal")
        except sqlite3.OperationalError as error:
            # SQLite does not wait here for others that look at the file for a moment.
            attempts -= 1
            if "locked" not in str(error) or attempts <= 0:
                raise
            sleep(RETRY_SECONDS)
    connection.execute("PRAGMA synchronous = full")


@contextmanager
def _told_plainly(path: Path) -> Iterator[None]:
    """SQLite's own errors as LedgerErrors in words for the user."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            problem, remedy = "another process holds it", f"it was waited for {BUSY_SECONDS:.0f} s; try again"
        elif "readonly" in str(error):
            problem, remedy = "it cannot be written", "check the permissions of the file and its folder"
        else:
            problem, remedy = "it cannot be opened or read", "check the path, its permissions and the free space"
        raise LedgerError(f"{path}: {problem} ({remedy})") from error
    except sqlite3.IntegrityError as error:
        raise LedgerError(f"{path}: the ledger refuses this: {error}") from error
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"{path}: damaged, or not an SQLite file (`arborist ledger fsck` says more)") from error
    except OSError as error:
        raise LedgerError(f"{path}: the home cannot be made: {error.strerror} (choose another home)") from error
