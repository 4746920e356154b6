"""The sensor of audit bundles: each new or changed one becomes a partition and is asked for once."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from arborist_dagster.audit_sensors import audit_bundles_changed
from assets.retrieval_audit import AUDIT_BUNDLES
from resources.workspace import WorkspaceResource
from tests.arborist.retrieval_audit.bundles import file_bundle
from tests.dagster_project import DagsterProject


@pytest.fixture
def project(tmp_path: Path) -> Iterator[DagsterProject]:
    made = DagsterProject.new(tmp_path / "project")
    yield made
    made.close()


def keep(project: DagsterProject, name: str) -> Path:
    fresh = file_bundle(start=datetime.now(UTC) - timedelta(minutes=10))
    return fresh.write(project.home.audits_folder / name).parent


class Ticking:
    """The sensor as the daemon ticks it: its cursor is kept, and partitions are added before their runs."""

    def __init__(self, project: DagsterProject) -> None:
        self._project = project
        self._cursor: str | None = None
        self.reason = ""

    def tick(self) -> list[str | None]:
        """The partitions that this tick asks an audit of."""
        workspace = WorkspaceResource(home=str(self._project.home.root), config=str(self._project.config))
        with dg.build_sensor_context(
            instance=self._project.instance, cursor=self._cursor, resources={"workspace": workspace}
        ) as context:
            result = audit_bundles_changed(context)
        assert isinstance(result, dg.SensorResult)
        self._cursor = result.cursor or self._cursor
        self.reason = result.skip_reason.skip_message or "" if result.skip_reason else ""
        for request in result.dynamic_partitions_requests or []:
            self._project.instance.add_dynamic_partitions(
                request.partitions_def_name, list(request.partition_keys)
            )
        return [request.partition_key for request in result.run_requests or []]


def test_without_bundles_there_is_nothing_to_ask_for(project: DagsterProject) -> None:
    sensor = Ticking(project)
    assert sensor.tick() == []
    assert sensor.reason == "0 bundles, none new or changed"


def test_a_new_bundle_is_asked_for_once_and_becomes_a_partition_that_can_be_run(project: DagsterProject) -> None:
    keep(project, "manuals")
    sensor = Ticking(project)
    assert sensor.tick() == ["manuals"]
    assert sensor.tick() == []
    assert project.instance.get_dynamic_partitions(str(AUDIT_BUNDLES.name)) == ["manuals"]
    assert project.materialize(["retained_retrieval_audit"], ["manuals"]).success
    event = project.latest("retained_retrieval_audit", "manuals")
    assert event is not None and event.metadata["structural_status"].value == "unverified"


def test_only_a_bundle_whose_content_changed_is_asked_for_again(project: DagsterProject) -> None:
    folders = {name: keep(project, name) for name in ("manuals", "notes")}
    sensor = Ticking(project)
    assert sensor.tick() == ["manuals", "notes"]
    kept = (folders["notes"] / "customer.json").read_bytes()
    (folders["manuals"] / "audit.json").touch()
    (folders["notes"] / "customer.json").write_bytes(kept + b" ")
    assert sensor.tick() == ["notes"]
    (folders["notes"] / "customer.json").write_bytes(kept)
    assert sensor.tick() == ["notes"]
    shutil.rmtree(folders["manuals"])
    assert sensor.tick() == []


def test_names_that_no_partition_can_have_are_left_out_and_said(project: DagsterProject) -> None:
    names = ["a...b", "line\nbreak", os.fsdecode(b"\xff")]
    for name in [*names, "manuals"]:
        keep(project, name)
    sensor = Ticking(project)
    assert sensor.tick() == ["manuals"]
    assert sensor.tick() == []
    assert "3 with names that no partition can have" in sensor.reason
    assert sensor.reason.isascii() and "a...b" in sensor.reason


def test_a_folder_without_an_input_is_no_bundle(project: DagsterProject) -> None:
    (project.home.audits_folder / "empty").mkdir(parents=True)
    (project.home.audits_folder / "audit.json").write_text("{}")
    assert Ticking(project).tick() == []
