"""Reading a source into its shards' document files: what the asset `source_documents` does."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from arborist.corpus import tables
from arborist.corpus.config import OnError
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources import Source
from arborist.errors import InputError
from arborist.files import replacing, write_replacing
from arborist.hashing import Domain, canonical_json, hash_json
from arborist.home import Home
from arborist.merkle import Frontier


@dataclass(frozen=True, slots=True)
class SourceManifest:
    """What a reading of a source gave. `shards` maps each shard to the digest of its documents."""

    source: str
    input_digest: str
    shards: dict[str, str]
    documents: int
    characters: int
    skipped: int

    @property
    def digest(self) -> str:
        """One digest for all documents of the source."""
        return hash_json(Domain.SOURCE_DOCUMENTS, self.shards)


def shard_number(uri: str, shards: int) -> int:
    """Which of a source's shards holds the document: by digest of the uri, so that it never depends on others."""
    return int.from_bytes(sha256(uri.encode()).digest()[:8]) % shards


def read_manifest(home: Home, source: str) -> SourceManifest | None:
    """The manifest of the last whole reading; None where there is none that fits the document files."""
    try:
        value = json.loads(home.manifest_file(source).read_bytes())
        manifest = SourceManifest(**value)
    except (OSError, ValueError, TypeError):
        return None
    for shard, digest in manifest.shards.items():
        labels = tables.read_labels(home.documents_file(source, shard))
        if labels is None or labels.get("documents_digest") != digest:
            return None
    return manifest


def write_source_documents(source: Source, home: Home) -> SourceManifest:
    """Read the source from its start to its end and write its shards' document files.

    A shard whose documents are what they were keeps its file. Memory does not grow with the source: documents go
    through a spool on disk, which also finds duplicate uris. Raises InputError for input that cannot be used,
    CorpusError where the documents cannot be written.
    """
    folder = home.documents_folder(source.config.name)
    input_digest = source.input_digest()
    with tables.writing(folder), replacing(folder / "spool.db") as spool_path:
        try:
            with closing(_Spool(spool_path)) as spool:
                spool.fill(source)
                return _publish(source, home, spool, input_digest)
        finally:
            # The spool is scratch: nothing of it is kept, and the rename of `replacing` must not happen.
            spool_path.unlink(missing_ok=True)


def _publish(source: Source, home: Home, spool: "_Spool", input_digest: str) -> SourceManifest:
    config = source.config
    documents, characters, skipped = spool.totals()
    if documents == 0:
        raise InputError.at(
            str(config.path or config.kind),
            "",
            f"source {config.name!r} has no documents" + (f", {skipped} entries were left out" if skipped else ""),
            f"check path and include in [sources.{config.name}]",
        )
    digests = {
        shard: write_shard_documents(home, config.name, shard, spool.documents(number))
        for number, shard in enumerate(config.shard_names)
    }
    with replacing(home.skipped_file(config.name)) as partial, partial.open("wb") as handle:
        for skip in spool.skips():
            handle.write(canonical_json({"place": skip.place, "reason": skip.reason}) + b"\n")
    manifest = SourceManifest(config.name, input_digest, digests, documents, characters, skipped)
    value = {name: getattr(manifest, name) for name in SourceManifest.__slots__}
    write_replacing(home.manifest_file(config.name), canonical_json(value))
    return manifest


def write_shard_documents(home: Home, source: str, shard: str, documents: Iterator[Document]) -> str:
    """Write the shard's documents, ordered by uri; return their digest (a Merkle root over all they hold)."""
    path = home.documents_file(source, shard)
    frontier = Frontier()
    labels: dict[str, str] = {"shard": shard, "source": source}

    def rows() -> Iterator[tuple[Any, ...]]:
        for document in documents:
            frontier.append(document.digest)
            yield tuple(getattr(document, name) for name in tables.DOCUMENT_COLUMNS)
        labels["documents_digest"] = frontier.root().hex()
        labels["documents"] = str(frontier.size)

    with replacing(path) as partial:
        tables.write_table(partial, tables.DOCUMENT_COLUMNS, rows(), labels)
        if (tables.read_labels(path) or {}).get("documents_digest") == labels["documents_digest"]:
            partial.unlink()
    return labels["documents_digest"]


class _Spool:
    """Documents on disk between reading and writing: unique by uri, and read back in the order of its bytes."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE documents (
                uri BLOB PRIMARY KEY, shard INTEGER, title TEXT, text TEXT, source_type TEXT, source_revision TEXT,
                aliases TEXT
            ) WITHOUT ROWID;
            CREATE TABLE skips (place TEXT, reason TEXT);
            BEGIN;
            """
        )

    def close(self) -> None:
        self._connection.close()

    def fill(self, source: Source) -> None:
        for document in source.documents(self._skip):
            row = (
                document.uri.encode(),
                shard_number(document.uri, source.config.shards),
                document.title,
                document.text,
                document.source_type,
                document.source_revision,
                json.dumps(document.aliases),
            )
            inserted = self._connection.execute("INSERT OR IGNORE INTO documents VALUES (?,?,?,?,?,?,?)", row)
            if inserted.rowcount == 0:
                self._duplicate(document, source)

    def _duplicate(self, document: Document, source: Source) -> None:
        problem = f"the uri {document.uri!r} stands for more than one document"
        if source.config.on_error is OnError.SKIP:
            self._skip(Skip(document.uri, problem))
            return
        raise InputError.at(
            str(source.config.path or source.config.kind),
            f"document {document.title!r}",
            problem,
            f'make uris unique, or set on_error = "skip" in [sources.{source.config.name}] to keep the first',
        )

    def _skip(self, skip: Skip) -> None:
        self._connection.execute("INSERT INTO skips VALUES (?,?)", (skip.place, skip.reason))

    def documents(self, shard: int) -> Iterator[Document]:
        rows = self._connection.execute(
            "SELECT uri, title, text, source_type, source_revision, aliases FROM documents WHERE shard = ? "
            "ORDER BY uri",
            (shard,),
        )
        for uri, title, text, source_type, source_revision, aliases in rows:
            yield Document(uri.decode(), title, text, source_type, source_revision, tuple(json.loads(aliases)))

    def skips(self) -> Iterator[Skip]:
        for place, reason in self._connection.execute("SELECT place, reason FROM skips ORDER BY rowid"):
            yield Skip(place, reason)

    def totals(self) -> tuple[int, int, int]:
        """Documents, characters, and entries left out."""
        documents, characters, skipped = self._connection.execute(
            "SELECT count(*), coalesce(sum(length(text)), 0), (SELECT count(*) FROM skips) FROM documents"
        ).fetchone()
        return int(documents), int(characters), int(skipped)
