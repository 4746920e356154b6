"""Small real corpora for tests, built by the real steps without Dagster."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arborist.clock import FixedClock
from arborist.corpus.chunking import Chunker
from arborist.corpus.config import OnError, SourceConfig, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.document_chunks import write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.corpus.source_documents import write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.work import chunk_shard, index_shard
from arborist.hashing import Domain, hash_json
from arborist.home import Home
from arborist.workspace import Workspace

BRIDGES = {
    "bridges/alder": ("Alder Bridge", "The Alder Bridge opened in 1932. It spans the river Wenn at Lowfield."),
    "bridges/birch": ("Birch Bridge", "The Birch Bridge is a wooden footbridge. A flood destroyed it in 1954."),
    "bridges/cedar": ("Cedar Viaduct", "The Cedar Viaduct carries the railway. Its architect was Mona Field."),
    "rivers/wenn": ("Wenn", "The river Wenn is 84 kilometres long. It rises in the Marl hills."),
    "rivers/ouse": ("Ouse", "The river Ouse freezes every January. Skaters race on it near Lowfield."),
    "people/field": ("Mona Field", "Mona Field was an architect and engineer. She was born in Lowfield in 1871."),
}
WHEN_ALDER = "When did the Alder Bridge open?"


@dataclass(frozen=True)
class ListedSource:
    """A source that yields what it is given."""

    listed: Sequence[Document | Skip]
    config: SourceConfig = field(default_factory=lambda: SourceConfig("s", SourceKind.JSONL))

    def input_digest(self) -> str:
        return hash_json(Domain.SOURCE_INPUT, [repr(item) for item in self.listed])

    def documents(self, skipped: Callable[[Skip], None]) -> Iterator[Document]:
        for item in self.listed:
            if isinstance(item, Skip):
                skipped(item)
            else:
                yield item


def source_config(shards: int = 1, on_error: OnError = OnError.FAIL) -> SourceConfig:
    return SourceConfig("s", SourceKind.JSONL, Path("s.jsonl"), shards=shards, on_error=on_error)


def document(uri: str, text: str, title: str = "", aliases: Sequence[str] = ()) -> Document:
    return Document(uri, title or uri, text, "jsonl", hash_json(Domain.SOURCE_REVISION, text), tuple(aliases))


def published(
    home: Home, documents: Sequence[Document], shards: int = 1, max_characters: int = 1000
) -> tuple[Path, ...]:
    """The shard files of a source `s` of these documents."""
    config = source_config(shards)
    write_source_documents(ListedSource(documents, config), home)
    for shard in config.shard_names:
        write_document_chunks(home, config.name, shard, Chunker(max_characters))
        write_fts_index(home, shard)
    return tuple(home.shard_file(shard) for shard in config.shard_names)


def write_rows(path: Path, texts: Mapping[str, tuple[str, str]]) -> None:
    """Write texts, `(title, text)` by uri, as JSON Lines."""
    rows = [json.dumps({"uri": uri, "title": title, "text": text}) for uri, (title, text) in texts.items()]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_config(folder: Path, sources: Mapping[str, Mapping[str, Any]], more: str = "") -> Path:
    """Write `corpus.toml` with JSON Lines sources of these options; `more` is TOML to stand before them."""
    lines = [more]
    for name, options in sources.items():
        lines += [f"[sources.{name}]", 'kind = "jsonl"', f'path = "{name}.jsonl"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in options.items()]
    path = folder / "corpus.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def opened(folder: Path) -> Workspace:
    """The workspace in `folder`: its `corpus.toml`, a home `var`, and a clock that stands still."""
    return Workspace.open(folder / "var", folder / "corpus.toml", FixedClock())


def build(workspace: Workspace) -> None:
    """Bring the whole corpus up to date by its three steps."""
    for source in workspace.config.sources:
        write_source_documents(open_source(source), workspace.home)
    for shard in workspace.config.shard_names:
        chunk_shard(workspace.corpus, shard)
        index_shard(workspace.corpus, shard)


def bridges(folder: Path, more: str = "") -> Workspace:
    """A built corpus of two sources: bridges and rivers in three shards, people in the background."""
    people = {uri: text for uri, text in BRIDGES.items() if uri.startswith("people/")}
    write_rows(folder / "land.jsonl", {uri: text for uri, text in BRIDGES.items() if uri not in people})
    write_rows(folder / "people.jsonl", people)
    write_config(folder, {"land": {"shards": 3}, "people": {"role": "background"}}, more)
    workspace = opened(folder)
    build(workspace)
    return workspace
