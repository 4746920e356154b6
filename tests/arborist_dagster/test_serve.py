"""`make dev`: the UI starts over a new home without a warning, launches a run, and leaves no process behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.dagster_project import DagsterProject, processes_of

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  }
}
"""
STATUS = "query Status($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
FAR = 120


@pytest.mark.slow
def test_the_ui_starts_runs_an_asset_and_stops(new_project: DagsterProject) -> None:
    port = _free_port()
    with _served(new_project, port) as (process, log):
        _until(lambda: _answers(port), process)
        run = _launch(port, "source_documents", "trees")
        status = _until(lambda: _ended(port, run), process)
        assert status == "SUCCESS"
        process.send_signal(signal.SIGTERM)
        process.wait(FAR)
    assert new_project.latest("source_documents", "trees") is not None
    assert processes_of(process.pid) == []
    told = log.read_text()
    assert "Warning" not in told and "WARNING" not in told and "Deprecat" not in told
    assert f"http://127.0.0.1:{port}" in told


def test_a_taken_port_is_told_before_anything_starts(new_project: DagsterProject) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            _command(port), env=new_project.environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: 127.0.0.1:{port}: ") and "PORT=" in done.stderr


def _command(port: int) -> list[str]:
    return [sys.executable, "-m", "arborist_dagster.serve", "--port", str(port)]


@contextmanager
def _served(project: DagsterProject, port: int) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The UI in a session of its own, as a shell starts it in the background: interrupts ignored."""
    log = project.root / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(port),
            env=project.environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) and None,
        )
        try:
            yield process, log
        finally:
            for pid in [*processes_of(process.pid), *([process.pid] if process.poll() is None else [])]:
                os.kill(pid, signal.SIGKILL)
            process.wait()


def _until(condition: Any, process: subprocess.Popen[bytes]) -> Any:
    """The first answer of the condition that is one, as long as the process lives."""
    pause = Event()
    while process.poll() is None:
        if answer := condition():
            return answer
        pause.wait(0.2)
    raise AssertionError("the UI has ended")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _asked(port: int, query: str, variables: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/graphql", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=FAR) as response:
        answer: dict[str, Any] = json.load(response)
    return answer["data"]


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=FAR):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False


def _launch(port: int, asset: str, partition: str) -> str:
    selector = {
        "repositoryLocationName": "arborist",
        "repositoryName": "__repository__",
        "jobName": "__ASSET_JOB",
        "assetSelection": [{"path": [asset]}],
        "assetCheckSelection": [],
    }
    tags = [{"key": "dagster/partition", "value": partition}]
    params = {"selector": selector, "mode": "default", "executionMetadata": {"tags": tags}}
    launched = _asked(port, LAUNCH, {"params": params})["launchRun"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    return str(launched["run"]["runId"])


def _ended(port: int, run: str) -> str | None:
    status = str(_asked(port, STATUS, {"id": run})["runOrError"]["status"])
    return status if status in {"SUCCESS", "FAILURE", "CANCELED"} else None
