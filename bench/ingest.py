"""What building shards costs beside what SQLite alone would cost.

    python -m bench.ingest [--passages N] [--json FILE]

The same rows go into a bare FTS5 table, through sqlite-utils, into a table as a shard has it, and through the
project's steps (chunk, hash, trees, rows, FTS5, postings): once shard after shard in one process, once as
`arborist build` does it, in a process for each processor. Imports do not count. CPU seconds and peak memory are
those of one process.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from arborist.corpus import tables
from arborist.corpus.shard import HASH_SIZE_BYTES, read_shard_meta
from arborist.corpus.store import Corpus
from arborist.corpus.tokenizer import TOKENIZER
from arborist.corpus.work import PRELOADED, chunk_shard, index_shard, over_shards
from arborist.workspace import Workspace
from bench.corpus import bench_texts, built_workspace
from bench.tables import text_table

ROWS_FOR_SQLITE_UTILS = 20_000
RUNS = 3
SHARDS = 4
COLUMNS = ("id", "document_root", "chunk_index", "title", "text", "leaf_hash")


@dataclass(frozen=True, slots=True)
class Cost:
    """One way: rows, CPU and wall seconds, peak memory in MB."""

    way: str
    rows: int
    seconds: float
    wall: float
    memory: int

    @property
    def rate(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def wall_rate(self) -> float:
        return self.rows / self.wall


def measured(way: str, run: Callable[[], int]) -> Cost:
    """Run in a fresh process, so that peak memory is its own; the function says which part of it is timed."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, way, run).result()


def best(way: str, run: Callable[[], int]) -> Cost:
    """The fastest of some runs, for what takes but a moment."""
    return min((measured(way, run) for _ in range(RUNS)), key=lambda cost: cost.wall)


def _measured(way: str, run: Callable[[], int]) -> Cost:
    rows = run()
    return Cost(way, rows, _spent["seconds"], _spent["wall"], _peak_memory())


_spent: dict[str, float] = {}


@contextmanager
def _timed() -> Iterator[None]:
    start, wall = time.process_time(), time.perf_counter()
    yield
    _spent.update(seconds=time.process_time() - start, wall=time.perf_counter() - wall)


def _peak_memory() -> int:
    """MB that this process has held at most; `ru_maxrss` would count the process that started it as well."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def chunk_rows(home: Path, shards: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows that the shards hold, numbered from 1."""
    number = 0
    for shard in shards:
        for row in tables.read_rows(_workspace(home).home.chunks_file(shard), COLUMNS[1:]):
            number += 1
            yield number, *row


def _workspace(home: Path) -> Workspace:
    return Workspace.open(home / "var", home / "corpus.toml")


def bare_fts5(home: Path, shards: Sequence[str], hash_size: int) -> int:
    """Load the rows that are in memory already into nothing but an FTS5 table, and optimize it."""
    rows = [(number, title, text) for number, _, _, title, text, _ in chunk_rows(home, shards)]
    connection = apsw.Connection(str(home / "bare.db"))
    with _timed():
        connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        connection.execute(
            f"CREATE VIRTUAL TABLE f USING fts5(title, text, content='', tokenize=\"{' '.join(TOKENIZER)}\")"
        )
        connection.execute("INSERT INTO f (f, rank) VALUES ('hashsize', ?)", (hash_size,))
        with connection:
            connection.executemany("INSERT INTO f (rowid, title, text) VALUES (?, ?, ?)", rows)
            connection.execute("INSERT INTO f (f) VALUES ('optimize')")
        connection.close()
    (home / "bare.db").unlink()
    return len(rows)


def sqlite_rows(home: Path, shards: Sequence[str], way: str) -> int:
    """Insert rows that are in memory already, by sqlite-utils or as the project fills a shard."""
    rows = list(islice(chunk_rows(home, shards), ROWS_FOR_SQLITE_UTILS))
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    path = home / "rows.db"
    if way == "sqlite-utils":
        from sqlite_utils import Database

        with _timed():
            Database(path)["chunks"].insert_all(records, pk="id")
    else:
        with _timed():
            connection = apsw.Connection(str(path))
            connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            connection.execute(
                "CREATE TABLE chunks (id INTEGER PRIMARY KEY, document_root TEXT, chunk_index INTEGER, "
                "title TEXT, text TEXT, leaf_hash TEXT)"
            )
            with connection:
                connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.close()
    path.unlink()
    return len(rows)


