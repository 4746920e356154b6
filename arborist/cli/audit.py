"""`arborist audit-retrieval`: retained retrieval, of a hosted service or of our own, audited from its files alone.

Prints one JSON object. Exit codes: 0 where a person has to review the report, 2 where the audit is blocked or
cannot be made; neither is an acceptance.
"""

import sys
from pathlib import Path
from typing import Any

import click

from arborist.cli.options import config_option, home_option
from arborist.workspace import Workspace


@click.command("audit-retrieval")
@click.option("--input", "input_path", metavar="BUNDLE/audit.json", help="The input of a bundle that was kept.")
@click.option(
    "--ledger", "key", metavar="KEY", help="Write the bundle of this record of the ledger, and audit it."
)
@home_option
@config_option
def audit_retrieval(input_path: str | None, key: str | None, home: Path, config: Path) -> None:
    """Audit retained retrieval offline: what its files show, and no more."""
    if (input_path is None) == (key is None):
        raise click.UsageError("give either --input BUNDLE/audit.json or --ledger KEY")
    if input_path is not None:
        sys.exit(_audited(input_path))
    sys.exit(_audited_record(Workspace.open(home, config), str(key)))


def _audited(input_path: str) -> int:
    from arborist.providence.retrieval_audit import is_record_bundle, verify_record_file
    from arborist.retrieval_audit import main

    if is_record_bundle(input_path):
        return _printed(verify_record_file(input_path))
    return main([f"--input={input_path}"])


def _audited_record(workspace: Workspace, key: str) -> int:
    # The engine below opens shards; a bundle that is only read needs none of it.
    from arborist.providence.ledger import Ledger
    from arborist.providence.retrieval_audit import verify_record_file
    from arborist.providence.retrieval_bundle import FILES, bundle_folder, write_retrieval_bundle

    with Ledger.open_readonly(workspace.home.root, workspace.clock) as ledger:
        record = ledger.find(key)
    folder = bundle_folder(workspace, record)
    report = verify_record_file(write_retrieval_bundle(workspace, record, folder))
    written = [str(folder.relative_to(workspace.home.root) / name) for name in sorted(FILES)]
    return _printed(report | {"mutation": "bundle-written", "writes_performed": written})


def _printed(report: dict[str, Any]) -> int:
    from arborist.retrieval_audit import exit_code
    from arborist.retrieval_audit.report import report_line

    click.echo(report_line(report), nl=False)
    return exit_code(report)
