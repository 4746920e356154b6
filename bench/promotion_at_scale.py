"""What promotion costs over a very long ledger.

    python -m bench.promotion_at_scale [--records N] [--one-strict-in N] [--json]

A ledger is filled with N records, of which one in so many is STRICT and may be promoted. Measured, in seconds of
this process's CPU and of the wall clock: a pass over everything, a tick of the kindergarten sensor with nothing
new, and a pass over 100 new records, with the shards that each pass builds.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from arborist.answering.ask import Asker
from arborist.answering.extractive import ExtractiveModel
from arborist.answering.verifier import Verifier
from arborist.clock import FixedClock
from arborist.corpus.source_documents import write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.work import chunk_shard, index_shard
from arborist.providence.ledger import Ledger
from arborist.providence.promotion import Promoter, PromotionReport
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace
from arborist_dagster.promotion_sensors import kindergarten_sensor
from bench.bulk_ledger import fill
from resources.workspace import WorkspaceResource

NEW = 100
TICKS = 20
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured, in seconds."""

    name: str
    cpu: float
    wall: float

    def line(self) -> str:
        return f"{self.name:<44} {self.cpu:>10.4f} s CPU {self.wall:>10.4f} s"


def measured(name: str, work: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(name, time.process_time() - cpu, time.perf_counter() - wall)


def small_workspace(folder: Path) -> Workspace:
    """A corpus of one document, built, with a clock that the bench moves."""
    row = {"uri": "alder", "title": "Alder Bridge", "text": "The Alder Bridge opened in 1932."}
    (folder / "land.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "corpus.toml").write_text('[sources.land]\nkind = "jsonl"\npath = "land.jsonl"\n')
    workspace = Workspace.open(folder / "var", folder / "corpus.toml", FixedClock())
    write_source_documents(open_source(workspace.config.source("land")), workspace.home)
    chunk_shard(workspace.corpus, "land-000")
    index_shard(workspace.corpus, "land-000")
    return workspace


class Scale:
    """The filled ledger and what is measured on it."""

    def __init__(self, folder: Path, records: int, one_strict_in: int) -> None:
        self.workspace = small_workspace(folder)
        clock = self.workspace.clock
        assert isinstance(clock, FixedClock)
        self.clock = clock
        self.ledger = Ledger.open(self.workspace.home.root, clock)
        asker = Asker(
            self.workspace.corpus, self.ledger, ExtractiveModel(), Verifier(), self.workspace.config.policy
        )
        self.template = asker.ask(Query("When did the Alder Bridge open?")).record
        fill(self.ledger, self.template, range(records), one_strict_in=one_strict_in)
        clock.advance(records * 0.001 + HOUR)
        self.records = records
        self.instance = dg.DagsterInstance.ephemeral()

    def promote(self) -> PromotionReport:
        policy = self.workspace.config.policy
        return Promoter.of(self.workspace.corpus, self.ledger, policy, self.clock.now()).promote()

    def tick(self) -> None:
        made = WorkspaceResource(home=str(self.workspace.home.root), config=str(self.workspace.config.path))
        context = dg.build_sensor_context(instance=self.instance, resources={"workspace": made})
        kindergarten_sensor.evaluate_tick(context)

    def add_new(self) -> None:
        fill(self.ledger, self.template, range(self.records, self.records + NEW))
        self.clock.advance(HOUR)


def costs(folder: Path, records: int, one_strict_in: int) -> list[Cost]:
    """The costs in the order of the table."""
    filled = time.perf_counter()
    scale = Scale(folder, records, one_strict_in)
    found = [Cost(f"filling {records} records", 0.0, time.perf_counter() - filled)]
    found.append(measured(f"pass over all {records} records", scale.promote))
    found.append(measured("pass with nothing new", scale.promote))
    scale.tick()
    ticks = sorted((measured("", scale.tick) for _ in range(TICKS)), key=lambda cost: cost.cpu)
    found.append(
        Cost(f"sensor tick, nothing new, median of {TICKS}", ticks[TICKS // 2].cpu, ticks[TICKS // 2].wall)
    )
    found.append(Cost(f"sensor tick, nothing new, worst of {TICKS}", ticks[-1].cpu, ticks[-1].wall))
    scale.add_new()
    report: list[PromotionReport] = []
    found.append(measured(f"pass over {NEW} new records", lambda: report.append(scale.promote())))
    assert report[0].promoted == NEW
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What promotion costs over a very long ledger.")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--one-strict-in", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = costs(Path(name), options.records, options.one_strict_in)
    if options.json:
        print(json.dumps([{key: getattr(cost, key) for key in Cost.__slots__} for cost in found], indent=2))
        return
    print(f"{os.cpu_count()} processors")
    for cost in found:
        print(cost.line())


if __name__ == "__main__":
    main()
