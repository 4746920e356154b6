"""What every test may use."""

import os
from pathlib import Path

import pytest

from arborist.workspace import Workspace
from tests.corpora import bridges

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public test data beside the checkout, or where ARBORIST_TEST_DATA says."""
    folder = Path(os.environ.get("ARBORIST_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"test data not found at {folder}: set ARBORIST_TEST_DATA to its folder")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A built corpus about bridges, rivers and people; see `tests/corpora.py`."""
    return bridges(tmp_path)
