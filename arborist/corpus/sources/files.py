"""The files of a source: which there are, their digests, and their text."""

import bz2
import gzip
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote_from_bytes

from arborist.corpus.config import SourceConfig
from arborist.corpus.document import Skip
from arborist.corpus.sources.entries import Entry, EntrySource, Fault, entry_name, printable
from arborist.hashing import hash_bytes

_BYTE_ORDER_MARK = "\ufeff"
_GLOB_TOKENS = re.compile(r"(\*\*/|\*\*|\*|\?)")
_GLOB_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text exactly as decoded, without a byte order mark, and the SHA-256 of its bytes."""

    text: str
    digest: str


class FileSource(EntrySource):
    """A source that reads files."""

    def each_file(self, read: Callable[[Path], Iterator[Entry]]) -> Iterator[Entry]:
        """What `read` finds in each of the source's files, and the files that cannot be read."""
        for found in listed_files(self.config):
            if isinstance(found, Path):
                yield from read(found)
            else:
                yield found

    def input_content(self) -> Any:
        return [_named_digest(self.config, found) for found in listed_files(self.config)]

    def file_uri(self, path: Path) -> str:
        """The uri of the document that is this file."""
        return f"{self.config.name}/{entry_name(self.config, path)}"


def listed_files(config: SourceConfig) -> list[Path | Skip | Fault]:
    """The source's files that `include` and `exclude` choose, sorted by the bytes of their relative paths.

    Hidden folders, `node_modules`, `__pycache__`, virtual environments and a `var` at the top are not
    entered; a source's `path` may point into one. A link to a folder is not followed, and is a Skip. What
    cannot be listed or is no regular file is a Fault.
    """
    assert config.path is not None
    if not config.path.is_dir():
        return [_regular_file(config.path)]
    found = {entry_name(config, path): entry for path, entry in _walk(config, config.path)}
    return [found[name] for name in sorted(found, key=os.fsencode)]


def _walk(config: SourceConfig, top: Path) -> Iterator[tuple[Path, Path | Skip | Fault]]:
    include, exclude = _globs(config.include), _globs(config.exclude)
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            yield folder, Fault(folder, "", f"the folder cannot be read: {error.strerror}")
            continue
        for path in paths:
            name = entry_name(config, path)
            if exclude.fullmatch(name):
                continue
            if path.is_dir():
                if path.is_symlink():
                    yield path, Skip(printable(name), "a link to a folder; give its target a source of its own")
                elif not _passed_over(path, top):
                    folders.append(path)
            elif include.fullmatch(name):
                yield path, _regular_file(path)


def _passed_over(folder: Path, top: Path) -> bool:
    if folder.name.startswith(".") or folder.name in ("node_modules", "__pycache__"):
        return True
    # deeper down, `var` may be a topic; at the top it is where Arborist keeps its data
    return (folder.name == "var" and folder.parent == top) or (folder / "pyvenv.cfg").exists()


def _regular_file(path: Path) -> Path | Fault:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return unreadable(path, error)
    # opening a named pipe would wait for ever
    return path if stat.S_ISREG(mode) else Fault(path, "", "not a regular file")


def _globs(globs: Iterable[str]) -> re.Pattern[str]:
    """The globs as one pattern: `*` and `?` stay within a folder, `**` crosses folders, all else is literal."""
    patterns = (
        "".join(_GLOB_MEANINGS.get(token, re.escape(token)) for token in _GLOB_TOKENS.split(glob))
        for glob in globs
    )
    # without a glob nothing matches, not the empty name
    return re.compile("|".join(patterns) or "(?!)", re.DOTALL)


def _named_digest(config: SourceConfig, found: Path | Skip | Fault) -> list[str]:
    if isinstance(found, Skip):
        return [found.place, found.reason]
    if isinstance(found, Fault):
        return [_quoted_name(config, found.path), found.reason]
    try:
        with found.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        digest = unreadable(found, error).reason
    return [_quoted_name(config, found), digest]


def _quoted_name(config: SourceConfig, path: Path) -> str:
    """The name in ASCII, since a file's name need not be Unicode and canonical JSON must hold it."""
    return quote_from_bytes(os.fsencode(entry_name(config, path)))


def unreadable(path: Path, error: OSError) -> Fault:
    """The fault of a file that the system does not let us read."""
    return Fault(path, "", f"the file cannot be read: {error.strerror or 'it is damaged'}")


def read_bytes(path: Path) -> bytes | Fault:
    """The file's bytes, for files that fit into memory."""
    try:
        return path.read_bytes()
    except OSError as error:
        return unreadable(path, error)


def read_text(path: Path) -> TextFile | Fault:
    """The file as UTF-8; line ends stay what they are, since positions in the text are evidence."""
    data = read_bytes(path)
    if isinstance(data, Fault):
        return data
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Fault(path, f"line {line}, byte {error.start}", "not UTF-8")
    return TextFile(text.removeprefix(_BYTE_ORDER_MARK), hash_bytes(data))


def open_stream(path: Path) -> IO[bytes] | gzip.GzipFile:
    """The file's bytes as a stream, unpacked where its name ends in .gz or .bz2."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".bz2":
        return bz2.open(path, "rb")
    return path.open("rb")
