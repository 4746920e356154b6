"""Audits broken bundles in a process that watches itself: `python -m <this module> DIRECTORY SEED COUNT`.

Prints what it saw as JSON: exit codes, finding codes, and everything that must not happen.
"""

import contextlib
import io
import json
import os
import shutil
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from arborist.retrieval_audit import main
from tests.arborist.retrieval_audit.mutations import Mutator

# Letters that no code, pointer, digest or fixed word of a report has in a row.
PREFIX = "zqxjzqxj"

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FORBIDDEN = (
    *("socket.", "subprocess.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "shutil.", "tempfile."),
    *(
        "os.system",
        "os.exec",
        "os.fork",
        "os.posix_spawn",
        "os.spawn",
        "os.remove",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
    ),
    *("os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "os.utime", "os.setxattr", "os.removexattr"),
)


class Watch:
    """Notes every write, every network or process event, and every open outside the bundle, while it is awake."""

    def __init__(self, bundle: Path) -> None:
        self._bundle = str(bundle)
        self.is_awake = False
        self.opened = 0
        self.violations: Counter[str] = Counter()
        sys.addaudithook(self._notice)

    def _notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_awake:
            return
        if event == "open":
            self._notice_open(*arguments)
        elif event.startswith(FORBIDDEN):
            self.violations[event] += 1

    def _notice_open(self, path: Any, _mode: str | None, flags: int) -> None:
        self.opened += 1
        if flags & WRITING:
            self.violations["write"] += 1
        # A number is a descriptor that an earlier event has opened.
        if not isinstance(path, int) and not str(path).startswith(self._bundle):
            self.violations["open outside the bundle"] += 1


def audited(audit_file: Path, watch: Watch) -> tuple[int | None, str, str]:
    """Exit code, or None for an exception, with what went to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        watch.is_awake = True
        try:
            code: int | None = main(["--input", str(audit_file)])
        except BaseException:
            code = None
        finally:
            watch.is_awake = False
    return code, out.getvalue(), err.getvalue()


def faults(code: int | None, out: str, err: str) -> list[str]:
    """What is wrong with one run of the command."""
    try:
        report = json.loads(out)
    except ValueError:
        return ["stdout is not one JSON value"]
    expected = {"review-required": 0, "blocked": 2}[report["status"]]
    checks = {
        "exit code": code == expected,
        "one line of ASCII": out.isascii() and out.count("\n") == 1 and out.endswith("\n"),
        "silent stderr": err == "",
        "evidence in the output": PREFIX not in out,
        "no acceptance": report["overall_pass"] is False and report["structural_status"] != "passed",
        "no internal error": "internal-error" not in out,
    }
    return [name for name, holds in checks.items() if not holds]


def run(directory: Path, seed: int, count: int) -> dict[str, Any]:
    """Audit `count` broken bundles written one after the other into `directory`."""
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)
    mutator = Mutator(seed, PREFIX, start)
    watch = Watch(directory)
    exits: Counter[str] = Counter()
    codes: set[str] = set()
    wrong: Counter[str] = Counter()
    # The first run may import; from the second on nothing but the bundle is opened.
    with contextlib.redirect_stdout(io.StringIO()):
        main(["--input", str(directory / "audit.json")])
    for _ in range(count):
        shutil.rmtree(directory, ignore_errors=True)
        code, out, err = audited(mutator.bundle().write(directory), watch)
        exits[str(code)] += 1
        wrong.update(faults(code, out, err))
        codes.update(finding["code"] for finding in json.loads(out)["findings"])
    return {
        "exits": exits,
        "codes": sorted(codes),
        "faults": wrong,
        "violations": watch.violations,
        "files_opened": watch.opened,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
