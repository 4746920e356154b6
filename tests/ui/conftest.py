"""One UI for all stories, which are told in their order: each goes on from what the one before it left."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dagster_project import DagsterProject
from tests.ui.browsed import BrowsedProject, browsed, installed_chromium

QUESTIONS = [
    {"id": "lamp", "question": "Where is the lamp kept?", "expectedDocumentIds": ["docs/lamp.md"]},
    {"id": "oak", "question": "Where is the oak kept?", "expectedDocumentIds": ["trees/oak.md"]},
    {"id": "hard", "question": "Which thing is in the harp room?", "expectedDocumentIds": ["docs/bell.md"]},
    {"id": "none", "question": "zeppelin", "expectedDocumentIds": []},
]


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowsedProject]:
    """The UI of a fresh instance over a project of which nothing is built, with one golden set, `rooms`.

    Screenshots go to the folder in ARBORIST_SCREENSHOTS, or else to a temporary one.
    """
    chromium = installed_chromium()
    if chromium is None:
        pytest.skip("there is no Chromium here: `make test-ui` installs Debian's where it is root")
    project = DagsterProject.new(tmp_path_factory.mktemp("ui") / "project")
    lines = [json.dumps({"form": "match", "hardClass": None, "answerGist": None} | item) for item in QUESTIONS]
    (project.root / "golden").mkdir()
    (project.root / "golden" / "rooms.jsonl").write_text("\n".join(lines) + "\n")
    named = os.environ.get("ARBORIST_SCREENSHOTS")
    screenshots = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    screenshots.mkdir(parents=True, exist_ok=True)
    with browsed(project, chromium, screenshots) as opened:
        yield opened
    project.close()
