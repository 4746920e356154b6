"""`arborist ledger`, `arborist prove` and `arborist verify-bundle`: whether what was recorded still stands.

Exit codes of `ledger verify`: 0 sound and anchored in a kept checkpoint, 4 tampered with, 5 unanchored, 2 where it
cannot be looked at. `ledger fsck` exits with 0 or 4, `verify-bundle` with 0 or 4.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arborist.cli.options import home_option, json_option, takes_workspace
from arborist.clock import SystemClock
from arborist.errors import InputError
from arborist.providence.ledger import Ledger
from arborist.providence.ledger_fault import LedgerFault
from arborist.workspace import Workspace

if TYPE_CHECKING:
    from arborist.providence.backup import LedgerCopy
    from arborist.providence.checkpoint import VerifierKey
    from arborist.providence.fsck import Progress

_file_option = click.Path(path_type=Path, dir_okay=False)
_public_key_option = click.option(
    "--public-key", help="The key that is trusted: its text, or a file that holds it. Default: the home's own."
)


@click.group()
def ledger() -> None:
    """The ledger: sign it, verify it, look for faults in it."""


@ledger.command()
@click.option("--key", "key_file", type=_file_option, help="An Ed25519 key in PEM. Default: the home's own.")
@home_option
@json_option
def checkpoint(key_file: Path | None, home: Path, as_json: bool) -> None:
    """Sign size and root of the log as it stands. Keep what this prints where the ledger is not."""
    from arborist.providence.audit_log import sign_checkpoint
    from arborist.providence.checkpoint import SigningKey

    with Ledger.open(home, SystemClock()) as opened:
        key = SigningKey.from_file(key_file) if key_file else SigningKey.of_home(home)
        signed = sign_checkpoint(home, opened, key)
    if as_json:
        value = {"checkpoint": signed.note, "public_key": signed.key.text(), "file": str(signed.path)}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return
    click.echo(signed.note, nl=False)
    click.echo(f"written to {signed.path}\npublic key {signed.key.text()}", err=True)


@ledger.command()
@click.option("--checkpoint", "note_file", type=_file_option, help="A checkpoint that was kept elsewhere.")
@_public_key_option
@home_option
@json_option
def verify(note_file: Path | None, public_key: str | None, home: Path, as_json: bool) -> None:
    """Recompute everything the ledger holds, and hold it against a kept checkpoint."""
    from arborist.providence.audit_log import public_key_file
    from arborist.providence.verification import EXIT_CODES, Anchor, verify_ledger

    anchor = None
    if note_file is not None:
        note = _text_of(note_file, "the checkpoint")
        anchor = Anchor(note, _verifier_key(public_key or str(public_key_file(home))))
    with _progress(as_json) as progress:
        found = verify_ledger(home, anchor, progress=progress)
    if as_json:
        value = {
            "verdict": found.verdict,
            "events": found.events,
            "records": found.records,
            "root": found.root,
            "anchored_events": found.anchored_events,
            "faults": [fault.to_json() for fault in found.faults],
        }
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        _print_faults(found.faults)
        anchored = f", the first {found.anchored_events} anchored" if found.anchored_events else ""
        click.echo(f"{found.verdict}: {found.records} records, {found.events} events{anchored}")
        if found.verdict == "unanchored":
            click.echo("(a cut tail or another ledger would look the same: give a kept --checkpoint)")
    sys.exit(EXIT_CODES[found.verdict])


@ledger.command()
@home_option
@json_option
def fsck(home: Path, as_json: bool) -> None:
    """Walk events, chain, Merkle log, records and run DAGs; list every fault with its place."""
    from arborist.providence.fsck import fsck as walk
    from arborist.providence.verification import EXIT_CODES, Verdict

    with _progress(as_json) as progress:
        report = walk(home, progress=progress)
    if as_json:
        value = {
            "events": report.events,
            "records": report.records,
            "faults": [fault.to_json() for fault in report.faults],
        }
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        _print_faults(report.faults)
        click.echo(f"{len(report.faults)} faults in {report.records} records and {report.events} events")
    sys.exit(EXIT_CODES[Verdict.TAMPERED] if report.faults else 0)


@ledger.command()
@click.argument("file", type=_file_option)
@home_option
@json_option
def backup(file: Path, home: Path, as_json: bool) -> None:
    """Copy the ledger to FILE as it is at one moment, also while questions are answered."""
    from arborist.providence.backup import back_up

    _print_copy(back_up(home, file, SystemClock()), as_json)


@ledger.command()
@click.argument("file", type=_file_option)
@home_option
@json_option
def restore(file: Path, home: Path, as_json: bool) -> None:
    """Make the backup FILE the ledger of a home that has none."""
    from arborist.providence.backup import restore as restored

    _print_copy(restored(file, home, SystemClock()), as_json)


@click.command()
@click.argument("key")
@click.option("-o", "--output", type=_file_option, required=True, help="Where the bundle is written to.")
@takes_workspace
def prove(key: str, output: Path, workspace: Workspace) -> None:
    """Write all that proves the record KEY to one file, which `verify-bundle` checks without anything else.

    Signs a checkpoint with the home's own key where none covers the record yet.
    """
    from arborist.providence.audit_log import AuditLog, last_checkpoint, sign_checkpoint
    from arborist.providence.checkpoint import SigningKey
    from arborist.providence.proof import PublishedShards
    from arborist.providence.proof import prove as bundle_of
    from arborist.providence.searched_shards import SearchedShards

    home = workspace.home.root
    with Ledger.open(home, workspace.clock) as opened, PublishedShards(home) as published:
        record = opened.find(key)
        shards = SearchedShards(published, opened, workspace.corpus.chunker)
        signed = last_checkpoint(opened)
        if signed is None or signed[2] < record.record_id:
            sign_checkpoint(home, opened, SigningKey.of_home(home))
        bundle = bundle_of(opened, AuditLog.of(opened), shards, record)
    try:
        output.write_bytes(bundle)
    except OSError as error:
        raise InputError.at(output, "", "the bundle cannot be written", "check the folder") from error
    click.echo(f"{output}: {len(bundle)} bytes prove {record.cache_key}")


@click.command("verify-bundle")
@click.argument("file", type=_file_option)
@_public_key_option
@json_option
def verify_bundle(file: Path, public_key: str | None, as_json: bool) -> None:
    """Check a bundle written by `prove`; needs no ledger, no shards and no network."""
    from arborist.providence.bundle_verifier import REFUSED, BundleError
    from arborist.providence.bundle_verifier import verify_bundle as verified

    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError.at(file, "", "the bundle cannot be read", "check the path") from error
    trusted = _verifier_key(public_key).text() if public_key else None
    try:
        report = verified(data, trusted)
    except BundleError as error:
        click.echo(f"refused: {file}: {error}", err=True)
        sys.exit(REFUSED)
    shown = {name: getattr(report, name) for name in report.__slots__}
    if as_json:
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    for name, value in shown.items():
        click.echo(f"{name:<14} {value}")
    if trusted is None:
        click.echo("(whose key this is, the bundle alone cannot say: give the --public-key that you trust)")


def _print_copy(copy: "LedgerCopy", as_json: bool) -> None:
    value = {"file": str(copy.path), "events": copy.events, "head": copy.head, "bytes": copy.size}
    click.echo(
        json.dumps(value, indent=2)
        if as_json
        else f"{copy.path}: {copy.events} events, head {copy.head}, {copy.size} bytes"
    )


def _print_faults(faults: Sequence[LedgerFault]) -> None:
    for fault in faults:
        click.echo(str(fault))


def _text_of(path: Path, what: str) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError.at(path, "", f"{what} cannot be read", "check the path") from error
    except UnicodeDecodeError as error:
        raise InputError.at(path, f"byte {error.start}", f"{what} is not UTF-8") from error


def _verifier_key(text: str) -> "VerifierKey":
    """The key that the text is, or that the file of that name holds."""
    from arborist.providence.checkpoint import VerifierKey

    path = Path(text)
    try:
        return VerifierKey.from_text(_text_of(path, "the public key") if "+" not in text else text)
    except InputError as error:
        raise InputError(f"{error} (--public-key takes name+key id+base64, or a file with that)") from error


@contextmanager
def _progress(as_json: bool) -> Iterator["Progress | None"]:
    """A bar on a terminal, for a ledger that takes a while; nothing for machines."""
    if as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("events", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
