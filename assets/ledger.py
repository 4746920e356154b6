"""The providence ledger: written by questions, not by runs, so Dagster observes it."""

import dagster as dg
from pydantic import Field

from assets.names import PROVIDENCE_LEDGER
from assets.tables import markdown_table, open_table
from resources.workspace import WorkspaceResource


class ReplayConfig(dg.Config):
    """How much is replayed."""

    records: int = Field(
        default=20, ge=1, description="How many of the latest records are executed again from their stored plans."
    )


LEDGER = dg.AssetSpec(
    PROVIDENCE_LEDGER,
    description="Records of all answers and the log of what happened to them; its data version is the log's head.",
)


# The decorator for a single asset of this kind takes no owner, and its asset shows no place of code.
@dg.multi_observable_source_asset(specs=[LEDGER], name=PROVIDENCE_LEDGER)  # type: ignore[untyped-decorator]
def providence_ledger(workspace: WorkspaceResource) -> dg.ObserveResult:
    """Observe the ledger."""
    from arborist.providence.ledger import Ledger

    home = workspace.workspace.home
    if not home.ledger_file.is_file():
        return dg.ObserveResult(data_version=dg.DataVersion("empty"), metadata={"events": 0, "records": 0})
    with Ledger.open_readonly(home.root, workspace.workspace.clock) as ledger:
        events, head = ledger.head()
        modes = ledger.counts()
    records = sum(modes.values())
    return dg.ObserveResult(
        data_version=dg.DataVersion(head),
        metadata={
            "events": events,
            "records": records,
            "strict_rate": modes.get("STRICT", 0) / records if records else 0.0,
            "bytes": home.ledger_file.stat().st_size,
            "head": head,
            "verdicts": markdown_table(("verdict", "records"), sorted(modes.items())),
        },
    )


@dg.asset_check(asset=PROVIDENCE_LEDGER)
def run_dag_verifies(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Every record's run DAG recomputes from its stored parts, and the log of events is whole."""
    from arborist.providence.fsck import fsck

    home = workspace.workspace.home
    if not home.ledger_file.is_file():
        return dg.AssetCheckResult(passed=True, description="nothing has been asked yet", metadata={"records": 0})
    report = fsck(home.root)
    return dg.AssetCheckResult(
        passed=not report.faults,
        severity=dg.AssetCheckSeverity.ERROR,
        description=(
            "Someone or something changed the ledger: keep the file, and restore a backup that "
            "`arborist ledger verify --checkpoint FILE` finds sound."
            if report.faults
            else f"{report.records} records and {report.events} events recompute"
        ),
        metadata={
            "records": report.records,
            "events": report.events,
            "faults": len(report.faults),
            **open_table(
                "fault_table",
                ("place", "record", "stage", "problem"),
                [
                    (fault.place, fault.cache_key or "", fault.stage or "", fault.problem)
                    for fault in report.faults
                ],
            ),
        },
    )


@dg.asset_check(asset=PROVIDENCE_LEDGER)
def records_replay(config: ReplayConfig, workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """The latest records, executed again from their stored plans, give the digests that were recorded.

    A record whose corpus or policy has moved since cannot be compared and does not fail; one that diverged does.
    """
    from arborist.answering.ask import open_asker
    from arborist.providence.ledger import Ledger
    from arborist.providence.replay import Outcome, replay

    opened = workspace.workspace
    if not opened.home.ledger_file.is_file():
        return dg.AssetCheckResult(passed=True, description="nothing has been asked yet", metadata={"replayed": 0})
    with Ledger.open_readonly(opened.home.root, opened.clock) as ledger:
        asker = open_asker(opened, ledger)
        replays = [replay(record, asker) for record in ledger.records(limit=config.records)]
    diverged = [item for item in replays if item.outcome is Outcome.DIVERGED]
    return dg.AssetCheckResult(
        passed=not diverged,
        severity=dg.AssetCheckSeverity.ERROR,
        description=(
            "The same inputs gave another result: report it with `arborist inspect KEY --json`."
            if diverged
            else "`arborist replay --all` replays every record"
        ),
        metadata={
            "replayed": len(replays),
            **{str(outcome): sum(item.outcome is outcome for item in replays) for outcome in Outcome},
            **open_table(
                "diverged_records",
                ("record", "what differs"),
                [(item.cache_key, ", ".join(item.parts)) for item in diverged],
            ),
        },
    )


LEDGER_CHECKS = [run_dag_verifies, records_replay]
