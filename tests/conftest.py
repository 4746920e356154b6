"""What every test may use."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from arborist.workspace import Workspace
from tests.corpora import bridges, opened

ROOT = Path(__file__).resolve().parent.parent

# How long an example takes is the machine's affair; on CI every run tries the same ones.
settings.register_profile(
    "project",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test data beside the checkout, or where ARBORIST_TEST_DATA says."""
    folder = Path(os.environ.get("ARBORIST_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"test data not found at {folder}: set ARBORIST_TEST_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A built corpus about bridges, rivers and people (`tests/corpora.py`), which no test may change."""
    return bridges(tmp_path_factory.mktemp("bridges"))


@pytest.fixture
def workspace(built: Workspace, tmp_path: Path) -> Workspace:
    """A copy of that corpus for a test of its own."""
    shutil.copytree(built.config.path.parent, tmp_path, dirs_exist_ok=True)
    return opened(tmp_path)
