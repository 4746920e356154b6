"""The language topics behind Python's own `help()`: a corpus that every installation already has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arborist.corpus.document import Document
from arborist.corpus.sources.entries import Entry, EntrySource, checked
from arborist.hashing import Domain, hash_json


class PythonTopicsSource(EntrySource):
    """One document a topic of `pydoc_data.topics`, sorted by name; a topic's revision is its text's digest."""

    READER_VERSION = "python-topics-1"

    def entries(self) -> Iterator[Entry]:
        for name, text in sorted(_topics().items()):
            document = Document(
                uri=f"{self.config.name}/{name}",
                title=name.replace("-", " "),
                text=text,
                source_type=self.config.kind.value,
                source_revision=hash_json(Domain.SOURCE_REVISION, text),
            )
            yield checked(document, Path("pydoc_data.topics"), f"topic {name}")

    def input_content(self) -> Any:
        return _topics()


def _topics() -> dict[str, str]:
    # most of a megabyte of text that importing this module need not load
    from pydoc_data.topics import topics

    return dict(topics)
