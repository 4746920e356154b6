"""The local Dagster instance under `$ARBORIST_HOME/dagster`."""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from dagster._core.instance.ref import InstanceRef  # the one way to an instance that differs from its file

from arborist.errors import InputError
from arborist.files import replacing
from arborist.home import Home
from arborist_dagster.settings import PROJECT

INSTANCE_FILE = "dagster.yaml"
# What a command of ours prints is for its caller; to keep it, Dagster starts four processes a step.
WITHOUT_OUTPUT: Any = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
        "config": {},
    }
}
STARTED_BY_BUILD = {"arborist/started_by": "build"}
AT_WORK = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def prepare_instance(home: Home) -> Path:
    """The folder of the instance, made on first use with the project's `dagster.yaml` and its databases."""
    with open_instance(home):
        return home.dagster_folder.absolute()


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance, made on first use; one process at a time may make it, others wait.

    Raises InputError where its folder, its `dagster.yaml` or its databases cannot be used.
    """
    folder = home.dagster_folder.absolute()
    if not (folder / INSTANCE_FILE).is_file():
        with replacing(folder / INSTANCE_FILE) as partial:
            shutil.copyfile(PROJECT / INSTANCE_FILE, partial)
    # Several processes that make the instance's databases at once fail (`dagster.md`, B8), so each waits its turn.
    with _turn(folder / "first-use"), _told_plainly(folder):
        return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=WITHOUT_OUTPUT))


@contextmanager
def _told_plainly(folder: Path) -> Iterator[None]:
    # An instance that is opened needs it anyway; loading the definitions does not, and it takes a while.
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (yaml.YAMLError, dg.DagsterInvalidConfigError, dg.DagsterInvariantViolationError) as error:
        remedy = f"mend it, or delete it to get {PROJECT / INSTANCE_FILE} again"
        raise InputError.at(folder / INSTANCE_FILE, "", "Dagster cannot use these settings", remedy) from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        remedy = "move the folder away: it holds the history of runs alone, and a new one is made"
        raise InputError.at(folder, "", "Dagster's databases there cannot be read", remedy) from error


@contextmanager
def building_alone(home: Home) -> Iterator[dg.DagsterInstance]:
    """The instance, for the one build that may be at work on it; a second one waits, then finds little to do."""
    with open_instance(home) as instance, _turn(_build_lock(home)):
        yield instance


def end_dead_builds(instance: dg.DagsterInstance) -> int:
    """End the runs of builds that were killed; return how many. Only for who knows that no build is at work."""
    return _end(instance, instance.get_runs(dg.RunsFilter(tags=STARTED_BY_BUILD, statuses=AT_WORK)))


def end_dead_builds_of(home: Home, instance: dg.DagsterInstance) -> int:
    """End the runs of builds that were killed; return how many. None while a build is at work."""
    with _turn_if_free(_build_lock(home)) as free:
        return end_dead_builds(instance) if free else 0


def serve_alone(home: Home) -> None:
    """Take the instance for the one UI that may work on it, as long as this process lives, and end its dead runs.

    The process stays the same when it becomes another program. Raises InputError where a UI is there already.
    """
    lock = os.open(_lock_file(home.dagster_folder.absolute() / "serve"), os.O_CREAT | os.O_RDWR)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        remedy = "use that one, or stop it first"
        raise InputError.at(home.dagster_folder, "", "a UI is running over this home", remedy) from error
    with open_instance(home) as instance:
        _end(
            instance,
            [
                run
                for run in instance.get_runs(dg.RunsFilter(statuses=AT_WORK))
                if not STARTED_BY_BUILD.items() <= run.tags.items()
            ],
        )


def _end(instance: dg.DagsterInstance, dead: Sequence[dg.DagsterRun]) -> int:
    for run in dead:
        instance.report_run_failed(run, "The process of this run ended before the run did.")
        # Else what waits for the pool waits for the dead as well.
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return len(dead)


def _build_lock(home: Home) -> Path:
    return home.dagster_folder.absolute() / "build"


def _lock_file(name: Path) -> Path:
    name.parent.mkdir(parents=True, exist_ok=True)
    return name.with_name(f".{name.name}.lock")


@contextmanager
def _turn(name: Path) -> Iterator[None]:
    """Wait for a lock and hold it: the kernel lets go of it when this process ends, however it ends."""
    with _lock_file(name).open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _turn_if_free(name: Path) -> Iterator[bool]:
    """Hold a lock where nobody else does; whether it is held."""
    with _lock_file(name).open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