def built_shards(home: Path, shards: Sequence[str]) -> int:
    """Chunk and publish the shards one after the other; how many chunks they hold."""
    corpus = _cleared(home, shards)
    for name in PRELOADED:
        import_module(name)
    with _timed():
        for shard in shards:
            chunk_shard(corpus, shard)
        return sum(index_shard(corpus, shard).chunks for shard in shards)


def _cleared(home: Path, shards: Sequence[str]) -> Corpus:
    """The corpus without what a build would take over."""
    corpus = _workspace(home).corpus
    for shard in shards:
        corpus.home.chunks_file(shard).unlink(missing_ok=True)
    return corpus


def built_at_once(home: Path, shards: Sequence[str]) -> Cost:
    """Chunk and publish all shards as a build does; what its processes use is not counted as CPU time."""
    corpus = _cleared(home, shards)
    # The first pool starts the process that the others are forked from.
    over_shards(corpus, _chunks, shards, "")
    corpus = _cleared(home, shards)
    start = time.perf_counter()
    for step in (chunk_shard, index_shard):
        over_shards(corpus, step, shards, "")
    wall = time.perf_counter() - start
    chunks = sum(_chunks(corpus, shard) for shard in shards)
    return Cost(f"project, {os.cpu_count()} processes", chunks, 0.0, wall, 0)


def _chunks(corpus: Corpus, shard: str) -> int:
    found = read_shard_meta(corpus.home, shard)
    return found.chunks if found else 0


def ingest_report(passages: int) -> dict[str, Any]:
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        shards = built_workspace(home, bench_texts(passages), SHARDS).config.shard_names
        one = measured("project, 1 process", partial(built_shards, home, shards))
        bare = measured("bare FTS5, defaults", partial(bare_fts5, home, shards, 1024 * 1024))
        hashed = measured("bare FTS5, hashsize 64 MB", partial(bare_fts5, home, shards, HASH_SIZE_BYTES))
        utils = best("rows, sqlite-utils insert_all", partial(sqlite_rows, home, shards, "sqlite-utils"))
        many = best("rows, as in a shard", partial(sqlite_rows, home, shards, "shard"))
        all_at_once = built_at_once(home, shards)
    ratios = {
        "project as it builds / bare FTS5, by the wall": all_at_once.wall_rate / bare.wall_rate,
        "project as it builds / bare FTS5 with hashsize, by the wall": all_at_once.wall_rate / hashed.wall_rate,
        "project, 1 process / bare FTS5, CPU": one.rate / bare.rate,
        "project, 1 process / bare FTS5 with hashsize, CPU": one.rate / hashed.rate,
        "rows as in a shard / sqlite-utils, by the wall": many.wall_rate / utils.wall_rate,
        "rows as in a shard / sqlite-utils, CPU": many.rate / utils.rate,
        f"{os.cpu_count()} processes / one, by the wall": one.wall / all_at_once.wall,
    }
    costs = [one, all_at_once, bare, hashed, utils, many]
    return {"costs": costs, "ratios": ratios}


def main(argv: Sequence[str] | None = None, *, passages: int = 20_000) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=passages)
    parser.add_argument("--json", type=Path, help="write the report to this file as well")
    arguments = parser.parse_args(argv)
    report = ingest_report(arguments.passages)
    rows = [
        (
            cost.way,
            cost.rows,
            f"{cost.seconds:.2f}" if cost.seconds else "",
            f"{cost.wall:.2f}",
            f"{cost.wall_rate:,.0f}",
            cost.memory or "",
        )
        for cost in report["costs"]
    ]
    sys.stdout.write(text_table(("way", "rows", "CPU s", "wall s", "rows/s", "peak MB"), rows) + "\n\n")
    ratios = [(name, f"{value:.2f}") for name, value in report["ratios"].items()]
    sys.stdout.write(text_table(("ratio", "times"), ratios) + "\n")
    if arguments.json:
        costs = [asdict(cost) for cost in report["costs"]]
        arguments.json.write_text(json.dumps(report | {"costs": costs}, indent=2) + "\n")


if __name__ == "__main__":
    main()
