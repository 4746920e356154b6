"""The code location loads from the checkout, without a warning, wherever it is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arborist_dagster.settings import PROJECT


def test_the_definitions_load_without_a_warning(tmp_path: Path) -> None:
    # An error in a warning of Dagster's own packages would be theirs to mend, so only ours are made errors.
    command = [sys.executable, "-W", "default", "-c", "import arborist_dagster.definitions"]
    environment = os.environ | {"ARBORIST_HOME": str(tmp_path)}
    environment.pop("ARBORIST_CONFIG", None)
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout == ""
    assert list(tmp_path.iterdir()) == [], "loading makes nothing"


def test_loading_the_definitions_brings_no_more_of_the_engine_than_they_name(tmp_path: Path) -> None:
    """Dagster's processes load the definitions all the time; what computes is for those that compute."""
    program = (
        "import dagster, sys; before = set(sys.modules); import arborist_dagster.definitions; "
        "print(*(set(sys.modules) - before))"
    )
    command = [sys.executable, "-c", program]
    environment = os.environ | {"ARBORIST_HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    brought = set(done.stdout.split())
    roots = {name.partition(".")[0] for name in brought} - sys.stdlib_module_names
    assert roots == {"arborist", "arborist_dagster", "assets", "resources", "dagster", "rfc8785"}
    assert {name for name in brought if name.startswith("arborist.")} == {
        "arborist.clock",
        "arborist.corpus",
        "arborist.corpus.chunking",
        "arborist.corpus.config",
        "arborist.corpus.tokenizer",
        "arborist.errors",
        "arborist.files",
        "arborist.hashing",
        "arborist.home",
        "arborist.policy",
        "arborist.progress",
        "arborist.workspace",
    }


@pytest.mark.slow
def test_dagster_itself_holds_the_workspace_for_valid(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"]
    told = {"ARBORIST_HOME": str(tmp_path / "home"), "DAGSTER_HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=PROJECT, env=os.environ | told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Validation successful for code location arborist" in done.stdout + done.stderr
