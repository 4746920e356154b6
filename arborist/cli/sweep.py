"""`arborist sweep`: what retrieval keywords gain over a list of questions."""

import json
from pathlib import Path

import click

from arborist.answering.ask import open_asker
from arborist.answering.sweep import BARE, MODES, WITH_KEYWORDS, Sweep, read_questions, write_sweep
from arborist.answering.sweep import sweep as run_sweep
from arborist.cli.options import json_option, takes_workspace
from arborist.cli.text import echo_text
from arborist.providence.ledger import Ledger
from arborist.workspace import Workspace


@click.command()
@click.argument("questions", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The Parquet file to write. [default: sweeps/<name of QUESTIONS>.parquet in the home]",
)
@click.option("--model", help="`extractive`, or a model at the endpoint configured in corpus.toml.")
@json_option
@takes_workspace
def sweep(questions: Path, output: Path | None, model: str | None, as_json: bool, workspace: Workspace) -> None:
    """Ask each of QUESTIONS (JSON Lines) bare and with its `retrieval_keywords`, and compare the verdicts."""
    wanted = read_questions(questions)
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        asker = open_asker(workspace, ledger, model)
        result = run_sweep(wanted, asker)
    path = output or workspace.home.sweep_file(questions.stem)
    write_sweep(result, path)
    if as_json:
        click.echo(json.dumps(result.to_json() | {"file": str(path)}, ensure_ascii=False, indent=2))
    else:
        echo_text(_table(result, path))


def _table(result: Sweep, path: Path) -> str:
    lines = [f"{'verdict':<11} {'retrieval_keywords':<30} question"]
    lines += [
        f"{row.audit_mode:<11} {', '.join(row.retrieval_keywords):<30} {row.question}" for row in result.rows
    ]
    lines += ["", f"{'':<15} {' '.join(f'{mode:>11}' for mode in MODES)}"]
    for variant in (BARE, WITH_KEYWORDS):
        counts = result.counts(variant)
        lines.append(f"{variant:<15} {' '.join(f'{counts[mode]:>11}' for mode in MODES)}")
    return "\n".join([*lines, f"lift            {result.lift:+.3f}", f"written to {path}"])
