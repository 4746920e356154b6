"""Runs as the UI launches them, whose process is killed; and backfills that are launched at once."""

import os
import random
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.code_pointer import CodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import serialize_value

from arborist.corpus.shard import Shard
from arborist_dagster.instance import AT_WORK
from arborist_dagster.settings import PROJECT
from assets.corpus import POOL
from assets.ranges import range_tags
from tests.dagster_project import DagsterProject, leftovers, processes_of, roots
from tests.served import ServedProject, served

TRIALS = 20
# Enough shards that a run works in several processes.
SHARDS = {"docs": 5, "trees": 1}
NAMES = ("docs-000", "docs-001", "docs-002", "docs-003", "docs-004", "trees-000")
ASSETS = ("document_chunks", "fts_index")
CHUNKINGS = (40, 50)
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
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, str]]:
    """The roots that `arborist build` comes to under each chunking where nobody disturbs it."""
    undisturbed = _new(tmp_path_factory.mktemp("undisturbed") / "project")
    found = {}
    for chunking in CHUNKINGS:
        undisturbed.configure(SHARDS, chunking)
        assert undisturbed.build()[1] == []
        found[chunking] = roots(undisturbed.corpus)
    undisturbed.close()
    return found


@pytest.mark.slow
def test_a_run_killed_at_any_step_holds_nothing_up_and_the_next_one_finishes(
    ui: ServedProject, expected: dict[int, dict[str, str]]
) -> None:
    choose = random.Random(20_261_130)
    whole = ui.launch("build_shards", NAMES)
    assert ui.await_run(whole) == "SUCCESS"
    events = len(ui.project.instance.all_logs(whole))
    killed_at: list[str] = []
    for trial in range(2 * TRIALS):
        if len(killed_at) == TRIALS:
            break
        chunking = CHUNKINGS[trial % 2]
        ui.project.configure(SHARDS, chunking)
        run = ui.launch("build_shards", NAMES)
        if not _killed(ui, run, events * (trial % TRIALS) // TRIALS, choose):
            continue
        killed_at.append(_last_step(ui.project.instance, run))
        _every_published_shard_is_whole(ui.project)
        assert ui.await_run(ui.launch("build_shards", NAMES)) == "SUCCESS"
        _assert_finished(ui.project, expected[chunking])
    print(f"{len(killed_at)} runs were killed, at: {', '.join(killed_at)}")
    assert len(killed_at) == TRIALS
    assert {"", *ASSETS} <= set(killed_at)


def _assert_finished(project: DagsterProject, expected: dict[str, str]) -> None:
    """Everything is built, and nothing is left of a run that is over."""
    assert roots(project.corpus) == expected
    assert leftovers(project.home) == []
    assert project.unsynced(ASSETS) == {}
    assert project.instance.get_runs(dg.RunsFilter(statuses=AT_WORK)) == []
    assert _held(project.instance) == 0


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
    """The step that the run had begun last; empty where it had begun none."""
    begun = instance.all_logs(run, of_type=dg.DagsterEventType.STEP_START)
    return str(begun[-1].step_key) if begun else ""


def _every_published_shard_is_whole(project: DagsterProject) -> None:
    for path in project.home.shards_folder.glob("*.db"):
        with Shard(path) as shard:
            assert [*shard.content_faults(), *shard.index_faults()] == []


def _held(instance: dg.DagsterInstance) -> int:
    """How many places of the pool are taken."""
    return int(instance.event_log_storage.get_concurrency_info(POOL).active_slot_count)


@pytest.mark.slow
def test_two_backfills_launched_at_once_end_at_the_roots_of_one(
    ui: ServedProject, expected: dict[int, dict[str, str]]
) -> None:
    chunking = next(size for size in CHUNKINGS if roots(ui.project.corpus) != expected[size])
    ui.project.configure(SHARDS, chunking)
    backfills = [ui.launch_backfill(ASSETS, NAMES) for _ in range(2)]
    assert [ui.await_backfill(backfill) for backfill in backfills] == ["COMPLETED_SUCCESS"] * 2
    _assert_finished(ui.project, expected[chunking])
    assert ui.project.check("shards_current").passed
    taken_over = [run for run in _runs_of(ui.project.instance, backfills) if _took_over(ui.project.instance, run)]
    assert len(taken_over) == 1


def _runs_of(instance: dg.DagsterInstance, backfills: list[str]) -> list[str]:
    tagged = [instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill})) for backfill in backfills]
    return [run.run_id for runs in tagged for run in runs]


def _took_over(instance: dg.DagsterInstance, run: str) -> bool:
    """Whether the run says that it did not make again what the other had made."""
    return any("made since this was asked for" in entry.message for entry in instance.all_logs(run))


@pytest.mark.parametrize("step", ["document_chunks", "fts_index"])
def test_the_command_that_executes_a_run_is_killed_and_the_next_run_finishes(
    project: DagsterProject, tmp_path: Path, step: str
) -> None:
    names = ("docs-000", "docs-001", "trees-000")
    undisturbed = project.copied_to(tmp_path / "undisturbed")
    for each in (project, undisturbed):
        each.configure({"docs": 2, "trees": 1}, max_characters=40)
    undisturbed.build()
    pointer = CodePointer.from_module("arborist_dagster.definitions", "defs", str(PROJECT))
    origin = JobPythonOrigin("build_shards", RepositoryPythonOrigin(sys.executable, pointer))
    run = project.instance.create_run_for_job(
        project.definitions.resolve_job_def(origin.job_name), tags=range_tags(names), job_code_origin=origin
    )
    arguments = serialize_value(ExecuteRunArgs(origin, run.run_id, project.instance.get_ref()))
    worker = subprocess.Popen(
        [sys.executable, "-m", "dagster", "api", "execute_run", arguments],
        env=project.environment,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    while _last_step(project.instance, run.run_id) != step:
        assert worker.poll() is None
    os.killpg(worker.pid, signal.SIGKILL)
    assert worker.wait() == -signal.SIGKILL
    assert processes_of(worker.pid) == []
    _every_published_shard_is_whole(project)
    # What Dagster's code server and its monitoring do once they see that the process is gone.
    project.instance.report_run_failed(run)
    project.instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    assert project.materialize([*ASSETS, "corpus_snapshot"], [names[0], names[-1]]).success
    _assert_finished(project, roots(undisturbed.corpus))
    undisturbed.close()
