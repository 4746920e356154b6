"""Options that many commands take, and the workspace they lead to."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from arborist.workspace import DEFAULT_CONFIG, DEFAULT_HOME, HOME_VARIABLE, Workspace

F = TypeVar("F", bound=Callable[..., Any])

home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar=HOME_VARIABLE,
    default=DEFAULT_HOME,
    show_default=True,
    help=f"Folder of documents, shards and ledger; also ${HOME_VARIABLE}.",
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="ARBORIST_CONFIG",
    default=DEFAULT_CONFIG,
    show_default=True,
    help="The corpus.toml; also $ARBORIST_CONFIG.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for machines.")


def unicode_text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The option's text, refused where it is none: a terminal may send any bytes, and SQLite cannot hold them."""
    if value is not None and any("\ud800" <= character <= "\udfff" for character in value):
        raise click.BadParameter(f"{value!a} is not Unicode text: give it in UTF-8", ctx, param)
    return value


def takes_workspace(command: F) -> Callable[..., Any]:
    """Give the command `--home` and `--config`, and call it with the `workspace` they lead to."""

    @home_option
    @config_option
    @wraps(command)
    def with_workspace(*args: Any, home: Path, config: Path, **kwargs: Any) -> Any:
        return command(*args, workspace=Workspace.open(home, config), **kwargs)

    return with_workspace
