"""Parquet files: one document a row."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arborist.corpus.sources.entries import Entry, Fault
from arborist.corpus.sources.files import FileSource
from arborist.corpus.sources.rows import row_document

_ROWS_A_BATCH = 256


class ParquetSource(FileSource):
    """Columns other than those of `fields` are not read. Rows are counted from 1."""

    READER_VERSION = "parquet-1"

    def reader_options(self) -> dict[str, Any]:
        return {"fields": asdict(self.config.fields)}

    def entries(self) -> Iterator[Entry]:
        return self.each_file(self._rows)

    def _rows(self, path: Path) -> Iterator[Entry]:
        # loads slowly, and only this kind of source needs it
        import pyarrow
        import pyarrow.parquet

        number = 0
        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                present = set(file.schema_arrow.names)
                missing = [
                    name for name in (self.config.fields.uri, self.config.fields.text) if name not in present
                ]
                if missing:
                    yield Fault(path, "", f"there is no column `{missing[0]}` in it")
                    return
                columns = [name for name in asdict(self.config.fields).values() if name in present]
                for batch in file.iter_batches(batch_size=_ROWS_A_BATCH, columns=columns):
                    for row in range(batch.num_rows):
                        number += 1
                        yield self._entry(batch, row, path, f"row {number}")
        except (pyarrow.ArrowException, OSError, ValueError):
            # A damaged file may also have names that are no UTF-8.
            place = f"after row {number}" if number else ""
            yield Fault(path, place, "not a Parquet file, or a damaged one")

    def _entry(self, batch: Any, row: int, path: Path, place: str) -> Entry:
        try:
            values = {name: batch.column(name)[row].as_py() for name in batch.schema.names}
        except UnicodeDecodeError:
            return Fault(path, place, "not UTF-8")
        return row_document(self.config, values, path, place)
