"""Files that are whole or absent: built aside, synced, renamed over. POSIX only."""

import fcntl
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; when the block ends well, it is synced and renamed over `path`.

    One writer at a time: others wait, and a writer that was killed leaves no lock, since the kernel drops it. What
    such a writer left half-written is removed by the next one. If the block removes the file that it was given,
    `path` stays as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.partial*"):
            leftover.unlink()
        partial = path.with_name(f".{path.name}.partial")
        try:
            yield partial
            if partial.exists():
                _sync(partial)
                partial.replace(path)
                _sync(path.parent)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = path.with_name(f".{path.name}.lock")
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def write_replacing(path: Path, data: bytes) -> None:
    """Write `data` so that `path` holds either what it held or all of it."""
    with replacing(path) as partial:
        partial.write_bytes(data)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
