"""The files of a bundle, read without leaving it (`retained-retrieval-audit.md` sections 4.1 and 4.2)."""

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arborist.retrieval_audit.findings import BlockedError, Failure
from arborist.retrieval_audit.strict_json import decoded, is_text

DOCUMENT_LIMIT = 1_048_576
RESPONSE_LIMIT = 5_242_880

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f]")
_URI_DRIVE_OR_NETWORK = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2})")
# A drive letter is how the operator's own path begins on Windows, so a scheme has two letters here.
_URI_OR_NETWORK = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]+:[/\\]|[/\\]{2})")

NOT_FOLLOWING_NOR_WAITING = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Role:
    """What a file of the bundle is for.

    `named_at` points at the string that names it, `at` at its content; `limit` is its greatest size in bytes.
    """

    name: str
    named_at: str
    at: str
    limit: int


INPUT = Role("input", "/input", "/input", DOCUMENT_LIMIT)
BEFORE = Role("before", "/input/before", "/before", DOCUMENT_LIMIT)
AFTER = Role("after", "/input/after", "/after", DOCUMENT_LIMIT)
CUSTOMER = Role("customer", "/input/customer/response", "/customer/response", RESPONSE_LIMIT)
UNRELATED = Role("unrelated", "/input/unrelated/response", "/unrelated/response", RESPONSE_LIMIT)


@dataclass(frozen=True, slots=True)
class BundlePath:
    """Components of a path below the bundle directory; none is empty, `.` or `..`."""

    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileDigest:
    """Size in bytes and SHA-256 of what was read."""

    size: int
    sha256: str


def bundle_path(value: Any, named_at: str) -> BundlePath:
    """The path that a string of the input names, by its characters alone: the file system is not asked.

    Raises BlockedError `path-invalid`, `path-uri-or-network` or `path-outside-bundle` at the pointer `named_at`.
    """
    if not is_text(value) or _CONTROL_CHARACTER.search(value) or not _is_encodable(value):
        raise BlockedError(Failure.PATH_INVALID, named_at)
    if _URI_DRIVE_OR_NETWORK.match(value):
        raise BlockedError(Failure.PATH_URI_OR_NETWORK, named_at)
    components = value.split("/")
    if value.lstrip().startswith("/") or ".." in components or "\\" in value:
        raise BlockedError(Failure.PATH_OUTSIDE_BUNDLE, named_at)
    return BundlePath(tuple(component for component in components if component not in ("", ".")))


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class BundleFiles:
    """Reads files of one bundle directory, each at most once, and keeps the digests of what it read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen: set[tuple[int, int]] = set()
        self.digests: dict[str, FileDigest] = {}

    def document(self, path: BundlePath, role: Role) -> Any:
        """The JSON value in the file. Raises BlockedError for a file that may not or cannot be read as one."""
        return decoded(self._content(path, role), role.at)

    def _content(self, path: BundlePath, role: Role) -> bytes:
        location, expected = self._walk(path, role)
        identity = (expected.st_dev, expected.st_ino)
        if identity in self._seen:
            raise BlockedError(Failure.PATH_REPEATED, role.named_at)
        self._seen.add(identity)
        descriptor = _opened(location, role)
        with os.fdopen(descriptor, "rb") as file:
            self._check_opened(descriptor, location, expected, role)
            try:
                content = file.read(role.limit + 1)
            except OSError:
                raise BlockedError(Failure.FILE_UNREADABLE, role.at) from None
        if len(content) > role.limit:
            raise BlockedError(Failure.FILE_TOO_LARGE, role.at)
        self.digests[role.name] = FileDigest(len(content), hashlib.sha256(content).hexdigest())
        return content

    def _walk(self, path: BundlePath, role: Role) -> tuple[Path, os.stat_result]:
        """Where the path leads, with its status; no step of it, from the bundle directory on, may be a link."""
        location = self._directory
        status = _status(location, role)
        for component in path.components:
            location = location / component
            status = _status(location, role)
        if not stat.S_ISREG(status.st_mode):
            raise BlockedError(Failure.FILE_NOT_REGULAR, role.at)
        return location, status

    def _check_opened(self, descriptor: int, location: Path, expected: os.stat_result, role: Role) -> None:
        """Refuse a file that took the place of the one found by the walk."""
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode):
            raise BlockedError(Failure.FILE_NOT_REGULAR, role.at)
        if not os.path.samestat(opened, expected):
            raise BlockedError(Failure.FILE_UNREADABLE, role.at)
        if not location.resolve().is_relative_to(self._directory.resolve()):
            raise BlockedError(Failure.PATH_OUTSIDE_BUNDLE, role.named_at)


def _status(location: Path, role: Role) -> os.stat_result:
    try:
        status = location.lstat()
    except (FileNotFoundError, NotADirectoryError):
        raise BlockedError(Failure.FILE_MISSING, role.at) from None
    except OSError:
        raise BlockedError(Failure.FILE_UNREADABLE, role.at) from None
    if stat.S_ISLNK(status.st_mode) or _is_reparse_point(status):
        raise BlockedError(Failure.PATH_LINK, role.named_at)
    return status


def _is_reparse_point(status: os.stat_result) -> bool:
    """Whether it is a Windows junction or the like; only Windows reports attributes."""
    attributes: int = getattr(status, "st_file_attributes", 0)
    return bool(attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT)


def _opened(location: Path, role: Role) -> int:
    try:
        return os.open(location, NOT_FOLLOWING_NOR_WAITING)
    except FileNotFoundError:
        raise BlockedError(Failure.FILE_MISSING, role.at) from None
    except OSError:
        raise BlockedError(Failure.FILE_UNREADABLE, role.at) from None


def input_location(path: str | os.PathLike[str]) -> tuple[Path, BundlePath]:
    """The bundle directory and the input file in it, as the operator named it.

    Raises BlockedError `path-invalid` or `path-uri-or-network` at `/input`.
    """
    text = os.fspath(path)
    if not is_text(text) or "\x00" in text:
        raise BlockedError(Failure.PATH_INVALID, INPUT.named_at)
    if _URI_OR_NETWORK.match(text):
        raise BlockedError(Failure.PATH_URI_OR_NETWORK, INPUT.named_at)
    location = Path(text)
    return location.parent, BundlePath((location.name,) if location.name else ())
