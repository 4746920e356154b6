"""The local Dagster instance under `$ARBORIST_HOME/dagster`."""

import shutil
from pathlib import Path

import dagster as dg

from arborist.files import replacing
from arborist.home import Home
from arborist_dagster.settings import PROJECT

INSTANCE_FILE = "dagster.yaml"


def prepare_instance_folder(home: Home) -> Path:
    """Make the instance's folder and put the project's `dagster.yaml` there, unless one is there already."""
    folder = home.dagster_folder.absolute()
    if not (folder / INSTANCE_FILE).is_file():
        with replacing(folder / INSTANCE_FILE) as partial:
            shutil.copyfile(PROJECT / INSTANCE_FILE, partial)
    return folder


def open_instance(home: Home) -> dg.DagsterInstance:
    """The instance, made on first use; one process at a time may make it, others wait."""
    folder = prepare_instance_folder(home)
    # Several processes that make the instance's databases at once fail (`dagster.md`, B8), so each waits its turn.
    with replacing(folder / "first-use"):
        return dg.DagsterInstance.from_config(str(folder))
