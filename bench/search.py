"""How fast shards are searched, and that every way of searching them gives the same bytes.

    python -m bench.search [--passages N] [--queries N] [--folder FOLDER] [--keep FOLDER] [--peers] [--json FILE]

Engines answer query by query in one process, so that what else the machine does falls on all of them; times are
CPU time of the process. `--peers` adds tantivy and bm25s where they are installed.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from arborist.corpus.shard import Shard
from arborist.corpus.tokenizer import TOKENIZER
from arborist.retrieval.terms import WORDS, Term, query_terms, tokenizer
from bench.corpus import bench_questions, bench_texts, built_workspace
from bench.engines import POLICY, Engine, Hits, own_engines, peer_engines
from bench.tables import text_table

LIMIT = 10
WARM_UP = 5
VARIANTS = {"no stopwords": POLICY, "all words": replace(POLICY, stopwords="none")}
DISTRIBUTIONS = ("apsw", "numpy", "numba", "tantivy", "bm25s")


@dataclass(frozen=True, slots=True)
class Timing:
    """How one engine did on one kind of query; milliseconds of CPU. `ratio` is the median of how many times faster
    than FTS5 each query was, `same` counts lists with the bytes of FTS5's.
    """

    variant: str
    engine: str
    p50: float
    p95: float
    ratio: float
    same: int
    queries: int


def bench_terms(shard: Shard, questions: Sequence[str], variant: str) -> list[list[Term]]:
    words, stems = tokenizer(shard.connection, WORDS), tokenizer(shard.connection, TOKENIZER)
    terms = (query_terms(question, (), VARIANTS[variant], words, stems) for question in questions)
    return [item for item in terms if item]


def timings(engines: Sequence[Engine], terms: Sequence[list[Term]], variant: str) -> list[Timing]:
    """Every engine on every query; the first engine is the reference."""
    seconds: dict[str, list[float]] = {engine.name: [] for engine in engines}
    same = dict.fromkeys(seconds, 0)
    for query in terms[:WARM_UP]:
        for engine in engines:
            engine.best(query, LIMIT)
    for query in terms:
        reference: Hits | None = None
        for engine in engines:
            start = time.process_time()
            hits = engine.best(query, LIMIT)
            seconds[engine.name].append(time.process_time() - start)
            reference = hits if reference is None else reference
            same[engine.name] += same_bytes(reference, hits)
    base = seconds[engines[0].name]
    return [
        Timing(
            variant,
            name,
            1e3 * median(spent),
            1e3 * sorted(spent)[int(0.95 * len(spent))],
            median(slow / max(fast, 1e-9) for slow, fast in zip(base, spent, strict=True)),
            same[name],
            len(terms),
        )
        for name, spent in seconds.items()
    ]


def same_bytes(left: Hits, right: Hits) -> bool:
    """Whether scores are the same doubles, and chunks the same but for the order and the cut of those that tie."""
    if [score.hex() for _, score in left] != [score.hex() for _, score in right]:
        return False
    if not left:
        return True
    last = left[-1][1]
    above = [{(chunk, score) for chunk, score in hits if score > last} for hits in (left, right)]
    return above[0] == above[1]


@contextmanager
def bench_shard(passages: int, folder: Path | None, keep: Path | None) -> Iterator[Shard]:
    """A shard of about so many passages; kept under `keep` and found there again."""
    with TemporaryDirectory() as scratch:
        home = (keep or Path(scratch)) / f"passages-{passages}"
        path = home / "var" / "shards" / "bench-000.db"
        if not path.is_file():
            built_workspace(home, bench_texts(passages, folder))
        with Shard(path) as shard:
            yield shard


def versions() -> dict[str, str]:
    """What was measured with: versions and the kind of machine."""
    found = {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "machine": platform.machine(),
    }
    for name in DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def search_report(arguments: argparse.Namespace) -> dict[str, Any]:
    """One row for each engine and kind of query."""
    with (
        bench_shard(arguments.passages, arguments.folder, arguments.keep) as shard,
        TemporaryDirectory() as scratch,
    ):
        engines = own_engines(shard)
        if arguments.peers:
            engines += peer_engines(shard, Path(scratch))
        questions = bench_questions(shard, arguments.queries)
        rows = [
            timing
            for variant in VARIANTS
            for timing in timings(engines, bench_terms(shard, questions, variant), variant)
        ]
        return {"versions": versions(), "passages": shard.meta.chunks, "rows": rows}


def report_text(report: Mapping[str, Any]) -> str:
    """The report as a table."""
    rows = [
        (
            row.variant,
            row.engine,
            f"{row.p50:.2f}",
            f"{row.p95:.2f}",
            f"{row.ratio:.1f}",
            f"{row.same}/{row.queries}",
        )
        for row in report["rows"]
    ]
    head = ("queries", "engine", "p50 ms", "p95 ms", "x FTS5", "same bytes")
    stand = ", ".join(f"{name} {value}" for name, value in report["versions"].items())
    return f"{report['passages']} passages; {stand}\n{text_table(head, rows)}"


def main(argv: Sequence[str] | None = None, *, passages: int = 20_000, queries: int = 120) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=passages)
    parser.add_argument("--queries", type=int, default=queries)
    parser.add_argument("--folder", type=Path, help="take the texts of this folder instead of the machine's")
    parser.add_argument("--keep", type=Path, help="keep the corpus here, or use the one that is here")
    parser.add_argument("--peers", action="store_true", help="tantivy and bm25s as well")
    parser.add_argument("--json", type=Path, help="write the report to this file as well")
    arguments = parser.parse_args(argv)
    report = search_report(arguments)
    sys.stdout.write(report_text(report) + "\n")
    if arguments.json:
        rows = [{name: getattr(row, name) for name in Timing.__slots__} for row in report["rows"]]
        arguments.json.write_text(json.dumps(report | {"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
