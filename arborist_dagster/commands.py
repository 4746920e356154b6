"""Commands that drive Dagster: `arborist build`.

Dagster takes a second to import, so it is imported by the command that runs, not by the list of commands.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arborist.cli.options import config_option, home_option, json_option
from arborist.progress import watched_by
from arborist.workspace import Workspace
from arborist_dagster.settings import Settings

if TYPE_CHECKING:
    from arborist_dagster.building import Builder, Step


@click.command()
@home_option
@config_option
@json_option
def build(home: Path, config: Path, as_json: bool) -> None:
    """Bring the corpus up to date: read what changed, chunk and index the shards that are behind."""
    from arborist_dagster.building import SNAPSHOT, Builder, Step, reading_steps, shard_steps
    from arborist_dagster.instance import open_instance

    workspace = Workspace.open(home, config)
    corpus = workspace.corpus
    done: list[Step] = []
    with open_instance(workspace.home) as instance:
        builder: Builder | None = None
        for steps_of in (reading_steps, shard_steps):
            steps = steps_of(corpus)
            if steps:
                builder = builder or Builder(Settings(home.absolute(), config.absolute()), instance)
                _run(builder, steps)
                done += steps
        root = corpus.snapshot().root
        builder = builder or Builder(Settings(home.absolute(), config.absolute()), instance)
        if not builder.snapshot_is_recorded(root):
            _run(builder, [Step((SNAPSHOT,), None)])
            done.append(Step((SNAPSHOT,), None))
    _report(done, root, as_json=as_json)


def _run(builder: "Builder", steps: Sequence["Step"]) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=sum(step.units for step in steps))
        with watched_by(lambda unit: bar.update(task, advance=1, description=unit)):
            for step in steps:
                builder.run(step)


def _report(done: Sequence["Step"], root: str, *, as_json: bool) -> None:
    if as_json:
        steps = [{"assets": step.assets, "partitions": step.partitions} for step in done]
        click.echo(json.dumps({"steps": steps, "snapshot_root": root}, indent=2))
        return
    for step in done:
        click.echo(f"built {', '.join(step.assets)}" + (f": {_named(step.partitions)}" if step.partitions else ""))
    if not done:
        click.echo("everything is up to date")
    click.echo(f"corpus snapshot {root}")


def _named(partitions: Sequence[str]) -> str:
    shown = ", ".join(partitions[:6])
    return shown if len(partitions) <= 6 else f"{shown} and {len(partitions) - 6} more"
