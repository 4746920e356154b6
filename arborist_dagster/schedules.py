"""What happens by the clock."""

import dagster as dg

from arborist_dagster.jobs import PROMOTE_ANSWERS, VERIFY_LEDGER

# The sensors act at once; this makes good what a failed run of theirs left, and what a changed policy asks for.
promote_hourly = dg.ScheduleDefinition(
    name="promote_hourly",
    job=PROMOTE_ANSWERS,
    cron_schedule="0 * * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Reconcile the promoted answers with the ledger every hour.",
)

verify_ledger_nightly = dg.ScheduleDefinition(
    name="verify_ledger_nightly",
    job=VERIFY_LEDGER,
    cron_schedule="30 2 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Recompute the whole ledger every night at half past two (UTC).",
)
