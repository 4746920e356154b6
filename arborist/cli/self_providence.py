"""`arborist providence promote` and its kin: answers become sources, fall, come back, burn, and go cold."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from arborist.cli.options import json_option, takes_workspace
from arborist.providence.cold_storage import ColdStorage, Rehydration
from arborist.providence.falsification import FALLEN_STATES, Falsification, falsify, revive
from arborist.providence.kindergarten import DEFAULT_AGE_SECONDS, burn_kindergarten, immature_records
from arborist.providence.ledger import Ledger
from arborist.providence.pass_mark import PassMark
from arborist.providence.promotion import Promoter, PromotionReport
from arborist.workspace import Workspace

SHOWN = 20
MISMATCH_EXIT_CODE = 4
"""What `rehydrate` exits with where a text did not come back as it went."""

dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
reason_option = click.option("--reason", required=True, help="Why; kept in the log.")


@click.command("promote")
@click.option(
    "--kindergarten-seconds", type=click.IntRange(min=0), help="The age at which a record may become a source."
)
@click.option("--full", is_flag=True, help="Judge every record anew, not only what changed since the last pass.")
@dry_run_option
@json_option
@takes_workspace
def promote_records(
    kindergarten_seconds: int | None, full: bool, dry_run: bool, as_json: bool, workspace: Workspace
) -> None:
    """Make STRICT records that have cooled citable, and retire what is no longer allowed."""
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        promoter = Promoter.of(
            workspace.corpus, ledger, workspace.config.policy, workspace.clock.now(), kindergarten_seconds
        )
        since = PassMark() if full else None
        report = promoter.planned(since) if dry_run else promoter.promote(since)
    if as_json:
        click.echo(json.dumps(report.to_json() | {"dry_run": dry_run}, ensure_ascii=False, indent=2))
        return
    _print_report(report, "would be " if dry_run else "")


def _print_report(report: PromotionReport, would_be: str) -> None:
    for name in ("promoted", "superseded", "retired"):
        click.echo(f"{would_be + name:<22} {getattr(report, name):>8}")
    click.echo(f"{'unchanged':<22} {report.unchanged:>8}")
    click.echo(f"{'examined':<22} {report.examined:>8}  of them {report.repeated} say what is promoted already")
    for title, counts in (("waiting", report.waiting), ("rejected", report.rejected)):
        click.echo(f"{title:<22} {sum(counts.values()):>8}{_gates(counts)}")
    for change in report.changes[:SHOWN]:
        reason = f"  ({change.reason})" if change.reason else ""
        click.echo(f"  {change.change:<10} {change.uri}{reason}")
    if len(report.changes) > SHOWN:
        click.echo(f"  and {len(report.changes) - SHOWN} more")
    if report.shards:
        click.echo(f"built anew {', '.join(report.shards)}")
    click.echo(f"root {report.root}")


def _gates(counts: Mapping[str, int]) -> str:
    closed = [f"{gate} {count}" for gate, count in counts.items() if count]
    return f"  by gate: {', '.join(closed)}" if closed else ""


@click.command("falsify")
@click.argument("key")
@click.option("--state", type=click.Choice(FALLEN_STATES), required=True, help="What the record is from now on.")
@reason_option
@json_option
@takes_workspace
def falsify_record(key: str, state: str, reason: str, as_json: bool, workspace: Workspace) -> None:
    """Take back the word of the record with that cache KEY, and list every record that leans on it."""
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        done = falsify(ledger, ledger.find(key).cache_key, state, reason)
    _print_falsification(done, "is refused from now on", as_json=as_json)


@click.command("revive")
@click.argument("key")
@reason_option
@json_option
@takes_workspace
def revive_record(key: str, reason: str, as_json: bool, workspace: Workspace) -> None:
    """Let the falsified record with that cache KEY stand again."""
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        done = revive(ledger, ledger.find(key).cache_key, reason)
    _print_falsification(done, "stands again if nothing else is against it", as_json=as_json)


def _print_falsification(done: Falsification, effect: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False, indent=2))
        return
    click.echo(f"{done.record.cache_key[:16]} is {done.record.falsification_state}: {done.record.question}")
    leaning = done.blast_radius
    click.echo(f"{len(leaning)} records lean on it" + (f", each {effect}:" if leaning else ""))
    for item in leaning[:SHOWN]:
        promoted = "  (promoted itself)" if item.promoted else ""
        click.echo(f"  {item.cache_key[:16]}  {item.audit_mode:<10} {item.question}{promoted}")
    if len(leaning) > SHOWN:
        click.echo(f"  and {len(leaning) - SHOWN} more (--json lists all)")


@click.command("burn-kindergarten")
@click.option(
    "--older-than",
    type=click.IntRange(min=0),
    default=DEFAULT_AGE_SECONDS,
    show_default=True,
    help="Age in seconds from which a record that is not STRICT burns.",
)
@dry_run_option
@json_option
@takes_workspace
def burn(older_than: int, dry_run: bool, as_json: bool, workspace: Workspace) -> None:
    """Delete records that never matured: not STRICT, old, never cited, never promoted; the log keeps digests."""
    now = workspace.clock.now()
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        burnt = (immature_records if dry_run else burn_kindergarten)(ledger, now, older_than)
    if as_json:
        records = [{name: getattr(item, name) for name in item.__slots__} for item in burnt]
        click.echo(json.dumps({"dry_run": dry_run, "records": records}, ensure_ascii=False, indent=2))
        return
    for item in burnt[:SHOWN]:
        click.echo(f"{item.cache_key[:16]}  {item.created_at[:19]}  {item.audit_mode:<10} {item.question}")
    if len(burnt) > SHOWN:
        click.echo(f"and {len(burnt) - SHOWN} more")
    click.echo(f"{len(burnt)} records {'would burn' if dry_run else 'burnt'}")


@click.command("evict-to-cold")
@click.argument("shard")
@dry_run_option
@json_option
@takes_workspace
def evict(shard: str, dry_run: bool, as_json: bool, workspace: Workspace) -> None:
    """Move the texts of SHARD to a Parquet file beside it; it is not searched until it is rehydrated."""
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        storage = ColdStorage(workspace.corpus, ledger)
        eviction = storage.eviction(shard) if dry_run else storage.evict(shard)
    if as_json:
        value = {name: getattr(eviction, name) for name in eviction.__slots__}
        click.echo(json.dumps(value | {"dry_run": dry_run}, indent=2))
        return
    done = "would go" if dry_run else "went"
    click.echo(f"{shard}: {eviction.chunks} chunks {done} cold, {eviction.bytes} bytes before")


@click.command("rehydrate")
@click.argument("shard")
@dry_run_option
@json_option
@takes_workspace
def rehydrate_shard(shard: str, dry_run: bool, as_json: bool, workspace: Workspace) -> None:
    """Bring the texts of SHARD back, each checked against its leaf; what cites a changed one is quarantined."""
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        storage = ColdStorage(workspace.corpus, ledger)
        found = storage.rehydration(shard) if dry_run else storage.rehydrate(shard)
    if as_json:
        click.echo(json.dumps(_rehydration_json(found) | {"dry_run": dry_run}, ensure_ascii=False, indent=2))
    else:
        _print_rehydration(found, dry_run=dry_run)
    if found.mismatches:
        sys.exit(MISMATCH_EXIT_CODE)


def _rehydration_json(found: Rehydration) -> dict[str, Any]:
    value = {name: getattr(found, name) for name in found.__slots__}
    mismatches = [{name: getattr(item, name) for name in item.__slots__} for item in found.mismatches]
    return value | {"mismatches": mismatches, "quarantined": list(found.quarantined)}


def _print_rehydration(found: Rehydration, *, dry_run: bool) -> None:
    if not found.mismatches:
        click.echo(f"{found.shard}: {found.chunks} chunks {'would come' if dry_run else 'came'} back")
        return
    for item in found.mismatches[:SHOWN]:
        click.echo(f"{item.uri} chunk {item.chunk_index}: {item.problem}", err=True)
    quarantined = "would be quarantined" if dry_run else "are quarantined"
    click.echo(
        f"Error: {found.shard} stays cold: {len(found.mismatches)} texts did not come back as they went, "
        f"{len(found.quarantined)} records that cite them {quarantined} (`arborist build` makes the shard anew)",
        err=True,
    )


COMMANDS = (promote_records, falsify_record, revive_record, burn, evict, rehydrate_shard)
