"""`make dev`: the UI starts over a new home without a warning, launches a run, and leaves no process behind."""

import socket
import subprocess
from pathlib import Path

import pytest

from tests.dagster_project import DagsterProject
from tests.served import serve_command, served, stop


@pytest.mark.slow
def test_the_ui_starts_runs_an_asset_and_stops(new_project: DagsterProject, tmp_path: Path) -> None:
    with served(new_project, tmp_path / "log") as ui:
        run = ui.launch("__ASSET_JOB", ["trees"], ["source_documents"])
        assert ui.await_run(run) == "SUCCESS"
        assert stop(ui.process) == []
        assert ui.process.returncode == 0
    assert new_project.latest("source_documents", "trees") is not None
    told = ui.log.read_text()
    assert "Warning" not in told and "WARNING" not in told and "Deprecat" not in told
    assert ui.address in told


def test_a_taken_port_is_told_before_anything_starts(new_project: DagsterProject) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            serve_command(port), env=new_project.environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: 127.0.0.1:{port}: ") and "PORT=" in done.stderr
