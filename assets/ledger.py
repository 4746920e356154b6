"""The providence ledger: written by questions, not by runs, so Dagster observes it."""

import dagster as dg

from arborist.clock import SystemClock
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from assets.tables import markdown_table
from resources.workspace import WorkspaceResource

GROUP = "providence"


@dg.observable_source_asset(group_name=GROUP, kinds={"sqlite"})
def providence_ledger(workspace: WorkspaceResource) -> dg.ObserveResult:
    """Records of all answers and the log of what happened to them; its data version is the log's head."""
    home = workspace.workspace.home
    if not home.ledger_file.is_file():
        return dg.ObserveResult(data_version=dg.DataVersion("empty"), metadata={"events": 0, "records": 0})
    with Ledger.open_readonly(home.root, SystemClock()) as ledger:
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


@dg.asset_check(asset="providence_ledger")
def run_dag_verifies(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Every record's run DAG recomputes from its stored parts, and the log of events is whole."""
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
            "fault_table": markdown_table(
                ("place", "stage", "problem"),
                [(fault.place, fault.stage or "", fault.problem) for fault in report.faults],
            ),
        },
    )


LEDGER_CHECKS = [run_dag_verifies]
