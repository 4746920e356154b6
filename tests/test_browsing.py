"""What `datasette.yaml` says of the ledger is true of the ledger, and every stored query runs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from arborist.clock import FixedClock
from arborist.providence.ledger import Ledger

DESCRIBED: dict[str, Any] = yaml.safe_load((Path(__file__).parent.parent / "datasette.yaml").read_text())
LEDGER: dict[str, Any] = DESCRIBED["databases"]["ledger"]


@pytest.fixture
def connection(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path, FixedClock()):
        pass
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as opened:
        yield opened


@pytest.mark.parametrize("table", LEDGER["tables"])
def test_every_table_and_column_that_is_described_is_there(connection: sqlite3.Connection, table: str) -> None:
    columns = {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    described = LEDGER["tables"][table]
    named = {
        *described.get("columns", {}),
        *described.get("facets", []),
        *filter(None, [described.get("sort_desc")]),
    }
    assert named and named <= columns


@pytest.mark.parametrize("query", LEDGER["queries"])
def test_every_stored_query_runs(connection: sqlite3.Connection, query: str) -> None:
    stored = LEDGER["queries"][query]
    connection.execute(stored["sql"], dict.fromkeys(stored.get("params", []), "x")).fetchall()
