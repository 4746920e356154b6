"""Rows of named fields, from JSON Lines or Parquet, as documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arborist.corpus.config import SourceConfig
from arborist.corpus.document import Document
from arborist.corpus.sources.entries import Fault, checked, is_unicode, title_line
from arborist.hashing import Domain, hash_json


def row_document(config: SourceConfig, row: Mapping[str, Any], path: Path, place: str) -> Document | Fault:
    """The document in a row: its uri as it is, its title or else the uri, its text.

    Its revision is the row's, or else the digest of these three, so that a column more leaves the document
    what it was. A whole number serves as uri, title and revision too.
    """
    names = config.fields
    values = {name: row.get(name) for name in (names.uri, names.title, names.text, names.revision)}
    for name in (names.uri, names.text):
        if values[name] is None:
            return Fault(path, place, f"there is no `{name}` in it")
    for name, value in values.items():
        if value is not None and not _is_usable(name, value, names.text):
            return Fault(path, place, f"`{name}` is not text")
        if isinstance(value, str) and not is_unicode(value):
            return Fault(path, place, f"`{name}` holds a lone surrogate, which is no Unicode character")
    uri, text = str(values[names.uri]), str(values[names.text])
    title = title_line(str(values[names.title] or "")) or uri
    revision = values[names.revision]
    if revision is None:
        revision = hash_json(Domain.SOURCE_REVISION, {"uri": uri, "title": title, "text": text})
    return checked(Document(uri, title, text, config.kind.value, str(revision)), path, place)


def _is_usable(name: str, value: Any, text_name: str) -> bool:
    if name == text_name:
        return isinstance(value, str)
    return isinstance(value, (str, int)) and not isinstance(value, bool)
