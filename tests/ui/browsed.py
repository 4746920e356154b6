"""The UI over a project, in a browser."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.dagster_project import DagsterProject

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS, PAGE_SECONDS = 120, 60


@dataclass
class BrowsedProject:
    """A project whose UI is running, a page of a browser on it, and the folder that screenshots go to."""

    project: DagsterProject
    page: Page
    address: str
    screenshots: Path

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def shot(self, name: str) -> None:
        """Keep what the page shows when nothing moves any more."""
        self.page.wait_for_load_state("networkidle")
        self.page.screenshot(path=self.screenshots / f"{name}.png", animations="disabled")

    def query(self, text: str, **variables: Any) -> Any:
        """What the UI's own interface answers."""
        response = self.page.request.post(
            f"{self.address}/graphql", data={"query": text, "variables": variables}, timeout=PAGE_SECONDS * 1000
        )
        return response.json()["data"]

    def wait_until(self, query: str, reached: Callable[[Any], bool], seconds: int) -> Any:
        """What the UI's interface answers as soon as that is what is waited for; it is asked every second."""
        for _ in range(seconds):
            answer = self.query(query)
            if reached(answer):
                return answer
            self.page.wait_for_timeout(1000)
        raise AssertionError(f"not within {seconds} s: {query}: {answer}")

    def launched_run(self) -> str:
        """The number of the run that the page was led to."""
        self.page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}"))
        found = re.search(r"/runs/([0-9a-f-]{36})", self.page.url)
        assert found is not None
        return found[1]

    def await_run(self, run: str, seconds: int = 120) -> str:
        """The status that the run ends with."""
        query = f'{{ runOrError(runId: "{run}") {{ ... on Run {{ status }} }} }}'
        over = {"SUCCESS", "FAILURE", "CANCELED"}
        answer = self.wait_until(query, lambda data: data["runOrError"]["status"] in over, seconds)
        return str(answer["runOrError"]["status"])

    def await_backfill(self, seconds: int) -> str:
        """The status that the newest backfill ends with."""
        query = "{ partitionBackfillsOrError(limit: 1) { ... on PartitionBackfills { results { status } } } }"

        def status(data: Any) -> str:
            return "".join(str(item["status"]) for item in data["partitionBackfillsOrError"]["results"])

        return status(self.wait_until(query, lambda data: status(data).startswith("COMPLETED"), seconds))


@contextmanager
def browsed(project: DagsterProject, screenshots: Path) -> Iterator[BrowsedProject]:
    """The UI started as `make dev` starts it, and stopped as Ctrl-C stops it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (screenshots / "server.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "arborist_dagster.serve", "--port", str(port)],
        env=project.environment,
        cwd=project.root,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1500, "height": 1000})
            page.set_default_timeout(PAGE_SECONDS * 1000)
            address = f"http://127.0.0.1:{port}"
            _await_server(page, address, server)
            yield BrowsedProject(project, page, address, screenshots)
            browser.close()
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
        log.close()


def _await_server(page: Page, address: str, server: subprocess.Popen[bytes]) -> None:
    # The browser tries a refused connection again only when told to; a page of its own does that.
    page.set_content(
        f"<script>const again = () => fetch('{address}/server_info', {{mode: 'no-cors'}})"
        ".then(() => { document.title = 'up' }, () => setTimeout(again, 500)); again()</script>"
    )
    page.wait_for_function("document.title === 'up'", timeout=START_SECONDS * 1000)
    assert server.poll() is None
