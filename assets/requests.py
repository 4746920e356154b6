"""When the work of a run was asked for, so that what others did since then is not done twice."""

import dagster as dg

BACKFILL_TAG = "dagster/backfill"
UNFINISHED_BUSINESS = {dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}


def asked_at(context: dg.AssetExecutionContext) -> float:
    """The moment, in seconds since the epoch, at which someone asked for what this run does.

    That is when its backfill was launched, or else the run. A run that takes up a failed or cancelled one was
    asked for when that one was.
    """
    instance, run = context.instance, context.run
    if backfill := instance.get_backfill(run.tags.get(BACKFILL_TAG, "")):
        return float(backfill.backfill_timestamp)
    record = instance.get_run_record_by_id(run.run_id)
    while record is not None and record.dagster_run.parent_run_id is not None:
        parent = instance.get_run_record_by_id(record.dagster_run.parent_run_id)
        if parent is None or parent.dagster_run.status not in UNFINISHED_BUSINESS:
            break
        record = parent
    assert record is not None  # the run is at work
    return float(record.create_timestamp.timestamp())
