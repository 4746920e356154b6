"""The sensors ask for exactly what is behind, once, and for failures again after a while."""

from functools import cached_property
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from arborist.clock import FixedClock, SystemClock
from arborist.workspace import Workspace
from arborist_dagster.corpus_sensors import dead_builds, shards_out_of_date, sources_changed
from arborist_dagster.instance import STARTED_BY_BUILD, building_alone
from assets.ranges import covered, range_tags
from resources.workspace import WorkspaceResource
from tests.dagster_project import DagsterProject, roots

SHARDS = ("docs-000", "docs-001", "trees-000")


class LaterWorkspace(WorkspaceResource):
    """A workspace whose clock is `later` seconds ahead."""

    later: float

    @cached_property
    def workspace(self) -> Workspace:
        clock = FixedClock(SystemClock().now() + self.later)
        return Workspace.open(Path(self.home), Path(self.config), clock)


def _tick(project: DagsterProject, sensor: dg.SensorDefinition, later: float = 0.0) -> dg.SensorResult:
    """One evaluation; `later` seconds after now."""
    resource = LaterWorkspace(home=str(project.home.root), config=str(project.config), later=later)
    with dg.build_sensor_context(instance=project.instance, resources={"workspace": resource}) as context:
        result = sensor(context)
    return result if isinstance(result, dg.SensorResult) else dg.SensorResult(skip_reason=result)


def _asked(result: dg.SensorResult) -> list[tuple[str, ...]]:
    return [covered(SHARDS, request.tags) for request in result.run_requests or []]


