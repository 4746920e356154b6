"""`arborist audit-retrieval`: one JSON object for either kind of bundle, and what it exits with."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arborist.workspace import Workspace
from tests.arborist.cli.conftest import Arborist
from tests.arborist.retrieval_audit.bundles import file_bundle
from tests.corpora import WHEN_ALDER


def recorded(arborist: Arborist, here: list[str], question: str = WHEN_ALDER) -> str:
    """Ask, and return the cache key of the record."""
    return str(json.loads(arborist("ask", question, "--json", *here).stdout)["cache_key"])


def test_a_hosted_bundle_is_up_for_review(arborist: Arborist, tmp_path: Path) -> None:
    bundle = file_bundle(start=datetime.now(UTC) - timedelta(minutes=10)).write(tmp_path)
    result = arborist("audit-retrieval", "--input", bundle)
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert (report["outcome"], report["status"]) == ("retained-retrieval-audit", "review-required")


def test_a_stale_bundle_is_blocked(arborist: Arborist, tmp_path: Path) -> None:
    result = arborist("audit-retrieval", "--input", file_bundle().write(tmp_path))
    assert (result.returncode, result.stderr) == (2, "")
    assert json.loads(result.stdout)["first_failure"]["code"] == "evidence-stale"


@pytest.mark.parametrize("name", ["nowhere.json", "-x", "", "https://svc.example/audit.json", "a\x00b"])
def test_an_input_that_is_none_is_a_report_too(arborist: Arborist, tmp_path: Path, name: str) -> None:
    result = arborist("audit-retrieval", "--input", name)
    assert (result.returncode, result.stderr) == (2, "")
    assert json.loads(result.stdout)["status"] == "blocked"


def test_a_record_of_the_ledger_is_audited_from_a_bundle_that_can_be_audited_again(
    arborist: Arborist, here: list[str], workspace: Workspace
) -> None:
    key = recorded(arborist, here)
    result = arborist("audit-retrieval", "--ledger", key[:12], *here)
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert report["cases"]["customer"]["original_identity"] == "passed"
    assert report["overall_pass"] is False
    assert report["writes_performed"] == [
        f"audits/ledger-{key[:16]}/{name}.json" for name in ("after", "audit", "before", "customer", "unrelated")
    ]
    bundle = workspace.home.audits_folder / f"ledger-{key[:16]}" / "audit.json"
    again = arborist("audit-retrieval", "--input", bundle)
    assert again.returncode == 0
    assert json.loads(again.stdout) == report | {"mutation": "none", "writes_performed": []}


def test_auditing_a_record_records_nothing(arborist: Arborist, here: list[str], workspace: Workspace) -> None:
    key = recorded(arborist, here)
    before = workspace.home.ledger_file.read_bytes()
    arborist("audit-retrieval", "--ledger", key, *here)
    assert workspace.home.ledger_file.read_bytes() == before


def test_a_changed_bundle_of_a_record_is_blocked(
    arborist: Arborist, here: list[str], workspace: Workspace
) -> None:
    key = recorded(arborist, here)
    arborist("audit-retrieval", "--ledger", key, *here)
    customer = workspace.home.audits_folder / f"ledger-{key[:16]}" / "customer.json"
    customer.write_text(customer.read_text().replace("1932", "1933"))
    result = arborist("audit-retrieval", "--input", customer.with_name("audit.json"))
    assert (result.returncode, result.stderr) == (2, "")
    assert json.loads(result.stdout)["cases"]["customer"]["original_identity"] == "failed"


@pytest.mark.parametrize("arguments", [[], ["--input", "a", "--ledger", "b"], ["--nonsense"]])
def test_there_is_one_thing_to_audit(arborist: Arborist, arguments: list[str]) -> None:
    result = arborist("audit-retrieval", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")


def test_an_unknown_record_is_told_on_stderr(arborist: Arborist, here: list[str]) -> None:
    recorded(arborist, here)
    result = arborist("audit-retrieval", "--ledger", "00000000", *here)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
