"""`python -m arborist.retrieval_audit --input <bundle>/audit.json`: one line of JSON, exit 0 or 2."""

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from arborist.retrieval_audit.audit import verify_file
from arborist.retrieval_audit.report import BLOCKED, report_line

EXIT_REVIEW_REQUIRED = 0
EXIT_BLOCKED = 2


def exit_code(report: Mapping[str, Any]) -> int:
    """0 for a report that asks for review, 2 for a blocked one; neither is an acceptance."""
    return EXIT_BLOCKED if report["status"] == BLOCKED else EXIT_REVIEW_REQUIRED


def main(argv: Sequence[str] | None = None) -> int:
    """Audit the bundle named by `argv` (default: the process's arguments), print the report, return the exit code.

    Raises SystemExit(2) for arguments that are not `--input PATH`.
    """
    # No option but the one: help would exit 0, which says that a bundle was audited.
    parser = argparse.ArgumentParser(
        prog="arborist.retrieval_audit", add_help=False, allow_abbrev=False, description=__doc__
    )
    parser.add_argument("--input", required=True, metavar="BUNDLE/audit.json")
    arguments = parser.parse_args(argv)
    with _without_collector():
        report = verify_file(arguments.input)
    try:
        sys.stdout.write(report_line(report))
        sys.stdout.flush()
    except OSError:
        # Nobody got the report. The interpreter flushes once more at its end and must not fail there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BLOCKED
    return exit_code(report)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Leave garbage to reference counting: decoded JSON has no cycles, and a search for them takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
