"""The command group: each command is imported when it is called, so that `ask` loads nothing it does not use."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module

import click

from arborist import __version__
from arborist.errors import ArboristError

PLUGIN_GROUP = "arborist.commands"

COMMANDS: Mapping[str, str] = {
    "ask": "arborist.cli.ask:ask",
    "audit-retrieval": "arborist.cli.audit:audit_retrieval",
    "baseline": "arborist.cli.evaluation:baseline",
    "corpus": "arborist.cli.corpus:corpus",
    "evaluate": "arborist.cli.evaluation:evaluate",
    "evaluations": "arborist.cli.evaluation:evaluations",
    "golden": "arborist.cli.evaluation:golden",
    "inspect": "arborist.cli.providence:inspect",
    "ledger": "arborist.cli.ledger:ledger",
    "prove": "arborist.cli.ledger:prove",
    "providence": "arborist.cli.providence:providence",
    "replay": "arborist.cli.replay:replay",
    "search": "arborist.cli.corpus:search",
    "sweep": "arborist.cli.sweep:sweep",
    "verify-bundle": "arborist.cli.ledger:verify_bundle",
}


class _Commands(click.Group):
    """Commands of the engine by name, and those that the layers above it register as entry points."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # Reading what is installed takes a tenth of the time of `ask`, which does not need it.
        from importlib.metadata import entry_points

        return sorted({*COMMANDS, *(point.name for point in entry_points(group=PLUGIN_GROUP))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, attribute = COMMANDS[cmd_name].split(":")
            found: click.Command = getattr(import_module(module), attribute)
            return found
        from importlib.metadata import entry_points

        for point in entry_points(group=PLUGIN_GROUP, name=cmd_name):
            plugin: click.Command = point.load()
            return plugin
        return None


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="arborist")
def cli() -> None:
    """Answers from your own documents, each with its evidence, its verdict, and a proof of how it came about."""


def main(command: click.Command = cli) -> None:
    """Run a command line; an error of ours is its text on stderr and its exit code."""
    try:
        # Outside its standalone mode click returns the code that a command exits with.
        sys.exit(command.main(standalone_mode=False) or 0)
    except ArboristError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted", err=True)
        sys.exit(130)
    except OSError as error:
        # What no command told more closely: a folder that may not be read, an output that cannot be written.
        place = f"{os.fspath(error.filename)}: " if error.filename else ""
        click.echo(f"Error: {place}{error.strerror or 'the system refuses it'}", err=True)
        sys.exit(ArboristError.exit_code)
