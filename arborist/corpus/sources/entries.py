"""What reading a source comes across, and what becomes of an entry that cannot be used."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from arborist.corpus.config import OnError, SourceConfig
from arborist.corpus.document import Document, Skip
from arborist.errors import InputError
from arborist.hashing import Domain, hash_json


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry that cannot be used: the file, the place in it ("" for all of it), and the reason.

    Unlike a Skip, which is in the nature of the source, a Fault stops the build unless `on_error` is "skip".
    """

    path: Path
    place: str
    reason: str


Entry = Document | Skip | Fault


class EntrySource(ABC):
    """The common part of all sources: a kind only says what its entries are."""

    READER_VERSION: ClassVar[str]
    """Changes with every change of the reader that changes what documents it yields."""

    def __init__(self, config: SourceConfig) -> None:
        self.config = config

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """Everything the source holds, in a fixed order."""

    @abstractmethod
    def input_content(self) -> Any:
        """What the source would read, as a JSON value: names with digests of contents, never times."""

    def reader_options(self) -> dict[str, Any]:
        """The options of this kind that change what documents it yields."""
        return {}

    def input_digest(self) -> str:
        """See `Source.input_digest`. The files that `include` and `exclude` choose stand for the globs."""
        return hash_json(
            Domain.SOURCE_INPUT,
            {
                "kind": self.config.kind.value,
                "reader_version": self.READER_VERSION,
                "name": self.config.name,
                "on_error": self.config.on_error.value,
                "options": self.reader_options(),
                "content": self.input_content(),
            },
        )

    def documents(self, skipped: Callable[[Skip], None]) -> Iterator[Document]:
        """See `Source.documents`."""
        empty = True
        for entry in self.entries():
            if isinstance(entry, Document):
                empty = False
                yield entry
            elif isinstance(entry, Skip):
                skipped(entry)
            elif self.config.on_error is OnError.SKIP:
                skipped(self._skip(entry))
            else:
                raise self._error(entry)
        if empty:
            place = f"table [{self.config.table}]"
            remedy = "check `path`, `include`, `exclude` and the skipped entries, or remove the table"
            raise InputError.at(self.config.path or self.config.name, place, "the source has no documents", remedy)

    def _error(self, fault: Fault) -> InputError:
        remedy = f'on_error = "skip" in table [{self.config.table}] leaves such entries out and lists them'
        return InputError.at(printable(str(fault.path)), printable(fault.place), fault.reason, remedy)

    def _skip(self, fault: Fault) -> Skip:
        name = entry_name(self.config, fault.path)
        return Skip(printable(f"{name}: {fault.place}" if fault.place else name), fault.reason)


def entry_name(config: SourceConfig, path: Path) -> str:
    """The path relative to the source's folder, with slashes; the file's name for a source that is one file."""
    if config.path is None or path == config.path:
        return path.name
    return path.relative_to(config.path).as_posix()


def checked(document: Document, path: Path, place: str) -> Document | Fault:
    """The document, or why the corpus cannot hold it; `path` and `place` say where it was found.

    Refused: lone surrogates anywhere (canonical JSON has none), NUL in the text (SQLite's text functions
    stop at it), control characters in the uri, an empty uri, and text of nothing but white space.
    """
    reason = _uri_problem(document.uri) or _text_problem(document.text)
    if not reason and not is_unicode("".join((document.title, *document.aliases))):
        reason = "the title holds a lone surrogate, which is no Unicode character"
    return Fault(path, place, reason) if reason else document


def _uri_problem(uri: str) -> str:
    if not uri.strip():
        return "the uri is empty"
    if not is_unicode(uri):
        return "the name holds bytes or code points that are no Unicode characters"
    if any(unicodedata.category(character) == "Cc" for character in uri):
        return "the name holds a control character"
    return ""


def _text_problem(text: str) -> str:
    if not text.strip():
        return "empty: there is no text in it"
    if "\0" in text:
        return "a NUL character in the text: is it a text file?"
    if not is_unicode(text):
        return "a lone surrogate in the text, which is no Unicode character"
    return ""


def is_unicode(text: str) -> bool:
    """Whether the text is free of lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """The text with what cannot be encoded written as escapes, so that it can be shown and stored."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def title_line(text: str) -> str:
    """The text as a title: control characters and runs of white space made one blank, trimmed."""
    cleared = "".join(" " if unicodedata.category(character) == "Cc" else character for character in text)
    return " ".join(cleared.split())
