"""The UI over a project, started as `make dev` starts it, and what its own interface answers."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import kill
from pathlib import Path
from threading import Event
from typing import Any

from assets.ranges import range_tags
from tests.dagster_project import DagsterProject, processes_of

# A test that waits gives up only when the machine cannot be just slow any more.
FAR = 900
STOP_SECONDS = 120
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}
LAUNCH_RUN = """
mutation Launch($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  }
}
"""
LAUNCH_BACKFILL = """
mutation Launch($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message }
  }
}
"""
RUN_STATUS = "query Status($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
BACKFILL_STATUS = """
query Status($id: String!) {
  partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } }
}
"""


@dataclass(frozen=True)
class ServedProject:
    """A project whose UI is running: its address, its first process, and the file that it prints to."""

    project: DagsterProject
    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def query(self, text: str, **variables: Any) -> Any:
        """What the UI's own interface answers."""
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.address}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=FAR) as response:
            answer: dict[str, Any] = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def until(self, condition: Callable[[], Any]) -> Any:
        """The first answer of the condition that is one, as long as the UI lives."""
        pause = Event()
        for _ in range(5 * FAR):
            if answer := condition():
                return answer
            assert self.process.poll() is None, f"the UI has ended: {self.log.read_text()}"
            pause.wait(0.2)
        raise AssertionError(f"not within {FAR} s: {self.log.read_text()[-5000:]}")

    def launch(self, job: str, partitions: Sequence[str], assets: Sequence[str] = ()) -> str:
        """The number of a new run of a job, or of the named ones of its assets, over a range of partitions."""
        selector = {
            "repositoryLocationName": "arborist",
            "repositoryName": "__repository__",
            "jobName": job,
            "assetSelection": [{"path": [name]} for name in assets] or None,
        }
        tags = [{"key": key, "value": value} for key, value in range_tags(partitions).items()]
        params = {"selector": selector, "mode": "default", "executionMetadata": {"tags": tags}}
        launched = self.query(LAUNCH_RUN, params=params)["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return str(launched["run"]["runId"])

    def await_run(self, run: str) -> str:
        """The status that the run ends with."""

        def status() -> str:
            found = str(self.query(RUN_STATUS, id=run)["runOrError"]["status"])
            return found if found in ENDED else ""

        return str(self.until(status))

    def launch_backfill(self, assets: Sequence[str], partitions: Sequence[str]) -> str:
        """The number of a new backfill of assets."""
        params = {"assetSelection": [{"path": [name]} for name in assets], "partitionNames": list(partitions)}
        launched = self.query(LAUNCH_BACKFILL, params=params)["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return str(launched["backfillId"])

    def await_backfill(self, backfill: str) -> str:
        """The status that the backfill ends with."""

        def status() -> str:
            found = str(self.query(BACKFILL_STATUS, id=backfill)["partitionBackfillOrError"]["status"])
            return found if re.match("COMPLETED|FAILED|CANCELED", found) else ""

        return str(self.until(status))


@contextmanager
def served(project: DagsterProject, log: Path) -> Iterator[ServedProject]:
    """The UI in a session of its own, as a shell starts it in the background: interrupts ignored.

    Afterwards it is told to end, and whatever that leaves is killed.
    """
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            serve_command(port),
            env=project.environment,
            cwd=project.root,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) and None,
        )
        opened = ServedProject(project, f"http://127.0.0.1:{port}", process, log)
        try:
            opened.until(lambda: _answers(opened.address))
            yield opened
        finally:
            _end(process)


def serve_command(port: int) -> list[str]:
    return [sys.executable, "-m", "arborist_dagster.serve", "--port", str(port)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/server_info", timeout=FAR):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False


def stop(process: subprocess.Popen[bytes]) -> list[int]:
    """End the UI as its first process ends it when told to; the processes that are left of it a while later."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    # The code servers end by themselves when they miss the first process.
    pause = Event()
    for _ in range(5 * STOP_SECONDS):
        if not processes_of(process.pid):
            break
        pause.wait(0.2)
    return processes_of(process.pid)


def _end(process: subprocess.Popen[bytes]) -> None:
    for pid in stop(process):
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
    process.wait()
