"""What `datasette.yaml` says of ledger and shards is true of them, and every page and stored query can be read."""

import asyncio
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from arborist.answering.ask import open_asker
from arborist.errors import InputError
from arborist.home import Home
from arborist.providence.ledger import Ledger
from arborist.providence.promotion import Promoter
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace
from arborist_dagster.browse import DESCRIPTIONS, EACH_SHARD, browsed, metadata
from tests.corpora import WHEN_ALDER, opened

DATABASES: dict[str, Any] = yaml.safe_load(DESCRIPTIONS.read_text())["databases"]
TABLES = [(database, table) for database, described in DATABASES.items() for table in described["tables"]]
QUERIES = [(database, query) for database, described in DATABASES.items() for query in described["queries"]]


@pytest.fixture(scope="module")
def home(built: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with shards, an answer asked with a keyword, and the promoted answer that it became."""
    root = tmp_path_factory.mktemp("browsed") / "project"
    shutil.copytree(built.config.path.parent, root)
    workspace = opened(root)
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        open_asker(workspace, ledger).ask(Query(WHEN_ALDER, ("opened",)))
        a_day_later = workspace.clock.now() + 86_400
        promoter = Promoter.of(workspace.corpus, ledger, workspace.config.policy, a_day_later)
        assert promoter.promote().promoted == 1
    return workspace.home


@pytest.fixture(scope="module")
def shard(built: Workspace) -> str:
    return built.corpus.published_shards()[0]


def _page(home: Home, path: str, **arguments: str) -> str:
    """What Datasette shows there."""
    response = asyncio.run(browsed(home).client.get(path, params=arguments))
    assert response.status_code == 200, response.text
    return str(response.text)


def _columns(path: Path) -> dict[str, set[str]]:
    """The columns of every table and view, but for those of the full-text index itself."""
    with closing(sqlite3.connect(path)) as opened:
        names = [
            name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        ]
        return {
            name: {column for (column,) in opened.execute("SELECT name FROM pragma_table_info(?)", (name,))}
            for name in names
            if not name.startswith("chunks_fts")
        }


@pytest.mark.parametrize("database", DATABASES)
def test_every_table_and_column_is_described_and_none_that_is_not_there(
    home: Home, shard: str, database: str
) -> None:
    path = home.shard_file(shard) if database == EACH_SHARD else home.ledger_file
    described = {name: set(table["columns"]) for name, table in DATABASES[database]["tables"].items()}
    assert described == _columns(path)
    assert all(table["description"] for table in DATABASES[database]["tables"].values())


@pytest.mark.parametrize(("database", "table"), TABLES)
def test_the_page_of_a_table_shows_what_its_columns_mean(
    home: Home, shard: str, database: str, table: str
) -> None:
    described: Mapping[str, Any] = DATABASES[database]["tables"][table]
    assert {*described.get("facets", []), described.get("sort_desc")} <= {*described["columns"], None}
    page = _page(home, f"/{shard if database == EACH_SHARD else database}/{table}")
    assert all(column in page for column in described["columns"])
    assert described["description"].split()[0] in page


@pytest.mark.parametrize(("database", "query"), QUERIES)
def test_every_stored_query_runs_also_before_anything_is_filled_in(
    home: Home, shard: str, database: str, query: str
) -> None:
    stored = DATABASES[database]["queries"][query]
    path = f"/{shard if database == EACH_SHARD else database}/{query}"
    assert stored["title"] in _page(home, path)
    for value in ("", "bridge", 'it\'s "quoted" -and* odd'):
        assert '"ok": true' in _page(home, path + ".json", **dict.fromkeys(stored.get("params", []), value))


def _rows(home: Home, path: str, **arguments: str) -> list[dict[str, Any]]:
    response = asyncio.run(browsed(home).client.get(path + ".json", params={"_shape": "array"} | arguments))
    assert response.status_code == 200, response.text
    rows: list[dict[str, Any]] = response.json()
    return rows


def test_the_ledger_tells_what_people_ask_of_it(home: Home) -> None:
    (answer,) = _rows(home, "/ledger/latest_answers")
    assert (answer["question"], answer["audit_mode"]) == (WHEN_ALDER, "STRICT")
    (citing,) = _rows(home, "/ledger/answers_citing_a_document", uri="bridges/alder")
    assert citing["record_id"] == answer["record_id"]
    assert _rows(home, "/ledger/records_by_keyword", keyword="opened")[0]["question"] == WHEN_ALDER
    events = [row["type"] for row in _rows(home, "/ledger/events_of_a_record", cache_key=answer["cache_key"])]
    assert events[0] == "retrieval_plan_built"
    assert {"answer_recorded", "record_promoted"} <= set(events)
    (promoted,) = _rows(home, "/ledger/promoted_answers")
    assert (promoted["state"], promoted["question"]) == ("stands", WHEN_ALDER)


def test_shards_are_searched_by_words_and_read_by_document(home: Home, built: Workspace) -> None:
    shards = built.corpus.published_shards()
    found = [row for name in shards for row in _rows(home, f"/{name}/chunks_with_words", words="viaduct railways")]
    assert [row["title"] for row in found] == ["Cedar Viaduct"]
    chunks = [row for name in shards for row in _rows(home, f"/{name}/chunks_of_a_document", uri="bridges/cedar")]
    assert [row["chunk_index"] for row in chunks] == [0]
    pages = [_page(home, f"/{name}/chunks", _search="railway") for name in shards]
    assert sum("Cedar Viaduct" in page for page in pages) == 1


def test_every_shard_is_described_by_its_name() -> None:
    databases = metadata(["docs-000", "docs-001"])["databases"]
    assert set(databases) == {"ledger", "docs-000", "docs-001"}
    assert databases["docs-001"] == DATABASES[EACH_SHARD]


def test_an_empty_home_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run `arborist build`"):
        browsed(Home(tmp_path))
