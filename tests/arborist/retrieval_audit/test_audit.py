"""The audit as a whole: its order, its silence about the evidence, its determinism, and what it leaves alone."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arborist.retrieval_audit import verify, verify_file
from arborist.retrieval_audit.case import Case
from arborist.retrieval_audit.report import report_line
from tests.arborist.retrieval_audit.bundles import (
    FILES,
    Bundle,
    Change,
    at_time,
    blob_bundle,
    both,
    content,
    drop,
    file_bundle,
    put,
    synthesis_bundle,
    text,
    together,
)

ROOT = Path(__file__).resolve().parents[3]
BODY = "customer/response_body"

# Words of letters that no code, pointer or digest has in a row.
words = st.text("qzxj", min_size=8, max_size=12)
bases = st.sampled_from([file_bundle, blob_bundle, synthesis_bundle])


def audited(bundle: Bundle, directory: Path) -> dict[str, Any]:
    return verify_file(bundle.write(directory), now=bundle.now)


def talkative(word: str) -> Change:
    """Evidence that speaks wherever it may."""
    return together(
        put("audit/expected_source/identity_field", f"{word}Field"),
        put(f"{BODY}/references/0/sourceData", {f"{word}Field": f"{word}value", f"{word}key": [word]}),
        put(f"{BODY}/activity/0/warning", f"{word} documents were dropped"),
        put(f"{BODY}/activity/1/error", {"code": word, "message": f"{word} timed out"}),
        put(f"customer/{word}", {"token": word}),
        put(f"{BODY}/{word}", word),
    )


def breaking(word: str) -> list[Change]:
    """Evidence that fails at every stage, each time with the word in reach."""
    return [
        put(f"audit/{word}", word),
        put("audit/before", f"{word}.json"),
        put("audit/before", f"https://{word}/"),
        put("audit/schema_version", word),
        put("audit/customer/request", {word: word}),
        put("audit/customer/captured_at", word),
        put(f"before/{word}", word),
        both("knowledge_base/outputMode", word),
        put(f"after/original/{word}", word),
        put("customer/status", word),
        together(put("customer/status", "blocked"), put("customer/first_blocker", {"code": word})),
        text("customer", f"[ref_id:{word}"),
        put(f"{BODY}/references/0/id", [word]),
        content("customer", lambda data: data[:-1] + word.encode()),
        content("before", lambda data: data.replace(b'"chunks": 1', f'"{word}": 1, "{word}": 2'.encode())),
    ]


@given(word=words, base=bases)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_word_of_the_evidence_is_in_a_report(word: str, base: Callable[[str], Bundle], tmp_path: Path) -> None:
    for change in (lambda _: None, talkative(word), *breaking(word)):
        bundle = base(word)
        change(bundle)
        assert word not in report_line(audited(bundle, tmp_path / "bundle"))


@given(word=words)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_word_of_the_evidence_is_in_the_report_of_a_crash(word: str, tmp_path: Path) -> None:
    bundle = file_bundle(word)

    def crash(_case: Case, document: dict[str, Any]) -> None:
        raise RuntimeError(json.dumps(document))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Case, "read", crash)
        report = audited(bundle, tmp_path / "bundle")
    assert word not in report_line(report)
    assert report["first_failure"] == {"code": "internal-error", "at": "/customer/response", "status": "failed"}
    assert report["failed_count"] == 2


@given(base=bases, word=words)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_bundle_at_one_time_has_one_report(base: Callable[[str], Bundle], word: str, tmp_path: Path) -> None:
    bundle = base(word)
    talkative(word)(bundle)
    audit_file = bundle.write(tmp_path / "bundle")
    assert report_line(verify_file(audit_file, now=bundle.now)) == report_line(
        verify_file(audit_file, now=bundle.now)
    )


def test_a_report_has_the_fields_of_section_13(tmp_path: Path) -> None:
    report = audited(file_bundle(), tmp_path)
    fixed = {
        "outcome": "retained-retrieval-audit",
        "status": "review-required",
        "structural_status": "unverified",
        "overall_pass": False,
        "before_after_snapshot_equal": True,
        "mutation": "none",
        "writes_performed": [],
        "cleanup": "not-applicable",
        "network_calls": 0,
        "model_calls": 0,
        "unverified": ["answer-faithfulness", "semantic-abstention", "evidence-origin", "agent-invocation"],
        "diagnostics": [],
        "first_failure": None,
        "first_error": None,
        "first_warning": None,
        "finding_count": 1,
        "failed_count": 0,
        "unverified_count": 1,
        "diagnostic_count": 0,
        "error_count": 0,
        "warning_count": 0,
    }
    assert {name: report[name] for name in fixed} == fixed
    assert report["first_issue"] == report["findings"][0]
    assert report.keys() - fixed.keys() == {"cases", "evidence", "findings", "first_issue"}


def test_the_files_read_are_named_by_role_size_and_digest(tmp_path: Path) -> None:
    bundle = file_bundle()
    evidence = audited(bundle, tmp_path)["evidence"]
    assert evidence == {
        {"audit": "input"}.get(name, name): {
            "bytes": len(bundle.content(name)),
            "sha256": hashlib.sha256(bundle.content(name)).hexdigest(),
        }
        for name in FILES
    }


def test_a_document_is_audited_as_the_file_that_holds_it(tmp_path: Path) -> None:
    bundle = file_bundle()
    from_file = audited(bundle, tmp_path)
    from_document = verify(bundle.documents["audit"], tmp_path, now=bundle.now)
    assert from_file["evidence"].pop("input")
    assert from_document == from_file


# Each later stage has a problem too; the first one in the order of section 12 is the one that is named.
STAGES: list[tuple[str, Change]] = [
    ("questions-not-distinct", put("audit/unrelated/query", "What are the installation steps?")),
    ("snapshot-source-selection", both("knowledge_base/knowledgeSources", [])),
    ("evidence-stale", at_time(datetime.fromisoformat("2026-09-14T14:00:00+00:00"))),
    ("snapshot-changed", put("after/original/size", 1)),
    ("original-record-mismatch", both("original/fileId", "other")),
    ("mode-unsupported", both("knowledge_base/outputMode", None)),
    ("request-not-exact", put("audit/unrelated/request", {})),
    ("http-status-invalid", drop("customer/http_status")),
]


@pytest.mark.parametrize("stage", range(len(STAGES)))
def test_stages_follow_their_order(stage: int, tmp_path: Path) -> None:
    bundle = file_bundle()
    together(*(change for _, change in reversed(STAGES[stage:])))(bundle)
    assert audited(bundle, tmp_path)["first_failure"]["code"] == STAGES[stage][0]


@pytest.mark.parametrize("member", ["expected_source", "customer", "unrelated"])
@pytest.mark.parametrize("value", [None, "x", []])
def test_an_input_member_of_another_type_is_named(member: str, value: Any, tmp_path: Path) -> None:
    bundle = file_bundle()
    put(f"audit/{member}", value)(bundle)
    assert audited(bundle, tmp_path)["first_failure"] == {
        "code": "input-field-invalid",
        "at": f"/input/{member}",
        "status": "failed",
    }


def test_a_changed_snapshot_does_not_end_the_audit(tmp_path: Path) -> None:
    bundle = file_bundle()
    for part in ("knowledge_base", "knowledge_source", "original"):
        put(f"after/{part}/note", "x")(bundle)
    report = audited(bundle, tmp_path)
    assert [entry["at"] for entry in report["findings"] if entry["code"] == "snapshot-changed"] == [
        "/after/knowledge_base",
        "/after/knowledge_source",
        "/after/original",
    ]
    assert report["before_after_snapshot_equal"] is False
    assert set(report["cases"]) == {"customer", "unrelated"}


def test_snapshots_that_were_not_compared_are_not_called_equal(tmp_path: Path) -> None:
    bundle = file_bundle()
    drop("after/original")(bundle)
    assert audited(bundle, tmp_path)["before_after_snapshot_equal"] is None


@pytest.mark.parametrize("part", ["captured_at", "endpoint", "knowledge_base", "original"])
@pytest.mark.parametrize("value", [None, 7, []])
def test_a_snapshot_member_of_another_type_is_named(part: str, value: Any, tmp_path: Path) -> None:
    bundle = file_bundle()
    put(f"before/{part}", value)(bundle)
    assert audited(bundle, tmp_path)["first_failure"] == {
        "code": "snapshot-invalid",
        "at": f"/before/{part}",
        "status": "failed",
    }


def test_the_bundle_is_left_as_it_was(tmp_path: Path) -> None:
    bundle = file_bundle()
    audit_file = bundle.write(tmp_path / "bundle")

    def state() -> list[tuple[str, int, int, int]]:
        entries = [audit_file.parent, *sorted(audit_file.parent.iterdir())]
        return [(e.name, e.stat().st_size, e.stat().st_mtime_ns, e.stat().st_ctime_ns) for e in entries]

    earlier = state()
    verify_file(audit_file, now=bundle.now)
    assert state() == earlier


def test_the_package_loads_nothing_but_itself_and_the_standard_library() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import arborist.retrieval_audit, arborist.retrieval_audit.command\n"
        "roots = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names\n"
        "ours = {name for name in sys.modules if name.partition('.')[0] == 'arborist'}\n"
        "others = {name for name in ours if not name.startswith('arborist.retrieval_audit')}\n"
        "print(sorted(roots), sorted(others))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
    )
    assert finished.stdout == "['__main__', 'arborist'] ['arborist']\n"
