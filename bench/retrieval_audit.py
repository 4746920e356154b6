"""Seconds and peak memory of auditing bundles as large as the limits allow.

`python bench/retrieval_audit.py [--json]`. What is measured is the command as users run it, from the start of its
process to its end; the best of three runs counts. Where the machine has other work, `cpu_seconds` comes close to
what a quiet one would take. Targets: under 2 s and under 200 MB.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arborist.retrieval_audit.answer_text import CITATION_LIMIT
from arborist.retrieval_audit.bundle_files import DOCUMENT_LIMIT, RESPONSE_LIMIT

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3
TARGET_SECONDS = 2.0
TARGET_MEGABYTES = 200.0

# The command has no clock but the machine's, and evidence is good for an hour.
START = datetime.now(UTC) - timedelta(minutes=10)
QUERIES = {"customer": "What grows here?", "unrelated": "Who won the regatta?"}

# What fills a document up to its limit: a text of at most so many bytes, quotes included where it needs them.
Filler = Callable[[int], str]


def plain(size: int) -> str:
    """One long string."""
    return json.dumps("x" * (size - 2))


def escapes(size: int) -> str:
    """One string in which every character is escaped."""
    return '"' + r"\"" * ((size - 2) // 2) + '"'


def short_keys(size: int) -> str:
    """One object with as many members as fit."""
    members = ",".join(f'"{index:x}":0' for index in range(size // 9))
    return "{" + members[: size - 2].rpartition(",")[0] + "}"


def small_arrays(size: int) -> str:
    """Arrays in arrays, none beyond the length limit, most of them empty."""
    return nested_in_thousands("[]", size)


def small_objects(size: int) -> str:
    """As many objects of one member as fit."""
    return nested_in_thousands('{"a":0}', size)


def nested_in_thousands(entry: str, size: int) -> str:
    """The entry as often as fits, in arrays of a thousand in arrays of a hundred in one array."""
    thousand = "[" + ",".join([entry] * 1_000) + "]"
    hundreds = (size - 2) // (100 * (len(thousand) + 1) + 2)
    rest = (size - 2) // (len(thousand) + 1) - 100 * hundreds - 1
    parts = [thousand] * max(rest, 0) + ["[" + ",".join([thousand] * 100) + "]"] * hundreds
    return "[" + ",".join(parts) + "]"


def brackets(size: int) -> str:
    """Nesting beyond the limit from the first byte to the last."""
    return "[" * size


def long_array(size: int) -> str:
    """One array far beyond the length limit."""
    return "[" + ",".join(["{}"] * ((size - 2) // 3)) + "]"


FILLERS = (plain, escapes, short_keys, small_arrays, small_objects, brackets, long_array)


def filled(document: dict[str, Any], filler: Filler, limit: int) -> bytes:
    """The document with a member that brings it close to its limit, padded with blanks to it exactly."""
    text = json.dumps(document)
    with_filler = f'{text[:-1]},"filler":{filler(limit - len(text) - 12)}}}'
    return with_filler.encode().ljust(limit)


def captured_at(minute: int) -> str:
    return (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


def snapshot(minute: int, filler: Filler) -> bytes:
    base = {
        "name": "base",
        "@odata.etag": "1",
        "knowledgeSources": [{"name": "source"}],
        "models": [],
        "outputMode": "extractiveData",
        "retrievalReasoningEffort": {"kind": "minimal"},
    }
    source = {"name": "source", "kind": "file", "@odata.etag": "2", "fileParameters": {"ingestionParameters": {}}}
    original = {
        "fileName": "a.md",
        "fileId": "f",
        "lastUpdatedAt": "2026-09-01T00:00:00Z",
        "errorMessage": None,
    }
    rest = {
        "captured_at": captured_at(minute),
        "endpoint": "e",
        "api_version": "2026-08-01-preview",
        "knowledge_base": base,
        "knowledge_source": source,
    }
    start = json.dumps(rest)[:-1] + ',"original":'
    return start.encode() + filled(original, filler, DOCUMENT_LIMIT - len(start) - 1) + b"}"


def response(count: int, filler: Filler) -> bytes:
    """A response with so many rows, references and activities, the rows taking a fifth of the space."""
    words = "x" * (RESPONSE_LIMIT // 5 // max(count, 1))
    rows = json.dumps([{"ref_id": index, "content": words} for index in range(count)])
    body = {
        "response": [{"content": [{"type": "text", "text": rows}]}],
        "activity": [
            {"type": "file", "id": index, "knowledgeSourceName": "source", "warning": f"warning {index}"}
            for index in range(CITATION_LIMIT)
        ],
        "references": [
            {"type": "file", "id": str(index), "activitySource": index, "sourceData": None, "docName": "a.md"}
            for index in range(count)
        ],
    }
    return filled({"http_status": 200, "response_body": body}, filler, RESPONSE_LIMIT)


def case(name: str, minute: int, basis: str) -> dict[str, Any]:
    return {
        "query": QUERIES[name],
        "approved": True,
        "basis": basis,
        "request": {"intents": [{"type": "semantic", "search": QUERIES[name]}]},
        "response": f"{name}.json",
        "captured_at": captured_at(minute),
    }


def write_bundle(directory: Path, filler: Filler) -> Path:
    """A bundle whose five files are exactly as large as the limits allow."""
    audit = {
        "schema_version": "1.0",
        "endpoint": "e",
        "api_version": "2026-08-01-preview",
        "knowledge_base_name": "base",
        "source_name": "source",
        "source_kind": "file",
        "expected_source": {"path": "a.md", "file_id": "f"},
        "before": "before.json",
        "after": "after.json",
        "customer": case("customer", 1, "content"),
        "unrelated": case("unrelated", 2, "unrelated"),
    }
    # The hostile fillers belong where they are met last: they end the case, not the audit.
    in_snapshots = plain if filler in (brackets, long_array) else filler
    (directory / "audit.json").write_bytes(json.dumps(audit).encode().ljust(DOCUMENT_LIMIT))
    (directory / "before.json").write_bytes(snapshot(0, in_snapshots))
    (directory / "after.json").write_bytes(snapshot(3, in_snapshots))
    (directory / "customer.json").write_bytes(response(CITATION_LIMIT, filler))
    (directory / "unrelated.json").write_bytes(response(0, filler))
    return directory / "audit.json"


def run_once(audit_file: Path, output: Path) -> tuple[float, float, float]:
    """One audit as a process of its own: seconds, seconds of processor time, peak memory in MB."""
    command = [sys.executable, "-m", "arborist.retrieval_audit", "--input", str(audit_file)]
    started = time.perf_counter()
    to_file = (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    process = os.posix_spawn(
        sys.executable, command, os.environ | {"PYTHONPATH": str(ROOT)}, file_actions=[to_file]
    )
    _, _, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(filler: Filler) -> dict[str, Any]:
    """The figures of one maximal bundle: what was found, the least of each cost, the highest peak."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "report.json")
        audit_file = write_bundle(Path(directory), filler)
        size = sum(path.stat().st_size for path in Path(directory).iterdir())
        seconds, cpu_seconds, peaks = zip(*[run_once(audit_file, output) for _ in range(RUNS)], strict=True)
        report = json.loads(output.read_text())
    return {
        "filler": filler.__name__,
        "bytes": size,
        "structural_status": report["structural_status"],
        "finding_count": report["finding_count"],
        "first_failure": (report["first_failure"] or {}).get("code"),
        "seconds": round(min(seconds), 3),
        "cpu_seconds": round(min(cpu_seconds), 3),
        "peak_megabytes": round(max(peaks), 1),
        "within_targets": min(seconds) < TARGET_SECONDS and max(peaks) < TARGET_MEGABYTES,
    }


def table(rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0])
    cells = [columns, *([str(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    rows = [measured(filler) for filler in FILLERS]
    print(json.dumps(rows) if arguments.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
