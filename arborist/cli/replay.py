"""`arborist replay`: run a record's retrieval, and where it can its answer, again, and compare."""

import json

import click

from arborist.answering.ask import open_asker
from arborist.cli.options import json_option, takes_workspace
from arborist.errors import InputError
from arborist.providence.ledger import Ledger
from arborist.providence.replay import EXIT_CODES, Replay, worst
from arborist.providence.replay import replay as replay_record
from arborist.workspace import Workspace


@click.command()
@click.argument("key", required=False)
@click.option("--all", "every", is_flag=True, help="Replay every record that is not retired.")
@click.option("--model", help="The model the records were made with, where corpus.toml names another today.")
@json_option
@takes_workspace
@click.pass_context
def replay(
    ctx: click.Context, key: str | None, every: bool, model: str | None, as_json: bool, workspace: Workspace
) -> None:
    """Execute the record KEY again from its stored plan and compare every digest.

    Exit code 0 reproduced, 6 the corpus has moved, 7 a policy has, 8 diverged (the same inputs gave another
    result), 2 where a record keeps no plan.
    """
    if (key is None) != every:
        raise InputError("give a cache key, or --all")
    with Ledger.open_readonly(workspace.home.root, workspace.clock) as ledger:
        asker = open_asker(workspace, ledger, model)
        records = [ledger.find(key)] if key else ledger.records()
        replays = [replay_record(record, asker) for record in records]
    outcome = worst(replays)
    if as_json:
        value = {"outcome": outcome, "replays": [_replay_json(item) for item in replays]}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join([*map(_replay_line, replays), f"{len(replays)} replayed: {outcome}"]))
    ctx.exit(EXIT_CODES[outcome])


def _replay_json(item: Replay) -> dict[str, object]:
    return {
        "cache_key": item.cache_key,
        "outcome": item.outcome,
        "parts": list(item.parts),
        "answer_replayed": item.answered,
    }


def _replay_line(item: Replay) -> str:
    answer = "" if item.answered else "  (retrieval only)"
    return f"{item.cache_key[:16]}  {item.outcome}{': ' if item.parts else ''}{', '.join(item.parts)}{answer}"
