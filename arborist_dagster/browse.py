"""Ledger and shards of one home in a browser, for reading: `python -m arborist_dagster.browse --port 8001`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from arborist.cli.main import main
from arborist.cli.options import home_option
from arborist.errors import InputError
from arborist.home import Home
from arborist_dagster.serve import ADDRESS, refuse_taken
from arborist_dagster.settings import PROJECT

if TYPE_CHECKING:
    from datasette.app import Datasette

DESCRIPTIONS = PROJECT / "datasette.yaml"
EACH_SHARD = "each_shard"
# Digests and JSON are cut in tables, so that what stands beside them can be seen; the page of a row has all of it.
SETTINGS = {"truncate_cells_html": 160, "default_page_size": 50}


@click.command()
@home_option
@click.option("--port", type=click.IntRange(1, 65535), default=8001, show_default=True, help="Port of Datasette.")
def browse(home: Path, port: int) -> None:
    """Serve the ledger and the shards of this home on 127.0.0.1, read-only."""
    reader = browsed(Home(home.absolute()))
    refuse_taken(port, "make browse BROWSE_PORT")

    import uvicorn

    click.echo(f"{home}: to be read at http://{ADDRESS}:{port} (Ctrl-C ends it)")
    uvicorn.run(reader.app(), host=ADDRESS, port=port, log_level="warning")


def browsed(home: Home) -> "Datasette":
    """Datasette over what there is in the home, described as `datasette.yaml` says.

    Raises InputError where there is nothing yet.
    """
    shards = sorted(path for path in home.shards_folder.glob("*.db") if not path.name.endswith(".cold.db"))
    ledger = [home.ledger_file] if home.ledger_file.is_file() else []
    if not shards and not ledger:
        raise InputError.at(home.root, "", "there is neither a shard nor a ledger to read", "run `arborist build`")

    from datasette.app import Datasette

    return Datasette(
        files=[str(path) for path in [*ledger, *shards]],
        metadata=metadata([path.stem for path in shards]),
        settings=SETTINGS,
    )


def metadata(shards: Sequence[str]) -> dict[str, Any]:
    """`datasette.yaml` for these shards: Datasette knows a database by its name only, and a shard is one each."""
    described: dict[str, Any] = yaml.safe_load(DESCRIPTIONS.read_text("utf-8"))
    databases = described["databases"]
    each = databases.pop(EACH_SHARD)
    return described | {"databases": databases | dict.fromkeys(shards, each)}


if __name__ == "__main__":
    main(browse)
