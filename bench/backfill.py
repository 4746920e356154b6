"""Wall time of a backfill of many small shards in one Dagster run, against the engine alone doing the same work.

`python -m bench.backfill [--shards 200] [--documents 20] [--json]`. Both chunk and index every shard from
documents that have been read, in one pool of processes as large as the machine. A backfill that a person launches
runs the checks of the index as well; its time is given beside. Target: at most 1.3 times the engine's time.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from arborist.corpus.store import Corpus
from arborist.corpus.work import chunk_shard, index_shard, over_shards, over_sources
from arborist.home import Home
from arborist.workspace import Workspace
from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.instance import open_instance
from arborist_dagster.settings import Settings
from assets.ranges import range_tags

TARGET = 1.3
TURNS = 3
SENTENCE = "The {name} of room {room} was found in {year}, and nobody has moved it since. "


def project(folder: Path, shards: int, documents: int) -> Workspace:
    """A corpus whose documents are read into this many shards, and of which nothing else is built."""
    lines = [
        json.dumps({"uri": f"room/{number}", "title": f"Room {number}", "text": _text(number)})
        for number in range(shards * documents)
    ]
    (folder / "rooms.jsonl").write_text("\n".join(lines) + "\n")
    config = folder / "corpus.toml"
    config.write_text(f'[sources.rooms]\nkind = "jsonl"\npath = "rooms.jsonl"\nshards = {shards}\n')
    workspace = Workspace.open(folder / "home", config)
    over_sources(workspace.corpus, ["rooms"])
    return workspace


def _text(number: int) -> str:
    names = ("anchor", "bell", "clock", "globe", "harp", "lamp", "mirror", "vase")
    return "".join(
        SENTENCE.format(name=names[place % 8], room=number, year=1700 + (number + place) % 300)
        for place in range(30)
    )


def engine_seconds(workspace: Workspace) -> float:
    """What the engine takes for all shards."""
    corpus = Corpus(Home(workspace.home.root), workspace.config)
    shards = corpus.config.shard_names
    with _timed() as seconds:
        for step, name in ((chunk_shard, "chunks"), (index_shard, "index")):
            outcomes = over_shards(corpus, step, shards, name)
            assert not [outcome for outcome in outcomes if outcome.error]
    return seconds()


def run_seconds(workspace: Workspace, *, checks: bool) -> float:
    """What one run over all shards takes, with an instance on disk, from its beginning to its end."""
    definitions = build_definitions(Settings(workspace.home.root, workspace.config.path))
    wanted = dg.AssetSelection.assets("document_chunks", "fts_index")
    job = dg.define_asset_job("bench", wanted if checks else wanted.without_checks()).resolve(
        asset_graph=definitions.resolve_asset_graph(), resource_defs=definitions.resources
    )
    shards = workspace.corpus.config.shard_names
    with open_instance(workspace.home) as instance, _timed() as seconds:
        result = job.execute_in_process(
            instance=instance,
            tags=range_tags(shards),
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
    assert result.success
    return seconds()


@contextmanager
def _timed() -> Iterator[Callable[[], float]]:
    started = ended = time.perf_counter()
    yield lambda: ended - started
    ended = time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=200)
    parser.add_argument("--documents", type=int, default=20, help="documents in a shard")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = project(Path(folder), options.shards, options.documents)
        # In turns, so that what else the machine does falls on both.
        turns = [(engine_seconds(workspace), run_seconds(workspace, checks=False)) for _ in range(TURNS)]
        engine, run = (min(column) for column in zip(*turns, strict=True))
        checked = run_seconds(workspace, checks=True)
    figures = {
        "shards": options.shards,
        "engine_seconds": round(engine, 2),
        "run_seconds": round(run, 2),
        "run_with_checks_seconds": round(checked, 2),
        "ratio": round(run / engine, 2),
        "target": TARGET,
    }
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:<24} {value}")


if __name__ == "__main__":
    main()
