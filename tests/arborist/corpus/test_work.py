"""The build steps over many sources and shards: each result is its own, and so is each failure."""

import os
import signal
from multiprocessing import parent_process
from pathlib import Path

import pytest

from arborist import progress
from arborist.corpus import work
from arborist.corpus.document_chunks import ShardChunks
from arborist.corpus.shard import ShardFault, ShardMeta
from arborist.corpus.store import Corpus
from arborist.corpus.work import chunk_shard, faults_over_shards, index_shard, over_shards, over_sources
from arborist.home import Home
from arborist.workspace import Workspace
from tests.corpora import BRIDGES, opened, write_config, write_rows

NAMES = [f"many-{number:03d}" for number in range(work.SHARDS_WORTH_PROCESSES + 1)]


several_processors = pytest.mark.skipif(
    (os.cpu_count() or 1) < 2, reason="on one processor no other process is started"
)


@pytest.fixture
def many(tmp_path: Path) -> Workspace:
    """A corpus of more shards than one process works on alone; its documents are read."""
    write_rows(tmp_path / "many.jsonl", {f"{uri}/{n}": text for uri, text in BRIDGES.items() for n in range(9)})
    write_config(tmp_path, {"many": {"shards": len(NAMES)}})
    workspace = opened(tmp_path)
    assert [outcome.error for outcome in over_sources(workspace.corpus, ["many"])] == [None]
    return workspace


def die(corpus: Corpus, shard: str) -> ShardMeta:
    """A step whose process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)
    return index_shard(corpus, shard)


def dying_in_other_processes(home: Home, shard: str) -> list[ShardFault]:
    """Finds a fault, where the process that looks for it is not killed."""
    if parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return [ShardFault(shard, "row", "torn")]


def chunked_in_other_processes(corpus: Corpus, shard: str) -> int:
    chunk_shard(corpus, shard)
    return os.getpid()


def test_outcomes_stand_in_the_order_of_the_shards(many: Workspace) -> None:
    chunked = over_shards(many.corpus, chunk_shard, NAMES[::-1], "chunks")
    assert [outcome.name for outcome in chunked] == NAMES[::-1]
    assert [outcome.result and outcome.result.shard for outcome in chunked] == NAMES[::-1]
    indexed = over_shards(many.corpus, index_shard, NAMES, "index")
    assert sum(outcome.result.documents for outcome in indexed if outcome.result) == 54


@several_processors
def test_many_shards_are_worked_on_in_other_processes_and_give_what_one_process_gives(many: Workspace) -> None:
    together: list[ShardChunks | None] = [
        outcome.result for shard in NAMES for outcome in over_shards(many.corpus, chunk_shard, [shard], "chunks")
    ]
    pids = {outcome.result for outcome in over_shards(many.corpus, chunked_in_other_processes, NAMES, "chunks")}
    assert os.getpid() not in pids
    apart = [outcome.result for outcome in over_shards(many.corpus, chunk_shard, NAMES, "chunks")]
    assert apart == together


def test_a_process_that_dies_while_it_looks_for_faults_is_no_fault_of_a_shard(many: Workspace) -> None:
    found = faults_over_shards(many.corpus, dying_in_other_processes, NAMES)
    assert found == [ShardFault(shard, "row", "torn") for shard in NAMES]


@several_processors
def test_two_shards_are_worth_a_second_process_where_they_are_large(
    monkeypatch: pytest.MonkeyPatch, many: Workspace
) -> None:
    def pids() -> set[int | None]:
        return {done.result for done in over_shards(many.corpus, chunked_in_other_processes, NAMES[:2], "chunks")}

    assert pids() == {os.getpid()}
    monkeypatch.setattr(work, "BYTES_WORTH_PROCESSES", 1_000)
    assert os.getpid() not in pids()


@pytest.mark.parametrize("shards", [NAMES[:3], NAMES])
def test_a_shard_that_fails_fails_alone_and_is_named(many: Workspace, shards: list[str]) -> None:
    many.home.documents_file("many", "many-001").write_bytes(b"no parquet")
    outcomes = {outcome.name: outcome for outcome in over_shards(many.corpus, chunk_shard, shards, "chunks")}
    assert [name for name, outcome in outcomes.items() if outcome.error] == ["many-001"]
    assert str(many.home.documents_file("many", "many-001")) in str(outcomes["many-001"].error)
    assert all(outcome.result for name, outcome in outcomes.items() if name != "many-001")


def test_a_source_that_fails_fails_alone_and_is_named(many: Workspace) -> None:
    folder = many.config.path.parent
    (folder / "broken.jsonl").write_text('{"uri": "a"}\n')
    write_config(folder, {"broken": {}, "many": {"shards": len(NAMES)}})
    broken, whole = over_sources(opened(folder).corpus, ["broken", "many"])
    assert (broken.name, broken.result) == ("broken", None)
    assert "broken.jsonl: line 1: " in str(broken.error)
    assert whole.result is not None


@several_processors
def test_a_process_that_is_killed_is_an_error_and_not_a_hang(many: Workspace) -> None:
    outcomes = over_shards(many.corpus, die, NAMES, "index")
    assert [outcome.name for outcome in outcomes] == NAMES
    assert all("died" in str(outcome.error) for outcome in outcomes)


def test_whoever_watches_is_told_of_every_unit(many: Workspace) -> None:
    told: list[str] = []
    with progress.watched_by(told.append):
        over_shards(many.corpus, chunk_shard, NAMES, "chunks")
    over_shards(many.corpus, index_shard, NAMES, "index")
    assert sorted(told) == [f"chunks {name}" for name in NAMES]


def test_no_shards_are_no_work(many: Workspace) -> None:
    assert over_shards(many.corpus, chunk_shard, [], "chunks") == []


def test_a_home_that_cannot_be_written_is_an_error_of_each_shard(many: Workspace) -> None:
    (many.home.root / "chunks").write_text("a file where a folder should be")
    outcomes = over_shards(many.corpus, chunk_shard, NAMES, "chunks")
    assert all(str(many.home.root / "chunks") in str(outcome.error) for outcome in outcomes)
