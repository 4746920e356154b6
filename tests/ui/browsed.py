"""The UI over a project, in a browser."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Playwright, TimeoutError, expect, sync_playwright

from tests.dagster_project import DagsterProject
from tests.served import ServedProject, served

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PAGE_MILLISECONDS, IDLE_MILLISECONDS = 180_000, 5_000


def installed_chromium() -> str | None:
    """The system's own browser; Playwright's would be another download."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass(frozen=True)
class BrowsedProject:
    """A project whose UI is running, a page of a browser on it, and the folder that screenshots go to."""

    served: ServedProject
    page: Page
    screenshots: Path

    @property
    def project(self) -> DagsterProject:
        return self.served.project

    def open(self, path: str) -> Page:
        self.page.goto(self.served.address + path)
        return self.page

    def shot(self, name: str) -> None:
        """Keep what the page shows when nothing moves any more, or after a while."""
        with suppress(TimeoutError):
            self.page.wait_for_load_state("networkidle", timeout=IDLE_MILLISECONDS)
        self.page.screenshot(path=self.screenshots / f"{name}.png", animations="disabled")

    def launched_run(self) -> str:
        """The number of the run that the page was led to."""
        self.page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}"))
        found = re.search(r"/runs/([0-9a-f-]{36})", self.page.url)
        assert found is not None
        return found[1]

    def launched_backfill(self, button: Locator) -> str:
        """The number of the backfill that a click on the button launches: earlier ones have ended long ago."""
        with self.page.expect_response(
            lambda response: "launchPartitionBackfill" in (response.request.post_data or "")
        ) as caught:
            button.click()
        return str(caught.value.json()["data"]["launchPartitionBackfill"]["backfillId"])


def _started(playwright: Playwright, chromium: str) -> Browser:
    try:
        return playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
    except Error as error:
        # A machine may have a browser that it does not let run, which says nothing about the project.
        pytest.skip(f"{chromium} does not start here: {error.message.splitlines()[0]}")


@contextmanager
def browsed(project: DagsterProject, chromium: str, screenshots: Path) -> Iterator[BrowsedProject]:
    """The project's UI, and a page in a new browser."""
    expect.set_options(timeout=PAGE_MILLISECONDS)
    with sync_playwright() as playwright, served(project, screenshots / "server.log") as ui:
        browser = _started(playwright, chromium)
        page = browser.new_page(viewport={"width": 1500, "height": 1000})
        page.set_default_timeout(PAGE_MILLISECONDS)
        yield BrowsedProject(ui, page, screenshots)
        browser.close()
