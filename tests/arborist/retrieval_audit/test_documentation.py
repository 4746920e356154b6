"""The documentation: its example gives the report it shows, and every code is explained."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arborist.providence.document_root_binding import ProofFailure
from arborist.retrieval_audit import main, verify_file
from arborist.retrieval_audit.findings import Doubt, Failure

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "retained-retrieval-audit.md").read_text(
    encoding="utf-8"
)


@pytest.fixture
def documented_bundle(tmp_path: Path) -> Path:
    """The files that the documentation shows, as it shows them."""
    blocks = re.findall(r"^```json bundle/(\S+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    for name, shown in blocks:
        (tmp_path / name).write_text(shown, encoding="utf-8")
    assert len(blocks) == 5
    return tmp_path / "audit.json"


def test_the_example_gives_the_report_shown(documented_bundle: Path) -> None:
    shown = re.search(r"^```json report.json\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert shown
    assert verify_file(documented_bundle, now=datetime(2026, 9, 14, 12, 5, tzinfo=UTC)) == json.loads(shown[1])


def test_the_example_run_later_is_stale_as_shown(
    documented_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r'^\.\.\. ("first_failure": \{.*?\}), \.\.\.$', DOCUMENT, re.MULTILINE)
    assert shown
    assert main(["--input", str(documented_bundle)]) == 2
    assert shown[1] in capsys.readouterr().out


@pytest.mark.parametrize("code", [*Failure, *Doubt, *ProofFailure])
def test_every_code_is_explained(code: str) -> None:
    assert f"`{code}`" in DOCUMENT.partition("## Findings")[2]
