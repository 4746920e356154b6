"""Commands that drive Dagster: `arborist build`.

Dagster takes a second to import, so it is imported by the command that runs, not by the list of commands.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arborist.cli.options import config_option, home_option, json_option
from arborist.errors import CorpusError
from arborist.progress import watched_by
from arborist.workspace import Workspace
from arborist_dagster.settings import Settings

if TYPE_CHECKING:
    from arborist_dagster.building import Build, Step, StepResult


@click.command()
@home_option
@config_option
@json_option
def build(home: Path, config: Path, as_json: bool) -> None:
    """Bring the corpus up to date: read what changed, chunk and index the shards that are behind."""
    workspace = Workspace.open(home, config)

    from arborist_dagster.building import Build
    from arborist_dagster.instance import building_alone

    results: list[StepResult] = []
    with building_alone(workspace.home) as instance:
        work = Build(Settings(home.absolute(), config.absolute()), workspace.corpus, instance)
        for steps in work.phases():
            results += _run(work, steps)
    made = [step for result in results for step in result.made]
    failures = [result.failure for result in results if result.failure]
    root = workspace.corpus.snapshot().root if workspace.corpus.published_shards() else None
    if as_json:
        click.echo(json.dumps(_as_json(made, failures, root), indent=2))
    else:
        _print(made, root)
    if failures:
        raise CorpusError("\n       ".join(failures))


def _run(work: "Build", steps: Sequence["Step"]) -> list["StepResult"]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=sum(step.units for step in steps))
        with watched_by(lambda unit: bar.update(task, advance=1, description=unit)):
            return [work.run(step) for step in steps]


def _as_json(made: Sequence["Step"], failures: Sequence[str], root: str | None) -> dict[str, object]:
    return {
        "steps": [{"assets": step.assets, "partitions": step.partitions} for step in made],
        "failures": failures,
        "snapshot_root": root,
    }


def _print(made: Sequence["Step"], root: str | None) -> None:
    for step in made:
        click.echo(f"built {', '.join(step.assets)}" + (f": {_named(step.partitions)}" if step.partitions else ""))
    if root is None:
        return
    if not made:
        click.echo("everything is up to date")
    click.echo(f"corpus snapshot {root}")


def _named(partitions: Sequence[str]) -> str:
    shown = ", ".join(partitions[:6])
    return shown if len(partitions) <= 6 else f"{shown} and {len(partitions) - 6} more"
