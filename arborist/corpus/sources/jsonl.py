"""JSON Lines, packed with gzip or not: one document a line."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arborist.corpus.sources.entries import Entry, Fault
from arborist.corpus.sources.files import FileSource, open_stream, unreadable
from arborist.corpus.sources.rows import row_document

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonlSource(FileSource):
    """Lines of white space are no entries. Fields other than those of `fields` are not read."""

    READER_VERSION = "jsonl-1"

    def reader_options(self) -> dict[str, Any]:
        return {"fields": asdict(self.config.fields)}

    def entries(self) -> Iterator[Entry]:
        return self.each_file(self._lines)

    def _lines(self, path: Path) -> Iterator[Entry]:
        number = 0
        try:
            with open_stream(path) as stream:
                for number, line in enumerate(stream, start=1):
                    if number == 1:
                        line = line.removeprefix(_BYTE_ORDER_MARK)
                    if line.strip():
                        yield self._entry(line, path, f"line {number}")
        except (EOFError, zlib.error):
            yield Fault(path, f"after line {number}", "the compressed file is damaged, or ends too early")
        except OSError as error:
            damaged = Fault(path, f"after line {number}", "the compressed file is damaged")
            yield unreadable(path, error) if error.errno else damaged

    def _entry(self, line: bytes, path: Path, place: str) -> Entry:
        try:
            row = json.loads(line.rstrip(b"\r\n").decode("utf-8"))
        except UnicodeDecodeError as error:
            return Fault(path, f"{place}, byte {error.start} of it", "not UTF-8")
        except json.JSONDecodeError as error:
            return Fault(path, f"{place}, column {error.colno}", "not valid JSON")
        except (ValueError, RecursionError):
            # a number of thousands of digits, or brackets as deep
            return Fault(path, place, "JSON beyond what can be read")
        if not isinstance(row, dict):
            return Fault(path, place, "not a JSON object")
        return row_document(self.config, row, path, place)
