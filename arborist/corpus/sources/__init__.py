"""Where documents come from: one module a kind of source, all behind `open_source`.

A document's uri is, so that it is readable, unique and the same in every build:

- files: `<source>/<path relative to the source, with slashes>`; a single file's path is its name
- code: `<source>/<path>` for the module, `<source>/<path>#<qualified name>` for a class or function
- python-topics: `<source>/<topic>`
- mediawiki: `<source>/<Title_with_underscores>`
- jsonl, parquet: the row's own uri, as it is

Paths and titles are taken code point by code point: two that differ only in Unicode form are two documents.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from arborist.corpus.config import SourceConfig, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources.code import CodeSource
from arborist.corpus.sources.entries import EntrySource
from arborist.corpus.sources.jsonl import JsonlSource
from arborist.corpus.sources.markdown import MarkdownSource
from arborist.corpus.sources.mediawiki import MediaWikiSource
from arborist.corpus.sources.parquet import ParquetSource
from arborist.corpus.sources.python_topics import PythonTopicsSource

_KINDS: Mapping[SourceKind, type[EntrySource]] = {
    SourceKind.PYTHON_TOPICS: PythonTopicsSource,
    SourceKind.MARKDOWN: MarkdownSource,
    SourceKind.CODE: CodeSource,
    SourceKind.JSONL: JsonlSource,
    SourceKind.PARQUET: ParquetSource,
    SourceKind.MEDIAWIKI: MediaWikiSource,
}


class Source(Protocol):
    """A stream of documents, and a digest that says when the stream may have changed."""

    @property
    def config(self) -> SourceConfig: ...

    def input_digest(self) -> str:
        """Digest of everything that decides what `documents` yields: bytes, options, the reader's version."""
        ...

    def documents(self, skipped: Callable[[Skip], None]) -> Iterator[Document]:
        """The documents in a fixed order; `skipped` is told of every entry that did not become one.

        Raises InputError for an entry that cannot be used where `on_error` is "fail", and for a source
        without a single document.
        """
        ...


def open_source(config: SourceConfig) -> Source:
    """The source that the table describes; nothing is read until it is asked."""
    return _KINDS[config.kind](config)
