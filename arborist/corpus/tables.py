"""The two Parquet forms: source documents of a shard, and its chunks. Rows stream; digests sit in the footer."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from arborist.corpus.document import Document
from arborist.errors import CorpusError

if TYPE_CHECKING:
    import pyarrow

BATCH_CHARACTERS = 4_000_000

# Arrow's own pools keep some 30 MB a process that the system would have back, and a build has several processes.
# Arrow looks here when it is first imported, also in the processes that are started from this one.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

UNIQUE_COLUMNS = {"text", "leaf_hash"}
# Names and labels of a damaged file may be no UTF-8, or not be there.
_UNREADABLE = (OSError, ValueError, LookupError)
DOCUMENT_COLUMNS = {
    "uri": "string",
    "title": "string",
    "text": "string",
    "source_type": "string",
    "source_revision": "string",
    "aliases": "strings",
}
CHUNK_COLUMNS = {
    "uri": "string",
    "title": "string",
    "source_type": "string",
    "source_revision": "string",
    "aliases": "strings",
    "document_digest": "string",
    "document_root": "string",
    "chunk_index": "int64",
    "start": "int64",
    "end": "int64",
    "text": "string",
    "leaf_hash": "string",
}


def _schema(columns: Mapping[str, str]) -> "pyarrow.Schema":
    import pyarrow

    types = {"string": pyarrow.string(), "int64": pyarrow.int64(), "strings": pyarrow.list_(pyarrow.string())}
    return pyarrow.schema([pyarrow.field(name, types[kind], nullable=False) for name, kind in columns.items()])


class TableWriter:
    """Writes rows in batches of bounded size; `close` puts the footer's labels in."""

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        import pyarrow.parquet

        self._schema = _schema(columns)
        self._writer = pyarrow.parquet.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            # Texts and hashes are never the same twice.
            use_dictionary=[name for name in columns if name not in UNIQUE_COLUMNS],  # type: ignore[arg-type]
            write_page_checksum=True,
        )
        self._text = list(columns).index("text")
        self._rows: list[tuple[Any, ...]] = []
        self._characters = 0

    def write(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        self._characters += len(row[self._text])
        if self._characters >= BATCH_CHARACTERS:
            self._flush()

    def close(self, labels: Mapping[str, str]) -> None:
        self._flush()
        self._writer.add_key_value_metadata(dict(labels))
        self._writer.close()

    def abandon(self) -> None:
        """Let go of the file without finishing it."""
        self._writer.close()

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            columns = zip(self._schema, zip(*self._rows, strict=True), strict=True)
            arrays = [pyarrow.array(values, type=field.type) for field, values in columns]
            self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._characters = [], 0


def write_table(
    path: Path, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]], labels: Mapping[str, str]
) -> None:
    """Write all rows, their values in the order of `columns`; `labels` is read only after the last row, so that a
    producer may fill it as it goes.
    """
    writer = TableWriter(path, columns)
    try:
        for row in rows:
            writer.write(row)
    except BaseException:
        writer.abandon()
        raise
    writer.close(labels)


def read_rows(path: Path, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The values of these columns, row by row in order, a batch in memory at a time.

    Raises CorpusError for a file that cannot be read or lacks a column.
    """
    import pyarrow
    import pyarrow.parquet

    names = list(columns)
    try:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            for number in range(file.num_row_groups):
                # Not `iter_batches`, which holds several of the groups that were written for a batch of rows.
                group = file.read_row_group(number, columns=names, use_threads=False)
                yield from zip(*(group.column(name).to_pylist() for name in names), strict=True)
    except (*_UNREADABLE, pyarrow.ArrowException) as error:
        raise unreadable(path) from error


def read_documents(path: Path) -> Iterator[Document]:
    """The documents of a shard's document file, in order. Raises CorpusError as `read_rows` does."""
    for uri, title, text, source_type, source_revision, aliases in read_rows(path, DOCUMENT_COLUMNS):
        yield Document(uri, title, text, source_type, source_revision, tuple(aliases))


def read_labels(path: Path) -> dict[str, str] | None:
    """The footer's labels; None where the file is absent or not whole."""
    import pyarrow
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_metadata(path).metadata or {}
        return {key.decode(): value.decode() for key, value in metadata.items() if key != b"ARROW:schema"}
    except (*_UNREADABLE, pyarrow.ArrowException):
        return None


def unreadable(path: Path) -> CorpusError:
    return CorpusError(
        f"{path}: missing or not readable (delete it and run `arborist build`: derived files are made anew)"
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the disk refuses inside the block, as a CorpusError that names the file, or else `path`."""
    try:
        yield
    except OSError as error:
        # pyarrow puts text of its own into `strerror`.
        reason = f": {os.strerror(error.errno)}" if error.errno else ""
        raise _unwritable(error.filename or path, reason) from error
    except (sqlite3.Error, apsw.Error) as error:
        raise _unwritable(path, "") from error


def _unwritable(path: Path | str, reason: str) -> CorpusError:
    return CorpusError(f"{path}: cannot be written{reason} (check its permissions and the room on the disk)")
