"""CPU time of a process that loads the code location, against one that imports Dagster and nothing else.

`python -m bench.startup [--runs 10]`. The two take turns, so that what else the machine does falls on both; the
figures are medians. Every run of Dagster, its daemon and its UI load the code location. Target: less than 1.5
times Dagster.
"""

import argparse
import resource
import subprocess
import sys
from statistics import median

from arborist_dagster.settings import PROJECT
from bench.tables import text_table

TARGET = 1.5
MODULES = ("dagster", "arborist_dagster.definitions")


def cpu_seconds(module: str) -> float:
    """What a fresh process takes to import the module and end, in user and system time."""
    before = _children()
    subprocess.run([sys.executable, "-c", f"import {module}"], cwd=PROJECT, check=True)
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    # The first import of a checkout compiles it.
    cpu_seconds(MODULES[-1])
    turns = [[cpu_seconds(module) for module in MODULES] for _ in range(runs)]
    dagster, ours = (median(column) for column in zip(*turns, strict=True))
    rows = [(MODULES[0], f"{dagster:.2f}", "1.00"), (MODULES[1], f"{ours:.2f}", f"{ours / dagster:.2f}")]
    print(text_table(("import", "CPU s", "x Dagster"), rows))
    print(f"\ntarget: less than {TARGET}")


if __name__ == "__main__":
    main()
