"""A project built by `arborist build` for every test, copied from one that is built once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dagster_project import DagsterProject


@pytest.fixture(scope="session")
def project_built_by_command(tmp_path_factory: pytest.TempPathFactory) -> DagsterProject:
    """Not to be changed."""
    project = DagsterProject.new(tmp_path_factory.mktemp("built") / "project")
    done = project.arborist("build", "--json")
    assert done.stderr == ""
    return project


@pytest.fixture
def project(project_built_by_command: DagsterProject, tmp_path: Path) -> Iterator[DagsterProject]:
    """A built project of the test's own."""
    copy = project_built_by_command.copied_to(tmp_path / "project")
    yield copy
    copy.close()


@pytest.fixture
def new_project(tmp_path: Path) -> Iterator[DagsterProject]:
    """A project of which nothing is built."""
    project = DagsterProject.new(tmp_path / "new")
    yield project
    project.close()
