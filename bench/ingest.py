"""What building shards costs beside what SQLite alone would cost.

    python -m bench.ingest [--passages N] [--json FILE]

The same rows go into a bare FTS5 table, through sqlite-utils, and through the project's steps (chunk, hash, trees,
rows, FTS5, postings), each in a process of its own; seconds are CPU time of that process, memory is its peak.
"""

import argparse
import json
import multiprocessing
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from arborist.corpus import tables
from arborist.corpus.shard import HASH_SIZE_BYTES
from arborist.corpus.tokenizer import TOKENIZER
from arborist.corpus.work import chunk_shard, index_shard
from arborist.workspace import Workspace
from bench.corpus import bench_texts, built_workspace
from bench.tables import text_table

ROWS_FOR_SQLITE_UTILS = 20_000
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
        return self.rows / self.seconds


def measured(way: str, run: Callable[[], int]) -> Cost:
    """Run in a fresh process, so that peak memory is its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, way, run).result()


def _measured(way: str, run: Callable[[], int]) -> Cost:
    start, wall = time.process_time(), time.perf_counter()
    rows = run()
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    return Cost(way, rows, seconds, wall, _peak_memory())


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
    start = time.process_time(), time.perf_counter()
    connection = apsw.Connection(str(home / "bare.db"))
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
    _spent.update(seconds=time.process_time() - start[0], wall=time.perf_counter() - start[1])
    return len(rows)


_spent: dict[str, float] = {}


def sqlite_rows(home: Path, shards: Sequence[str], way: str) -> int:
    """Insert rows that are in memory already, by sqlite-utils or by one `executemany`."""
    rows = list(islice(chunk_rows(home, shards), ROWS_FOR_SQLITE_UTILS))
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    path = home / "rows.db"
    start = time.process_time(), time.perf_counter()
    if way == "sqlite-utils":
        from sqlite_utils import Database

        Database(path)["chunks"].insert_all(records, pk="id")
    else:
        connection = sqlite3.connect(path)
        connection.execute(f"CREATE TABLE chunks ({', '.join(COLUMNS)}, PRIMARY KEY (id))")
        with connection:
            connection.executemany(f"INSERT INTO chunks VALUES ({', '.join('?' * len(COLUMNS))})", rows)
        connection.close()
    _spent.update(seconds=time.process_time() - start[0], wall=time.perf_counter() - start[1])
    path.unlink()
    return len(rows)


def built_shards(home: Path, shards: Sequence[str]) -> int:
    """Chunk and publish the shards one after the other; how many chunks they hold."""
    corpus = _workspace(home).corpus
    for shard in shards:
        chunk_shard(corpus, shard)
    return sum(index_shard(corpus, shard).chunks for shard in shards)


def _timed_inside(run: Callable[[], int]) -> tuple[int, float, float]:
    rows = run()
    return rows, _spent["seconds"], _spent["wall"]


def inner_cost(way: str, run: Callable[[], int]) -> Cost:
    """As `measured`, but of the part that the function itself has timed: not of bringing its rows up."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        rows, seconds, wall = pool.submit(_timed_inside, run).result()
        return Cost(way, rows, seconds, wall, 0)


def two_processes(home: Path, shards: Sequence[str]) -> float:
    """Wall seconds for all shards in two processes at once."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(len, ["", ""]))
        start = time.perf_counter()
        list(pool.map(partial(built_shards, home), [shards[::2], shards[1::2]]))
        return time.perf_counter() - start


def ingest_report(passages: int) -> dict[str, Any]:
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        shards = built_workspace(home, bench_texts(passages), SHARDS).config.shard_names
        costs = [
            measured("project, 1 process", partial(built_shards, home, shards)),
            inner_cost("bare FTS5, defaults", partial(bare_fts5, home, shards, 1024 * 1024)),
            inner_cost("bare FTS5, hashsize 64 MB", partial(bare_fts5, home, shards, HASH_SIZE_BYTES)),
            inner_cost("rows, sqlite-utils insert_all", partial(sqlite_rows, home, shards, "sqlite-utils")),
            inner_cost("rows, executemany", partial(sqlite_rows, home, shards, "executemany")),
        ]
        both = two_processes(home, shards)
    ratios = {
        "project / bare FTS5, defaults": costs[0].rate / costs[1].rate,
        "project / bare FTS5, hashsize": costs[0].rate / costs[2].rate,
        "executemany / sqlite-utils": costs[4].rate / costs[3].rate,
        "two processes / one, by the wall": costs[0].wall / both,
    }
    return {"costs": costs, "ratios": ratios}


def main(argv: Sequence[str] | None = None, *, passages: int = 20_000) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=passages)
    parser.add_argument("--json", type=Path, help="write the report to this file as well")
    arguments = parser.parse_args(argv)
    report = ingest_report(arguments.passages)
    rows = [
        (cost.way, cost.rows, f"{cost.seconds:.2f}", f"{cost.wall:.2f}", f"{cost.rate:,.0f}", cost.memory or "")
        for cost in report["costs"]
    ]
    sys.stdout.write(text_table(("way", "rows", "CPU s", "wall s", "rows/s of CPU", "peak MB"), rows) + "\n\n")
    ratios = [(name, f"{value:.2f}") for name, value in report["ratios"].items()]
    sys.stdout.write(text_table(("ratio", "times"), ratios) + "\n")
    if arguments.json:
        costs = [asdict(cost) for cost in report["costs"]]
        arguments.json.write_text(json.dumps(report | {"costs": costs}, indent=2) + "\n")


if __name__ == "__main__":
    main()
