"""Runs that are killed, runs that collide, and questions that are asked meanwhile."""

import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from arborist import progress
from arborist.answering.ask import open_asker
from arborist.errors import InputError
from arborist.providence.ledger import Ledger
from arborist.retrieval.retrieve import Query
from arborist_dagster.instance import AT_WORK, open_instance, serve_alone
from assets.corpus import POOL
from assets.ranges import range_tags
from tests.dagster_project import DOCS, DagsterProject, leftovers, roots

SHARDS = ("docs-000", "docs-001", "trees-000")
TRIALS = 20
BUMPED = 40


def _forked(work: Callable[[], object]) -> int:
    """The process that does the work and ends, without what this one would still do on its way out."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return process


def _ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def _counting_calls(at: int, then: Callable[[], object]) -> Iterator[list[int]]:
    """Count the function calls of this thread, and do something at one of them."""
    calls = [0]

    def profile(_: FrameType, event: str, __: Any) -> None:
        if event == "call":
            calls[0] += 1
            if calls[0] == at:
                then()

    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def _calls_of_a_build(project: DagsterProject) -> int:
    with _counting_calls(-1, lambda: None) as calls:
        assert project.build()[1] == []
    return calls[0]


@pytest.mark.slow
def test_a_build_killed_at_any_step_leaves_no_lock_and_no_half_shard_and_the_next_one_finishes(
    project: DagsterProject, tmp_path: Path
) -> None:
    # The first build imports what later ones, and those that are killed, have there already.
    for name in ("first", "whole"):
        whole = project.copied_to(tmp_path / name)
        whole.configure({"docs": 2, "trees": 1}, max_characters=BUMPED)
        calls = _calls_of_a_build(whole)
    expected = roots(whole.corpus)
    choose = random.Random(20_261_130)
    for trial in range(TRIALS):
        victim = project.copied_to(tmp_path / f"victim-{trial}")
        victim.configure({"docs": 2, "trees": 1}, max_characters=BUMPED)
        at = choose.randrange(1, calls * 9 // 10)

        def killed(victim: DagsterProject = victim, at: int = at) -> None:
            with _counting_calls(at, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                victim.build()

        assert _ended(_forked(killed)) == -signal.SIGKILL
        assert set(roots(victim.corpus)) == set(expected)
        assert victim.build()[1] == [], f"killed at call {at} of {calls}"
        assert roots(victim.corpus) == expected
        assert leftovers(victim.home) == []
        assert victim.unsynced() == {}
        assert not victim.instance.get_runs(dg.RunsFilter(statuses=AT_WORK))
        assert _held(victim.instance) == 0
        victim.close()


def _held(instance: dg.DagsterInstance) -> int:
    """How many places of the pool are taken."""
    return int(instance.event_log_storage.get_concurrency_info(POOL).active_slot_count)


@pytest.mark.slow
def test_two_backfills_at_once_build_every_shard_once_and_end_at_the_roots_of_one(
    project: DagsterProject, tmp_path: Path
) -> None:
    one = project.copied_to(tmp_path / "one")
    for each in (one, project):
        each.configure({"docs": 2, "trees": 1}, max_characters=BUMPED)
    one.build()
    asked = [_asked_run(project) for _ in range(2)]
    built = tmp_path / "built.txt"
    processes = [_forked(lambda run=run: _executed(project, run, built)) for run in asked]
    assert [_ended(process) for process in processes] == [0, 0]
    units = Counter(unit for unit in built.read_text().splitlines() if unit != "corpus snapshot")
    assert units == Counter({f"{step} {shard}": 1 for step in ("chunks", "index") for shard in SHARDS})
    assert roots(project.corpus) == roots(one.corpus)
    assert project.unsynced() == {}
    one.close()


def _asked_run(project: DagsterProject) -> str:
    job = project.definitions.resolve_job_def("build_shards")
    run = project.instance.create_run_for_job(job, tags=range_tags(SHARDS))
    return str(run.run_id)


def _executed(project: DagsterProject, run_id: str, built: Path) -> None:
    """Execute a run that was asked for, and note each unit of work that it did."""
    job = project.definitions.resolve_job_def("build_shards")
    with open_instance(project.home) as instance, built.open("a", buffering=1) as file:
        run = instance.get_run_by_id(run_id)
        assert run is not None
        with progress.watched_by(lambda unit: print(unit, file=file)):
            assert execute_run(InMemoryJob(job), run, instance).success


def test_questions_are_answered_while_shards_are_rebuilt(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=400)
    project.build()
    old = project.corpus.chunker.version
    project.configure({"docs": 2, "trees": 1}, max_characters=300)
    process = _forked(project.build)
    versions = Counter[str]()
    done = 0
    with Ledger.open(project.home.root, project.workspace.clock) as ledger:
        asker = open_asker(project.workspace, ledger)
        while not done:
            for name in DOCS:
                reply = asker.ask(Query(f"Where is the {name} kept?"))
                assert any(source.uri.endswith(f"{name}.md") for source in reply.sources)
                versions[reply.record.chunking_version] += 1
            done, status = os.waitpid(process, os.WNOHANG)
    assert os.waitstatus_to_exitcode(status) == 0
    assert old in versions
    assert project.check("shards_current").passed


def test_a_second_ui_over_a_home_is_refused_and_the_runs_that_died_with_the_first_are_ended(
    project: DagsterProject,
) -> None:
    job = project.definitions.resolve_job_def("build_shards")
    dead = project.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)

    def second() -> None:
        serve_alone(project.home)
        with pytest.raises(InputError, match="a UI is running over this home"):
            serve_alone(project.home)

    assert _ended(_forked(second)) == 0
    run = project.instance.get_run_by_id(dead.run_id)
    assert run is not None and run.status is dg.DagsterRunStatus.FAILURE
