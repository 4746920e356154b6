"""What happens when the ledger asks for it: a record has cooled, or one has fallen.

A tick reads a few index entries of the ledger and does nothing else, so that it costs the same however long the
ledger is. The cursor holds what was last asked for, so that one cause asks for one run, also while that run waits.
"""

from typing import TYPE_CHECKING

import dagster as dg

from arborist_dagster.jobs import PROMOTE_ANSWERS
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.providence.pass_mark import PromotionDue

CAUSE_TAG = "arborist/cause"


@dg.sensor(
    job=PROMOTE_ANSWERS,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Promotes answers as soon as a STRICT record has been there for the kindergarten window.",
)
def kindergarten_sensor(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult:
    """Asks for one promotion run when the window of a STRICT record has passed."""
    due = _due(workspace)
    if due is None or due.matured_at is None:
        return dg.SensorResult(skip_reason="no record has cooled since the last pass")
    return _asked_once(context, due, due.matured_at, f"cooled: records up to {due.matured_at}")


@dg.sensor(
    job=PROMOTE_ANSWERS,
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes answers out of the sources as soon as a record was falsified, revived or retired.",
)
def falsification_sensor(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult:
    """Asks for a promotion run as soon as a record was falsified, revived or retired."""
    due = _due(workspace)
    if due is None or due.fallen is None:
        return dg.SensorResult(skip_reason="no record has fallen since the last pass")
    return _asked_once(context, due, str(due.fallen), f"fallen: event {due.fallen}")


def _due(workspace: WorkspaceResource) -> "PromotionDue | None":
    # Every process that loads the definitions loads this; only the daemon's ticks need the engine.
    from arborist.providence.ledger import Ledger
    from arborist.providence.pass_mark import promotion_due

    opened = workspace.workspace
    if not opened.home.ledger_file.is_file():
        return None
    with Ledger.open_readonly(opened.home.root, opened.clock) as ledger:
        return promotion_due(ledger, opened.config.policy, opened.clock.now())


def _asked_once(
    context: dg.SensorEvaluationContext, due: "PromotionDue", cut_off: str, cause: str
) -> dg.SensorResult:
    """A request keyed by ledger head and cut-off; none where the last one had the same head or cut-off."""
    last_head, _, last_cut_off = (context.cursor or "").partition(" ")
    if due.head == last_head or cut_off == last_cut_off:
        return dg.SensorResult(skip_reason="asked for already")
    return dg.SensorResult(
        run_requests=[dg.RunRequest(run_key=f"{due.head} {cut_off}", tags={CAUSE_TAG: cause})],
        cursor=f"{due.head} {cut_off}",
    )


PROMOTION_SENSORS = [kindergarten_sensor, falsification_sensor]
