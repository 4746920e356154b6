"""Every benchmark that needs no data of its own, one table after the other: `python -m bench [--only NAME]...`.

Each runs in a process of its own, at a size at which all of them together take some minutes. A benchmark that
fails is told at the end, and the others still run.
"""

import argparse
import subprocess
import sys
import time

BENCHMARKS: dict[str, tuple[str, ...]] = {
    "search": ("--passages", "20000", "--queries", "100"),
    "ingest": ("--passages", "20000"),
    "ledger": ("--records", "2000"),
    "evaluation": (),
    "retrieval_audit": (),
    "startup": (),
}


def seconds_of(name: str) -> float | None:
    """Run one benchmark, its output to where ours goes; the wall time it took, None if it failed."""
    sys.stdout.write(f"\n## {name}\n\n")
    sys.stdout.flush()
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", f"bench.{name}", *BENCHMARKS[name]], check=False)
    return None if done.returncode else time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=sorted(BENCHMARKS), help="may be given again")
    names = parser.parse_args().only or list(BENCHMARKS)
    took = {name: seconds_of(name) for name in names}
    sys.stdout.write("\n")
    for name, seconds in took.items():
        sys.stdout.write(f"{name}: {'failed' if seconds is None else f'{seconds:.0f} s'}\n")
    return 1 if None in took.values() else 0


if __name__ == "__main__":
    sys.exit(main())
