"""The ledger's tables, triggers and indexes, and how a file of an older version is brought to this one.

Nothing outside the tables is needed to know a ledger's version: it is SQLite's `user_version`. Later migrations
only add tables and nullable columns.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from arborist.errors import LedgerError

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x41524231

BOUND_COLUMNS = (
    "record_id",
    "cache_key",
    "created_at",
    "question",
    "answer",
    "claims",
    "audit_mode",
    "question_hash",
    "conversation_hash",
    "context_root",
    "prompt_hash",
    "model_identity",
    "governance_policy_hash",
    "verifier_policy_hash",
    "chunking_version",
    "retrieval_keywords",
    "retrieval_plan_hash",
    "retrieval_mode",
    "ranking_policy_hash",
    "run_dag_root",
    "run_dag",
    "private_payloads",
)
"""Columns of a record that never change."""

STATE_COLUMNS = ("falsification_state", "retired_at")
"""Columns of a record that follow from its later events."""

BLOBS = ("run_dag", "private_payloads")

_NULLABLE = {
    "retrieval_keywords",
    "retrieval_plan_hash",
    "retrieval_mode",
    "ranking_policy_hash",
    "private_payloads",
    "retired_at",
}
_TYPES: dict[str, type] = {"record_id": int, "run_dag": bytes, "private_payloads": bytes}

_TRIGGERS = f"""
CREATE TRIGGER audit_events_are_not_updated BEFORE UPDATE ON audit_events
BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END;

CREATE TRIGGER audit_events_are_not_deleted BEFORE DELETE ON audit_events
BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END;

CREATE TRIGGER audit_events_follow_each_other BEFORE INSERT ON audit_events
WHEN NEW.seq IS NOT 1 + (SELECT coalesce(max(seq), 0) FROM audit_events)
  OR NEW.previous_hash IS NOT coalesce(
       (SELECT hash FROM audit_events WHERE seq = NEW.seq - 1), '{"0" * 64}')
BEGIN SELECT RAISE(ABORT, 'an audit event follows the last one'); END;

CREATE TRIGGER records_come_with_their_event BEFORE INSERT ON providence_records
WHEN NOT EXISTS (SELECT 1 FROM audit_events WHERE seq = NEW.record_id AND type = 'answer_recorded')
  OR EXISTS (SELECT 1 FROM providence_records WHERE record_id = NEW.record_id)
BEGIN SELECT RAISE(ABORT, 'a record comes with its event'); END;

CREATE TRIGGER records_keep_what_is_bound BEFORE UPDATE OF {", ".join(BOUND_COLUMNS)} ON providence_records
BEGIN SELECT RAISE(ABORT, 'what a record binds never changes'); END;

CREATE TRIGGER records_have_a_known_state BEFORE UPDATE OF falsification_state ON providence_records
WHEN NEW.falsification_state NOT IN ('live', 'failed', 'stale', 'quarantined')
BEGIN SELECT RAISE(ABORT, 'no such falsification state'); END;

CREATE TRIGGER records_in_use_are_not_deleted BEFORE DELETE ON providence_records
WHEN OLD.retired_at IS NULL
BEGIN SELECT RAISE(ABORT, 'only retired records are deleted'); END;

CREATE TRIGGER sources_are_not_updated BEFORE UPDATE ON record_sources
BEGIN SELECT RAISE(ABORT, 'the sources of a record never change'); END;

CREATE TRIGGER sources_go_with_their_record BEFORE DELETE ON record_sources
WHEN EXISTS (SELECT 1 FROM providence_records WHERE record_id = OLD.record_id)
BEGIN SELECT RAISE(ABORT, 'the sources of a record go with it'); END;
"""

_INDEXES = """
CREATE UNIQUE INDEX records_by_cache_key ON providence_records(cache_key) WHERE retired_at IS NULL;
CREATE INDEX records_by_any_cache_key ON providence_records(cache_key);
CREATE INDEX records_by_created_at ON providence_records(created_at);
CREATE INDEX records_by_audit_mode ON providence_records(audit_mode, falsification_state);
CREATE INDEX records_by_state ON providence_records(falsification_state) WHERE falsification_state <> 'live';
CREATE INDEX records_by_keywords ON providence_records(retrieval_keywords) WHERE retrieval_keywords <> '[]';
CREATE INDEX records_by_retrieval_mode ON providence_records(retrieval_mode);
CREATE INDEX records_by_plan ON providence_records(retrieval_plan_hash);
CREATE INDEX records_by_ranking_policy ON providence_records(ranking_policy_hash);
CREATE INDEX sources_by_uri ON record_sources(uri);
CREATE INDEX sources_by_document ON record_sources(document_root);
CREATE INDEX events_by_type ON audit_events(type);
"""


def _first_version(database: "Database") -> None:
    events = {"seq": int, "type": str, "payload": str, "time": str, "previous_hash": str, "hash": str}
    database.table("audit_events").create(events, pk="seq", not_null=set(events) - {"seq"}, strict=True)
    # Blobs last: whoever reads the other columns of many rows need not pass over them.
    ordered = sorted(BOUND_COLUMNS + STATE_COLUMNS, key=BLOBS.__contains__)
    columns = {name: _TYPES.get(name, str) for name in ordered}
    database.table("providence_records").create(
        columns,
        pk="record_id",
        not_null=set(columns) - _NULLABLE - {"record_id"},
        defaults={"falsification_state": "live"},
        strict=True,
    )
    sources = {"record_id": int, "document_root": str, "uri": str, "role": str}
    database.table("record_sources").create(
        sources, pk=("record_id", "document_root"), not_null=set(sources), strict=True
    )
    for statement in _statements(_INDEXES) + _statements(_TRIGGERS):
        database.execute(statement)


_PROMOTION_TRIGGERS = """
CREATE TRIGGER promotions_come_with_their_event BEFORE INSERT ON promotions
WHEN NOT EXISTS (SELECT 1 FROM audit_events WHERE seq = NEW.promoted_seq AND type = 'record_promoted')
BEGIN SELECT RAISE(ABORT, 'a promotion comes with its event'); END;

