"""Broken bundles, thousands of them: always a report, never an exception, a write, a connection or a leak."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arborist.retrieval_audit import verify
from tests.arborist.retrieval_audit.bundles import START

ROOT = Path(__file__).resolve().parents[3]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def watched(directory: Path, seed: int, count: int) -> dict[str, Any]:
    module = "tests.arborist.retrieval_audit.watched_run"
    finished = subprocess.run(
        [sys.executable, "-m", module, str(directory), str(seed), str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seen: dict[str, Any] = json.loads(finished.stdout)
    return seen


@pytest.mark.parametrize(
    ("seed", "count", "codes"),
    [pytest.param(1, 3_000, 60, id="few"), pytest.param(2, 100_000, 75, id="many", marks=pytest.mark.slow)],
)
def test_broken_bundles_end_in_a_report(seed: int, count: int, codes: int, tmp_path: Path) -> None:
    seen = watched(tmp_path / "bundle", seed, count)
    assert seen["faults"] == {}
    assert seen["violations"] == {}
    assert set(seen["exits"]) == {"0", "2"}
    assert sum(seen["exits"].values()) == count
    assert seen["files_opened"] > count
    assert len(seen["codes"]) >= codes


def test_the_watch_sees_a_write(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path\n"
        "from tests.arborist.retrieval_audit.watched_run import Watch\n"
        f"watch = Watch(Path({str(tmp_path)!r}))\n"
        "watch.is_awake = True\n"
        f"Path({str(tmp_path / 'new')!r}).write_text('x')\n"
        "import socket; socket.socket().close()\n"
        "watch.is_awake = False\n"
        "print(watch.violations['write'], watch.violations['socket.__new__'])\n"
    )
    finished = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["1", "1"]


@given(document=json_values)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_blocked_with_one_finding(document: Any, tmp_path: Path) -> None:
    report = verify(document, tmp_path, now=START)
    assert report["status"] == "blocked"
    assert report["finding_count"] == 1
    assert report["first_failure"]["code"].startswith("input-")
