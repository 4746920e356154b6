"""The Dagster UI over one home: `python -m arborist_dagster.serve --port 3000`."""

import os
import signal
import socket
import sys
from pathlib import Path

import click

from arborist.cli.main import main
from arborist.cli.options import config_option, home_option
from arborist.errors import InputError
from arborist.workspace import HOME_VARIABLE, Workspace
from arborist_dagster.settings import CONFIG_VARIABLE, PROJECT

ADDRESS = "127.0.0.1"


@click.command()
@home_option
@config_option
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True, help="Port of the UI.")
def serve(home: Path, config: Path, port: int) -> None:
    """Become `dagster dev` on 127.0.0.1, over the instance of this home."""
    workspace = Workspace.open(home, config)

    from arborist_dagster.instance import prepare_instance, serve_alone

    refuse_taken(port, "make dev PORT")
    instance = prepare_instance(workspace.home)
    serve_alone(workspace.home)
    environment = os.environ | {
        "DAGSTER_HOME": str(instance),
        HOME_VARIABLE: str(home.absolute()),
        CONFIG_VARIABLE: str(config.absolute()),
        "PYTHONPATH": os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    # A shell starts background jobs with these ignored; Dagster's processes would inherit that and outlive a stop.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_DFL)
    # Dagster warns of a dagster.yaml where it is started, so that must not be the checkout; `PYTHONPATH` is.
    os.chdir(instance)
    os.execve(sys.executable, [sys.executable, *_dagster_dev(port)], environment)


def _dagster_dev(port: int) -> list[str]:
    quiet = ["-W", "ignore:Function `dev_command` is superseded"]
    return [*quiet, "-m", "dagster", "dev", "-w", str(PROJECT / "workspace.yaml"), "-h", ADDRESS, "-p", str(port)]


def refuse_taken(port: int, command: str) -> None:
    """Raises InputError where another program has the port; `command` is what takes a number to choose another."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            remedy = f"is it running already? else choose another: {command}={port % 65535 + 1}"
            raise InputError.at(
                f"{ADDRESS}:{port}", "", "the port is taken or not yours to use", remedy
            ) from error


if __name__ == "__main__":
    main(serve)
