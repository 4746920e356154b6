"""Runs as the UI launches them, whose process is killed; and backfills that are launched at once."""

import os
import random
import re
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest

from arborist.corpus.shard import Shard
from arborist_dagster.instance import AT_WORK
from assets.corpus import POOL
from tests.dagster_project import DagsterProject, leftovers, roots
from tests.served import ServedProject, served

pytestmark = pytest.mark.slow

TRIALS = 20
# Enough shards that a run works in several processes.
SHARDS = {"docs": 5, "trees": 1}
NAMES = ("docs-000", "docs-001", "docs-002", "docs-003", "docs-004", "trees-000")
ASSETS = ("document_chunks", "fts_index")
MOST_SECONDS_BEHIND_AN_EVENT = 0.3


def _new(root: Path) -> DagsterProject:
    project = DagsterProject.new(root)
    for number in range(60):
        project.write(f"docs/more-{number}.md")
    project.configure(SHARDS)
    assert project.build()[1] == []
    return project


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProject]:
    """The UI over a built project."""
    root = tmp_path_factory.mktemp("served")
    project = _new(root / "project")
    with served(project, root / "log") as opened:
        yield opened
    project.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterProject]:
    """The same project, built by nobody but `arborist build`."""
    project = _new(tmp_path_factory.mktemp("undisturbed") / "project")
    yield project
    project.close()


def _configured(ui: ServedProject, undisturbed: DagsterProject, max_characters: int) -> dict[str, str]:
    """Put every shard behind, and return the roots that it must come to."""
    for project in (ui.project, undisturbed):
        project.configure(SHARDS, max_characters)
    undisturbed.build()
    return roots(undisturbed.corpus)


def test_a_run_killed_at_any_step_holds_nothing_up_and_the_next_one_finishes(
    ui: ServedProject, undisturbed: DagsterProject
) -> None:
    choose = random.Random(20_261_130)
    _configured(ui, undisturbed, 59)
    whole = ui.launch("build_shards", NAMES)
    assert ui.await_run(whole) == "SUCCESS"
    events = len(ui.project.instance.all_logs(whole))
    killed_at: list[str] = []
    for trial in range(2 * TRIALS):
        if len(killed_at) == TRIALS:
            break
        expected = _configured(ui, undisturbed, 60 + trial)
        run = ui.launch("build_shards", NAMES)
        if not _killed(ui, run, events * (trial % TRIALS) // TRIALS, choose):
            continue
        assert ui.await_run(run) == "FAILURE"
        killed_at.append(_last_step(ui.project.instance, run))
        _every_published_shard_is_whole(ui.project)
        assert ui.await_run(ui.launch("build_shards", NAMES)) == "SUCCESS"
        assert roots(ui.project.corpus) == expected
        assert leftovers(ui.project.home) == []
        assert ui.project.unsynced(ASSETS) == {}
        assert ui.project.instance.get_runs(dg.RunsFilter(statuses=AT_WORK)) == []
        assert _held(ui.project.instance) == 0
    print(f"{len(killed_at)} runs were killed, at: {', '.join(killed_at)}")
    assert len(killed_at) == TRIALS
    assert {"document_chunks", "fts_index", "corpus_snapshot"} <= set(killed_at)


def _killed(ui: ServedProject, run: str, event: int, choose: random.Random) -> bool:
    """Kill the run's process, alone or with all that it has started, soon after that many of its events."""
    instance = ui.project.instance
    worker = int(ui.until(lambda: _worker(instance, run)))
    try:
        handle = os.pidfd_open(worker)
    except ProcessLookupError:
        return False
    try:
        ui.until(lambda: len(instance.all_logs(run)) >= event or _has_ended(handle, 0))
        if _has_ended(handle, choose.uniform(0, MOST_SECONDS_BEHIND_AN_EVENT)):
            return False
        its_own = _descendants(worker) if choose.random() < 0.5 else []
        for process in [worker, *its_own]:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    finally:
        os.close(handle)
    return ui.await_run(run) != "SUCCESS"


def _has_ended(handle: int, seconds: float) -> bool:
    """Whether the process ends within that time."""
    return bool(select.select([handle], [], [], seconds)[0])


def _worker(instance: dg.DagsterInstance, run: str) -> str | None:
    """The number of the process that the run is executed in, once it says so."""
    for entry in instance.all_logs(run, of_type=dg.DagsterEventType.ENGINE_EVENT):
        if found := re.match(r"Started process for run \(pid: (\d+)\)", entry.message):
            return found[1]
    return None


def _descendants(process: int) -> list[int]:
    """All living processes that were started by this one, or by one that was."""
    try:
        found = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    return found + [further for child in found for further in _descendants(child)]


def _last_step(instance: dg.DagsterInstance, run: str) -> str:
    """The step that the run was at when it ended; empty where it had begun none."""
    steps = [entry.step_key for entry in instance.all_logs(run) if entry.step_key]
    return steps[-1] if steps else ""


def _every_published_shard_is_whole(project: DagsterProject) -> None:
    for path in project.home.shards_folder.glob("*.db"):
        with Shard(path) as shard:
            assert [*shard.content_faults(), *shard.index_faults()] == []


def _held(instance: dg.DagsterInstance) -> int:
    """How many places of the pool are taken."""
    return int(instance.event_log_storage.get_concurrency_info(POOL).active_slot_count)


def test_two_backfills_launched_at_once_end_at_the_roots_of_one(
    ui: ServedProject, undisturbed: DagsterProject
) -> None:
    expected = _configured(ui, undisturbed, 45)
    backfills = [ui.launch_backfill(ASSETS, NAMES) for _ in range(2)]
    assert [ui.await_backfill(backfill) for backfill in backfills] == ["COMPLETED_SUCCESS"] * 2
    assert roots(ui.project.corpus) == expected
    assert ui.project.unsynced(ASSETS) == {}
    assert ui.project.check("shards_current").passed
    assert _held(ui.project.instance) == 0
    taken_over = [run for run in _runs_of(ui.project.instance, backfills) if _took_over(ui.project.instance, run)]
    assert len(taken_over) == 1


def _runs_of(instance: dg.DagsterInstance, backfills: list[str]) -> list[str]:
    tagged = [instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill})) for backfill in backfills]
    return [run.run_id for runs in tagged for run in runs]


def _took_over(instance: dg.DagsterInstance, run: str) -> bool:
    """Whether the run says that it did not make again what the other had made."""
    return any("made since this was asked for" in entry.message for entry in instance.all_logs(run))
