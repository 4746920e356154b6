"""A build that is killed at any instant leaves nothing that the next one cannot finish."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import dagster as dg
import pytest

from arborist.corpus.shard import Shard
from tests.dagster_project import DagsterProject, leftovers, processes_of, roots

pytestmark = pytest.mark.slow

KILLS = 20
SHARDS = {"docs": 5, "trees": 1}
AT_WORK = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.NOT_STARTED]


def _new(root: Path) -> DagsterProject:
    """Enough shards that a build works in several processes."""
    project = DagsterProject.new(root)
    for number in range(60):
        project.write(f"docs/more-{number}.md")
    project.configure(SHARDS)
    return project


def _changed(project: DagsterProject, trial: int) -> None:
    """Another edit and another chunk size, so that every trial has documents, chunks and shards to build."""
    project.write("docs/lamp.md", f"The lamp was moved {trial} times.\n")
    project.configure(SHARDS, max_characters=40 + trial)


def test_a_killed_build_is_finished_by_the_next(tmp_path: Path) -> None:
    seed = random.Random(20)
    project, undisturbed = _new(tmp_path / "killed"), _new(tmp_path / "undisturbed")
    started = time.monotonic()
    project.arborist("build")
    whole = time.monotonic() - started
    killed = trials = 0
    while killed < KILLS and trials < 2 * KILLS:
        trials += 1
        _changed(project, trials)
        _changed(undisturbed, trials)
        killed += _killed_after(project, seed.uniform(0.05, 0.65) * whole)
        _every_published_shard_is_whole(project)
        assert project.arborist("build").stderr == ""
        assert leftovers(project.home) == []
        undisturbed.build()
        assert roots(project.corpus) == roots(undisturbed.corpus)
        assert project.unsynced() == {}
        assert project.instance.get_runs(dg.RunsFilter(statuses=AT_WORK)) == []
    assert "everything is up to date" in project.arborist("build").stdout
    print(f"{killed} of {trials} builds were killed at work; undisturbed, one takes {whole:.1f} s")
    assert killed == KILLS
    project.close()
    undisturbed.close()


def _killed_after(project: DagsterProject, seconds: float) -> bool:
    """Start a build and kill it, but for the processes it has started: they must end by themselves."""
    with subprocess.Popen(
        project.command("build"),
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as build:
        try:
            build.wait(seconds)
        except subprocess.TimeoutExpired:
            build.kill()
    while processes_of(build.pid):
        os.sched_yield()
    return build.returncode == -signal.SIGKILL


def _every_published_shard_is_whole(project: DagsterProject) -> None:
    for path in project.home.shards_folder.glob("*.db"):
        with Shard(path) as shard:
            assert [*shard.content_faults(), *shard.index_faults()] == []


def test_a_build_outlives_one_of_its_own_processes(tmp_path: Path) -> None:
    project = _new(tmp_path / "project")
    build = subprocess.Popen(
        project.command("build"),
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (workers := _workers_of(build.pid)) and build.poll() is None:
        os.sched_yield()
    os.kill(workers[0], signal.SIGKILL)
    stdout, stderr = build.communicate()
    assert (stderr, build.returncode) == ("", 0)
    assert "built document_chunks, fts_index: docs-000" in stdout
    assert project.unsynced() == {}
    project.close()


def _workers_of(build: int) -> list[int]:
    """The processes that the build's own server of processes has started."""
    found = []
    for pid in processes_of(build):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if pid != build and children:
            found += [int(child) for child in children]
    return found
