"""The kind of instance that `dagster.yaml` names: Dagster's own on SQLite, but many events are one transaction.

Dagster hands the events of a range of partitions over together. Its SQLite event log then opens two databases, and
commits to both, for every single event, which takes longer than making a small shard.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock, local
from typing import Any, cast

import dagster as dg
import yaml
from dagster._core.events import ASSET_EVENTS
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage, _event_logs_directory
from dagster._serdes import ConfigurableClassData
from sqlalchemy import func, select
from sqlalchemy.engine import Connection

EVENTS_AT_ONCE = 1_000


class _Held(local):
    """The connections that this thread keeps while it stores a batch, by the database they lead to."""

    def __init__(self) -> None:
        self.connections: dict[str, Connection] = {}


class BatchedEventLog(SqliteEventLogStorage):
    """Dagster's event log, to which a batch of events is written whole or not at all."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._held = _Held()
        self._tables: set[str] = set()
        super().__init__(base_dir, inst_data)
        # A batch keeps two connections, and the lock with them.
        self._db_lock = cast(Any, RLock())

    def has_table(self, table_name: str) -> bool:
        # Dagster asks before every event.
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events of one run."""
        # The index last, so that it never knows of an event that the run's own log does not have.
        with self._holding(INDEX_SHARD_NAME), self._holding(events[0].run_id):
            self._store_asset_events([event for event in events if event.dagster_event_type in ASSET_EVENTS])
            super().store_event_batch([event for event in events if event.dagster_event_type not in ASSET_EVENTS])

    def _store_asset_events(self, events: Sequence[EventLogEntry]) -> None:
        """What `store_event` does for such an event, a statement for all of them."""
        if not events:
            return
        rows = [self._event_to_row(event) for event in events]
        with self.run_connection(events[0].run_id) as connection:
            connection.execute(SqlEventLogStorageTable.insert(), rows)
        with self.index_connection() as connection:
            connection.execute(SqlEventLogStorageTable.insert(), rows)
            # The first insert took the lock, so nobody else's rows are among these.
            last = connection.execute(select(func.max(SqlEventLogStorageTable.c.id))).scalar_one()
            ids = range(last - len(rows) + 1, last + 1)
            self._store_asset_event_tags(connection, events, ids)
            # Of each asset the index keeps the last event alone.
            latest = {(row["asset_key"], row["dagster_event_type"]): place for place, row in enumerate(rows)}
            for place in latest.values():
                self._store_asset_event(connection, events[place], ids[place])

    @contextmanager
    def _holding(self, shard: str) -> Iterator[None]:
        with super()._connect(shard) as connection:
            self._held.connections[shard] = connection
            try:
                yield
            finally:
                del self._held.connections[shard]

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        if shard in self._held.connections:
            yield self._held.connections[shard]
            return
        with super()._connect(shard) as connection:
            yield connection


class LocalStorage(DagsterSqliteStorage):
    """Dagster's storage in a folder, with that event log."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = BatchedEventLog(_event_logs_directory(base_dir))

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "LocalStorage":
        return cls.from_local(inst_data=inst_data, **config_value)


class LocalInstance(dg.DagsterInstance):
    """An instance in a folder, whose events are stored in batches."""

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        return {}

    @classmethod
    def config_defaults(cls, base_dir: str) -> Mapping[str, ConfigurableClassData | None]:
        """What `dagster.yaml` leaves open, for an instance in this folder."""
        ours = ConfigurableClassData(__name__, LocalStorage.__name__, yaml.dump({"base_dir": base_dir}))
        return {**InstanceRef.config_defaults(base_dir), "storage": ours}

    def _get_event_batch_size(self) -> int:
        # Dagster takes this from the environment, where nobody would think of it.
        return EVENTS_AT_ONCE
