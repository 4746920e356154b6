"""Memory stays flat while a corpus of thousands of documents is built."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.dagster_project import DagsterProject, roots

pytestmark = pytest.mark.slow

MEBIBYTE = 1024
CONFIG = """
[sources.squad]
kind = "jsonl"
path = "{folder}"
include = ["docs_gold.jsonl", "docs_distractors.jsonl"]
shards = 6
fields = {{ uri = "doc_id" }}
"""


def test_five_thousand_paragraphs_are_built_in_less_than_500_megabytes(shared_data: Path, tmp_path: Path) -> None:
    project = DagsterProject(tmp_path)
    project.config.write_text(CONFIG.format(folder=shared_data / "squad2_wiki"))
    build = subprocess.Popen(project.command("build"), env=project.environment, stdout=subprocess.DEVNULL)
    peak = max(_watched(build))
    print(f"peak of the build with all its processes: {peak / MEBIBYTE:.0f} MiB")
    assert build.returncode == 0
    assert len(roots(project.corpus)) == 6
    with project.corpus.opened() as shards:
        assert sum(shard.meta.documents for shard in shards) == 5050
    assert 100 * MEBIBYTE < peak < 500 * 1000 * 1000 / 1024


def _watched(build: subprocess.Popen[bytes]) -> list[int]:
    """What the build and its processes hold together, in KiB, seen again and again until it ends."""
    seen = [0]
    while build.poll() is None:
        seen.append(sum(_resident(process) for process in _family(build.pid)))
        os.sched_yield()
    return seen


def _family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return [pid]
    return [pid, *(member for child in children for member in _family(child))]


def _resident(pid: int) -> int:
    """Proportional set size: what processes share is counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
