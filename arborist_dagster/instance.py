"""The local Dagster instance under `$ARBORIST_HOME/dagster`."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from arborist.files import replacing
from arborist.home import Home
from arborist_dagster.settings import PROJECT

INSTANCE_FILE = "dagster.yaml"


def prepare_instance(home: Home) -> Path:
    """The folder of the instance, made on first use with the project's `dagster.yaml` and its databases."""
    with open_instance(home):
        return home.dagster_folder.absolute()


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance, made on first use; one process at a time may make it, others wait."""
    folder = home.dagster_folder.absolute()
    if not (folder / INSTANCE_FILE).is_file():
        with replacing(folder / INSTANCE_FILE) as partial:
            shutil.copyfile(PROJECT / INSTANCE_FILE, partial)
    # Several processes that make the instance's databases at once fail (`dagster.md`, B8), so each waits its turn.
    with _turn(folder / "first-use"):
        return dg.DagsterInstance.from_config(str(folder))


@contextmanager
def building_alone(home: Home) -> Iterator[dg.DagsterInstance]:
    """The instance, for the one build that may be at work on it; a second one waits, then finds little to do."""
    with open_instance(home) as instance, _turn(home.dagster_folder.absolute() / "build"):
        yield instance


@contextmanager
def _turn(name: Path) -> Iterator[None]:
    """Hold what `replacing` locks, writing nothing: the kernel lets go of it when this process ends."""
    with replacing(name):
        yield