def _execute(project: DagsterProject, request: dg.RunRequest, job: str = "build_shards") -> bool:
    """Run what was asked for, as the daemon would."""
    definition = project.definitions.resolve_job_def(job)
    tags = dict(request.tags) | {"dagster/run_key": request.run_key or "", "dagster/sensor_name": "a sensor"}
    result = definition.execute_in_process(
        instance=project.instance,
        asset_selection=request.asset_selection,
        tags=tags,
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    return bool(result.success)


def test_a_current_corpus_asks_for_nothing(project: DagsterProject) -> None:
    result = _tick(project, shards_out_of_date)
    assert not result.run_requests
    assert result.skip_reason is not None and result.skip_reason.skip_message == "all shards are current"


def test_a_new_chunk_size_asks_for_every_shard_as_one_range_and_leads_to_current_shards(
    project: DagsterProject,
) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    result = _tick(project, shards_out_of_date)
    assert _asked(result) == [SHARDS]
    assert result.run_requests is not None and _execute(project, result.run_requests[0])
    assert not _tick(project, shards_out_of_date).run_requests
    assert project.unsynced() == {}
    assert project.version("corpus_snapshot") == project.corpus.snapshot().root


def test_shards_rebuilt_by_hand_are_not_asked_for(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    project.materialize(["document_chunks", "fts_index"], ["docs-001"])
    assert _asked(_tick(project, shards_out_of_date)) == [("docs-000",), ("trees-000",)]
    project.build()
    assert _asked(_tick(project, shards_out_of_date)) == []


@pytest.mark.parametrize("started_by", [{}, STARTED_BY_BUILD, {"dagster/backfill": "by hand"}])
def test_shards_that_a_run_is_at_work_on_are_not_asked_for(
    project: DagsterProject, started_by: dict[str, str]
) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    job = project.definitions.resolve_job_def("build_shards")
    run = project.instance.create_run_for_job(
        job,
        tags=range_tags(SHARDS[:2]) | started_by,
        asset_selection=frozenset({dg.AssetKey("document_chunks")}),
    )
    assert _asked(_tick(project, shards_out_of_date)) == [("trees-000",)]
    project.instance.report_run_failed(run)
    assert _asked(_tick(project, shards_out_of_date)) == [SHARDS]


def test_a_failed_shard_is_asked_for_again_later_under_a_new_key_and_holds_up_no_other(
    project: DagsterProject,
) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    blocked = project.home.chunks_file("docs-001")
    blocked.unlink()
    blocked.mkdir()
    (first,) = _tick(project, shards_out_of_date).run_requests or []
    assert not _execute(project, first)
    indexing = _tick(project, shards_out_of_date)
    assert _asked(indexing) == [("docs-000",), ("trees-000",)]
    assert all(_execute(project, request) for request in indexing.run_requests or [])
    waiting = _tick(project, shards_out_of_date)
    assert not waiting.run_requests and "1 failed" in str(waiting.skip_reason)

    (second,) = _tick(project, shards_out_of_date, later=70).run_requests or []
    assert _asked(_tick(project, shards_out_of_date, later=70)) == [("docs-001",)]
    assert not _execute(project, second)
    assert not _tick(project, shards_out_of_date, later=70).run_requests
    (third,) = _tick(project, shards_out_of_date, later=130).run_requests or []
    assert len({first.run_key, second.run_key, third.run_key}) == 3
    blocked.rmdir()
    assert _execute(project, third)
    assert not _tick(project, shards_out_of_date, later=1_000).run_requests


def test_an_edited_source_is_asked_for_and_a_touched_one_is_not(project: DagsterProject) -> None:
    (project.root / "docs" / "lamp.md").touch()
    assert not _tick(project, sources_changed).run_requests
    project.write("trees/fir.md")
    (request,) = _tick(project, sources_changed).run_requests or []
    assert covered(("docs", "trees"), request.tags) == ("trees",)
    assert _execute(project, request, "read_sources")
    assert not _tick(project, sources_changed).run_requests
    assert _asked(_tick(project, shards_out_of_date)) == [("trees-000",)]


def test_the_run_of_a_killed_build_is_ended_and_that_of_a_build_at_work_is_not(project: DagsterProject) -> None:
    job = project.definitions.resolve_job_def("build_shards")
    run = project.instance.create_run_for_job(job, tags=STARTED_BY_BUILD, status=dg.DagsterRunStatus.STARTED)
    with building_alone(project.home):
        _tick(project, dead_builds)
        assert project.instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.STARTED
    _tick(project, dead_builds)
    assert project.instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE


def test_what_another_run_made_since_it_was_asked_for_is_not_made_again(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    job = project.definitions.resolve_job_def("build_shards")
    tags = range_tags(SHARDS)
    asked_before = project.instance.create_run_for_job(job, tags=tags)
    project.materialize(["document_chunks", "fts_index"], ["docs-000", "docs-001"])
    before = _files(project)
    assert execute_run(InMemoryJob(job), asked_before, project.instance).success
    rebuilt = {key[1] for key, file in _files(project).items() if before[key] != file}
    assert rebuilt == {"trees-000"}
    assert project.unsynced() == {}
    # Whoever asks now gets a new build, to the same roots.
    made, now = roots(project.corpus), project.instance.create_run_for_job(job, tags=tags)
    before = _files(project)
    assert execute_run(InMemoryJob(job), now, project.instance).success
    assert not before.items() & _files(project).items()
    assert roots(project.corpus) == made


def test_a_failed_run_that_is_taken_up_again_makes_only_what_failed(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    blocked = project.home.chunks_file("docs-001")
    blocked.unlink()
    blocked.mkdir()
    job = project.definitions.resolve_job_def("build_shards")
    run = project.instance.create_run_for_job(job, tags=range_tags(SHARDS))
    assert not execute_run(InMemoryJob(job), run, project.instance, raise_on_error=False).success
    before = {shard: project.home.chunks_file(shard).stat().st_ino for shard in ("docs-000", "trees-000")}
    blocked.rmdir()
    again = project.instance.create_run_for_job(
        job, tags=range_tags(SHARDS), parent_run_id=run.run_id, root_run_id=run.run_id
    )
    assert execute_run(InMemoryJob(job), again, project.instance).success
    assert {shard: project.home.chunks_file(shard).stat().st_ino for shard in before} == before
    assert project.unsynced() == {}


def _files(project: DagsterProject) -> dict[tuple[str, str], int]:
    """Which file holds each shard's chunks and each shard, by its time."""
    home = project.home
    chunks = {("chunks", shard): home.chunks_file(shard).stat().st_mtime_ns for shard in SHARDS}
    return chunks | {("shard", shard): home.shard_file(shard).stat().st_mtime_ns for shard in SHARDS}
