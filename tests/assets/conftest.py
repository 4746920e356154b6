"""A built project for every test, copied from one that is built once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dagster_project import DagsterProject


@pytest.fixture(scope="session")
def built_project(tmp_path_factory: pytest.TempPathFactory) -> DagsterProject:
    """Built by Dagster runs over ranges; not to be changed."""
    project = DagsterProject.new(tmp_path_factory.mktemp("built") / "project")
    project.materialize(["source_documents"], ["docs", "trees"])
    project.materialize(["document_chunks", "fts_index"], ["docs-000", "trees-000"])
    project.materialize(["corpus_snapshot"])
    project.close()
    return project


@pytest.fixture
def project(built_project: DagsterProject, tmp_path: Path) -> Iterator[DagsterProject]:
    """A built project of the test's own."""
    copy = built_project.copied_to(tmp_path / "project")
    yield copy
    copy.close()
