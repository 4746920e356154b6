"""What happens by the clock."""

from datetime import UTC, datetime

import dagster as dg

from arborist_dagster.schedules import promote_hourly


def test_answers_are_promoted_every_hour() -> None:
    assert promote_hourly.cron_schedule == "0 * * * *"
    assert promote_hourly.job_name == "promote_answers"
    context = dg.build_schedule_context(scheduled_execution_time=datetime(2026, 1, 1, 5, tzinfo=UTC))
    data = promote_hourly.evaluate_tick(context)
    assert len(data.run_requests or ()) == 1
