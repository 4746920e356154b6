"""The command: one line on stdout, silence on stderr, exit 0 or 2."""

import gc
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arborist.retrieval_audit import exit_code, main
from tests.arborist.retrieval_audit.bundles import Bundle, file_bundle

ROOT = Path(__file__).resolve().parents[3]


def fresh_bundle() -> Bundle:
    """Captured just now, because the command has no clock but the machine's."""
    return file_bundle(start=datetime.now(UTC) - timedelta(minutes=10))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arborist.retrieval_audit", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_review_required_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--input", str(fresh_bundle().write(tmp_path))]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "review-required"
    assert printed.err == ""


def test_blocked_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--input", str(file_bundle(start=datetime(2020, 1, 1, tzinfo=UTC)).write(tmp_path))]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["first_failure"]["code"] == "evidence-stale"
    assert printed.err == ""


def test_the_process_prints_one_sorted_line_of_ascii(tmp_path: Path) -> None:
    finished = run("--input", str(fresh_bundle().write(tmp_path)))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.isascii()
    assert finished.stdout.count("\n") == 1
    report = json.loads(finished.stdout)
    assert list(report) == sorted(report)


def test_a_missing_input_is_a_report_not_a_usage_error(tmp_path: Path) -> None:
    finished = run("--input", str(tmp_path / "audit.json"))
    assert (finished.returncode, finished.stderr) == (2, "")
    assert json.loads(finished.stdout)["first_failure"]["code"] == "file-missing"


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["--input"], ["--inp", "x"], ["--input", "x", "--now", "y"], ["x"]]
)
def test_there_is_one_option_and_no_other(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as usage:
        main(arguments)
    assert usage.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_report_that_nobody_gets_is_exit_2_without_a_traceback(tmp_path: Path) -> None:
    audit_file = fresh_bundle().write(tmp_path)
    with Path("/dev/full").open("wb") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "arborist.retrieval_audit", "--input", str(audit_file)],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (finished.returncode, finished.stderr) == (2, b"")


def test_only_a_blocked_report_has_exit_2() -> None:
    assert exit_code({"status": "blocked"}) == 2
    assert exit_code({"status": "review-required"}) == 0


def test_the_collector_is_as_it_was_once_the_command_has_run(tmp_path: Path) -> None:
    audit_file = fresh_bundle().write(tmp_path)
    for switch in (gc.disable, gc.enable):
        switch()
        main(["--input", str(audit_file)])
        assert gc.isenabled() is (switch is gc.enable)
