"""Every failed run and every check that does not pass is told once, to a webhook that is there."""

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from arborist.errors import InputError
from arborist_dagster.alert_sensors import check_failed, run_failed
from assets.ranges import range_tags
from resources.notifier import Notifier
from tests.dagster_project import DagsterProject
from tests.webhook import Webhook, listening


def _check_tick(project: DagsterProject, webhook: Webhook, cursor: str | None) -> str | None:
    with dg.build_sensor_context(
        instance=project.instance,
        cursor=cursor,
        definitions=project.definitions,
        resources={"notifier": Notifier(webhook=webhook.url)},
    ) as context:
        result = check_failed(context)
        assert isinstance(result, dg.SensorResult)
        return result.cursor


def test_a_failing_check_is_told_once_with_what_to_do(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    project.check("shards_current")
    project.check("shard_roots_recompute")
    with listening() as webhook:
        cursor = _check_tick(project, webhook, None)
        (told,) = webhook.posted
        assert told["check"] == "shards_current" and told["asset"] == "fts_index" and told["severity"] == "WARN"
        assert "arborist build" in told["text"]
        cursor = _check_tick(project, webhook, cursor)
        assert len(webhook.posted) == 1
        project.check("shards_current")
        _check_tick(project, webhook, cursor)
        assert len(webhook.posted) == 2


def test_a_check_that_was_not_told_because_the_webhook_was_down_is_told_later(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    project.check("shards_current")
    with listening(status=503) as broken, pytest.raises(InputError, match="not taken"):
        _check_tick(project, broken, None)
    with listening() as webhook:
        _check_tick(project, webhook, None)
        assert [told["check"] for told in webhook.posted] == ["shards_current"]


def test_a_check_that_a_run_is_about_to_make_is_told_when_it_is_made(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    job = project.definitions.resolve_job_def("verify_everything")
    run = project.instance.create_run_for_job(job)
    with listening() as webhook:
        cursor = _check_tick(project, webhook, None)
        assert webhook.posted == []
        execute_run(InMemoryJob(job), run, project.instance, raise_on_error=False)
        _check_tick(project, webhook, cursor)
        assert [told["check"] for told in webhook.posted] == ["shards_current"]


def test_a_failed_run_is_told_with_its_reason(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    blocked = project.home.chunks_file("docs-001")
    blocked.unlink()
    blocked.mkdir()
    job = project.definitions.resolve_job_def("build_shards")
    result = job.execute_in_process(
        instance=project.instance, tags=range_tags(("docs-000", "trees-000")), raise_on_error=False
    )
    failure = next(event for event in result.all_events if event.event_type is dg.DagsterEventType.RUN_FAILURE)
    with listening() as webhook:
        context = dg.build_run_status_sensor_context(
            sensor_name="run_failed",
            dagster_instance=project.instance,
            dagster_run=result.dagster_run,
            dagster_event=failure,
            resources={"notifier": Notifier(webhook=webhook.url)},
        ).for_run_failure()
        run_failed(context)
    (told,) = webhook.posted
    assert told["job"] == "build_shards" and told["run_id"] == result.run_id
    assert "document_chunks" in told["reason"]
