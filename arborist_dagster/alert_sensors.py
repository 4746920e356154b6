"""What is told to people: runs that failed and checks that do not pass, each once."""

import json

import dagster as dg

from assets.retrieval_audit import NOT_REQUESTED
from resources.notifier import Notifier


@dg.run_failure_sensor(default_status=dg.DefaultSensorStatus.RUNNING, minimum_interval_seconds=30)
def run_failed(context: dg.RunFailureSensorContext, notifier: Notifier) -> None:
    """Tells of every run that failed, with what it says of the reason."""
    run = context.dagster_run
    steps = "; ".join(event.message or "" for event in context.get_step_failure_events())
    reason = context.failure_event.message or ""
    notifier.notify(
        f"Run {run.run_id[:8]} of {run.job_name} failed", _run_details(run, steps or reason), context.log
    )


def _run_details(run: dg.DagsterRun, reason: str) -> dict[str, str]:
    return {"event": "run_failed", "run_id": run.run_id, "job": run.job_name, "reason": reason}


@dg.sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Tells of every check that does not pass: in the log, or to $ARBORIST_WEBHOOK.",
)
def check_failed(context: dg.SensorEvaluationContext, notifier: Notifier) -> dg.SensorResult:
    """Tells of each check whose last evaluation did not pass, once an evaluation, and what to do about it."""
    keys = sorted(context.repository_def.asset_graph.asset_check_keys) if context.repository_def else []
    told: dict[str, int] = json.loads(context.cursor or "{}")
    latest = context.instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    sent = 0
    for key, record in sorted(latest.items()):
        name = key.to_user_string()
        evaluation = record.evaluation
        # A run that is to evaluate the check has left its plan there.
        if not isinstance(evaluation, dg.AssetCheckEvaluation) or record.id <= told.get(name, 0):
            continue
        if not evaluation.passed and not _was_not_requested(evaluation):
            notifier.notify(
                f"Check {name} does not pass: {evaluation.description}",
                _check_details(key, evaluation),
                context.log,
            )
            sent += 1
        told[name] = record.id
    return dg.SensorResult(skip_reason=f"told of {sent} checks", cursor=json.dumps(told))


def _was_not_requested(evaluation: dg.AssetCheckEvaluation) -> bool:
    """Whether the check had nothing to look at: no pass, but no news for anyone either."""
    status = evaluation.metadata.get("audit_status")
    return status is not None and status.value == NOT_REQUESTED


def _check_details(key: dg.AssetCheckKey, evaluation: dg.AssetCheckEvaluation) -> dict[str, str]:
    return {
        "event": "check_failed",
        "check": key.name,
        "asset": key.asset_key.to_user_string(),
        "severity": evaluation.severity.value,
        "description": evaluation.description or "",
    }


ALERT_SENSORS = [run_failed, check_failed]