CREATE TRIGGER promotions_are_not_deleted BEFORE DELETE ON promotions
BEGIN SELECT RAISE(ABORT, 'a promotion is retired, never deleted'); END;

CREATE TRIGGER ancestors_are_not_updated BEFORE UPDATE ON record_ancestors
BEGIN SELECT RAISE(ABORT, 'what a record leans on never changes'); END;

CREATE TRIGGER ancestors_go_with_their_record BEFORE DELETE ON record_ancestors
WHEN EXISTS (SELECT 1 FROM providence_records WHERE record_id = OLD.record_id)
BEGIN SELECT RAISE(ABORT, 'what a record leans on goes with it'); END;
"""

_PROMOTION_INDEXES = """
CREATE INDEX ancestors_by_cache_key ON record_ancestors(cache_key, record_id);
CREATE INDEX promotions_by_cache_key ON promotions(cache_key);
CREATE INDEX promotions_by_question ON promotions(question_hash) WHERE retired_seq IS NULL;
CREATE INDEX promotions_by_promoted_seq ON promotions(promoted_seq);
CREATE INDEX promotions_by_retired_seq ON promotions(retired_seq) WHERE retired_seq IS NOT NULL;
CREATE INDEX records_by_question ON providence_records(question_hash);
CREATE INDEX records_promotable ON providence_records(record_id)
  WHERE audit_mode = 'STRICT' AND falsification_state = 'live' AND retired_at IS NULL;
CREATE INDEX events_by_time ON audit_events(time);
"""


def _promotions(database: "Database") -> None:
    """Which answers are promoted, and which promoted answers each record cites.

    Both follow from what is there already. A ledger of the first version has neither: nothing could be promoted.
    """
    promotions = {
        "number": int,
        "document_root": str,
        "cache_key": str,
        "record_id": int,
        "run_dag_root": str,
        "question_hash": str,
        "conversation_hash": str,
        "promoted_seq": int,
        "kindergarten_seconds": int,
        "supersedes": str,
        "retired_seq": int,
        "retired_reason": str,
    }
    nullable = {"number", "supersedes", "retired_seq", "retired_reason"}
    table = database.table("promotions")
    table.create(promotions, pk="number", not_null=set(promotions) - nullable, strict=True)
    table.create_index(["document_root"], index_name="promotions_by_document", unique=True)
    ancestors = {"record_id": int, "document_root": str, "cache_key": str}
    database.table("record_ancestors").create(
        ancestors, pk=("record_id", "document_root"), not_null=set(ancestors), strict=True
    )
    for statement in _statements(_PROMOTION_INDEXES) + _statements(_PROMOTION_TRIGGERS):
        database.execute(statement)


MIGRATIONS: tuple[Callable[["Database"], None], ...] = (_first_version, _promotions)
"""Migration `n` leads from version `n` to `n + 1`."""

VERSION = len(MIGRATIONS)


def _statements(script: str) -> list[str]:
    statements, pending = [], ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    return statements


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of an open ledger file, 0 for an empty one.

    Raises LedgerError where the file is another program's, or of a newer version than this one.
    """
    # One statement sees one state of the file, also while another process makes it.
    application, version, filled = connection.execute(
        "SELECT application_id, user_version, EXISTS (SELECT 1 FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application != APPLICATION_ID and filled:
        raise LedgerError(f"{path}: not a ledger, but another program's SQLite file (choose another home)")
    if version > VERSION:
        raise LedgerError(
            f"{path}: written by a newer arborist (ledger version {version}, this one knows {VERSION}): "
            "upgrade arborist to open it"
        )
    return int(version) if filled else 0


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version, in one transaction; does nothing when it is.

    `connection` is in autocommit mode. Raises LedgerError as `version_of` does.
    """
    if version_of(connection, path) == VERSION:
        return
    # Imported here because opening a ledger that exists must be quick, and needs none of it.
    from sqlite_utils import Database

    connection.execute("BEGIN IMMEDIATE")
    try:
        database = Database(connection)
        for migration in MIGRATIONS[version_of(connection, path) :]:
            migration(database)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def schema_objects(connection: sqlite3.Connection) -> dict[str, str]:
    """Every table, index and trigger by name, as it was declared."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return dict(rows.fetchall())
