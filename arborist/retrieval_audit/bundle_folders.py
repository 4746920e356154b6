"""The bundles that lie in a folder, each in a folder of its own, and a digest of what each holds.

Nothing is followed and nothing waited for, as in an audit: a link or a pipe is itself, not what it leads to.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from arborist.retrieval_audit.bundle_files import NOT_FOLLOWING_NOR_WAITING, RESPONSE_LIMIT

INPUT_NAME = "audit.json"


def bundle_inputs(folder: Path) -> dict[str, Path]:
    """The input of every bundle by the bundle's name, sorted; a folder without an `audit.json` is no bundle."""
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return {name: folder / name / INPUT_NAME for name in names if os.path.lexists(folder / name / INPUT_NAME)}


def bundle_digest(folder: Path) -> str:
    """SHA-256 in hex over names and contents of all files in the folder, hidden ones left out.

    A file that is too large for any audit counts by its size and the time of its last change.
    """
    digest = hashlib.sha256()
    for path in _files(folder):
        name = os.fsencode(path.relative_to(folder))
        digest.update(hashlib.sha256(name).digest() + hashlib.sha256(_state(path)).digest())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def _state(path: Path) -> bytes:
    """What the file holds; of what is no file, or cannot be read, only its kind."""
    try:
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= RESPONSE_LIMIT:
            with os.fdopen(os.open(path, NOT_FOLLOWING_NOR_WAITING), "rb") as file:
                return b"content" + file.read(RESPONSE_LIMIT + 1)
    except OSError:
        return b"unreadable"
    return f"{stat.S_IFMT(status.st_mode)} {status.st_size} {status.st_mtime_ns}".encode()
