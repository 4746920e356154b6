"""A shard file: documents, chunks and their full-text index in one SQLite file, built aside and renamed over.

Shards are written and read with the SQLite that `apsw` brings, so that the ranking does not depend on the
machine's. A shard is never changed in place; whoever has it open keeps what it opened.
"""

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import apsw

from arborist.corpus.document import Document
from arborist.corpus.posting_sidecar import PostingSidecar, read_postings
from arborist.corpus.tokenizer import TOKENIZER
from arborist.errors import CorpusError, InputError
from arborist.hashing import Domain, canonical_json, hash_json
from arborist.home import Home
from arborist.merkle import leaf_hash, tree_root

HASH_SIZE_BYTES = 64 * 1024 * 1024
# SQLite takes 32,766 parameters in one statement.
IDS_AT_ONCE = 10_000

SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    uri TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    source_type TEXT NOT NULL,
    source_revision TEXT NOT NULL,
    aliases TEXT NOT NULL,
    document_root TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    chunk_index INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    text TEXT NOT NULL,
    leaf_hash TEXT NOT NULL
);
CREATE VIEW indexed_chunks AS
    SELECT chunks.id AS id, title || ' ' || aliases AS title, chunks.text AS text
    FROM chunks JOIN documents ON documents.id = document_id;
CREATE VIRTUAL TABLE chunks_fts USING fts5(
    title, text, content='indexed_chunks', content_rowid='id', detail=full, tokenize="{" ".join(TOKENIZER)}"
);
"""
INDEXES = """
CREATE INDEX chunks_by_document ON chunks (document_id, chunk_index);
CREATE INDEX documents_by_root ON documents (document_root);
"""


@dataclass(frozen=True, slots=True)
class ShardMeta:
    """What a shard file says of itself."""

    shard: str
    source: str
    source_types: tuple[str, ...]
    documents_digest: str
    chunking_version: str
    index_version: str
    shard_root: str
    documents: int
    chunks: int

    @property
    def digest(self) -> str:
        """Identity of what the file serves: the same content under the same index."""
        return hash_json(Domain.INDEX, {"shard_root": self.shard_root, "index_version": self.index_version})


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it stands in a shard, with what is shown of its document.

    `indexed_title` is the title with the document's aliases, as the index has it.
    """

    chunk_id: int
    document_root: str
    chunk_index: int
    leaf_hash: str
    text: str
    uri: str
    title: str
    indexed_title: str


@dataclass(frozen=True, slots=True)
class ShardFault:
    """Something in a shard that is not what its roots say."""

    shard: str
    place: str
    problem: str


class Shard:
    """A shard file opened for reading. Raises CorpusError for a file that is missing or not a shard."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise CorpusError(f"{path}: no such shard (run `arborist build`)")
        with self.reading():
            # The file is only ever replaced, never changed, so SQLite need not look for locks or a journal.
            self.connection = apsw.Connection(
                f"{path.absolute().as_uri()}?mode=ro&immutable=1",
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            )
            self.meta = self._read_meta()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what reading or reckoning with a damaged file raises into a CorpusError."""
        try:
            yield
        except (apsw.Error, LookupError, ValueError, TypeError, ArithmeticError) as error:
            raise self.damaged() from error

    def damaged(self) -> CorpusError:
        """The error of a file that contradicts itself."""
        return CorpusError(
            f"{self.path}: not a whole shard file (delete it and run `arborist build`: it is derived data)"
        )

    @cached_property
    def postings(self) -> PostingSidecar | None:
        """The shard's posting sidecar; None where it is missing or another shard's."""
        return read_postings(self.path, self.meta.digest)

    def _read_meta(self) -> ShardMeta:
        meta: dict[str, str] = dict(
            self.connection.execute("SELECT key, value FROM meta WHERE typeof(value) = 'text'")
        )
        return ShardMeta(
            shard=meta["shard"],
            source=meta["source"],
            source_types=tuple(json.loads(meta["source_types"])),
            documents_digest=meta["documents_digest"],
            chunking_version=meta["chunking_version"],
            index_version=meta["index_version"],
            shard_root=meta["shard_root"],
            documents=int(meta["documents"]),
            chunks=int(meta["chunks"]),
        )

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; what SQLite says of a damaged file becomes a CorpusError."""
        with self.reading():
            return list(self.connection.execute(sql, parameters))

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these row ids, in their order."""
        found: dict[int, StoredChunk] = {}
        for first in range(0, len(chunk_ids), IDS_AT_ONCE):
            some = chunk_ids[first : first + IDS_AT_ONCE]
            rows = self.rows(
                "SELECT chunks.id, document_root, chunk_index, leaf_hash, text, uri, title, "
                "title || ' ' || aliases FROM chunks JOIN documents ON documents.id = document_id "
                f"WHERE chunks.id IN ({','.join('?' * len(some))})",
                some,
            )
            found |= {row[0]: StoredChunk(*row) for row in rows}
        with self.reading():
            return [found[chunk_id] for chunk_id in chunk_ids]

    def document_roots(self) -> list[bytes]:
        """The roots of all documents in the order of the shard's tree: by uri, compared as bytes."""
        return [bytes.fromhex(root) for (root,) in self.rows("SELECT document_root FROM documents ORDER BY uri")]

    def header(self, document_root: str) -> dict[str, Any]:
        """The value of the document's leaf 0."""
        uri, title, source_type, source_revision, aliases = self._document(document_root)[1:]
        return document_header(uri, title, source_type, source_revision, aliases, self.meta.chunking_version)

    def leaves(self, document_root: str) -> list[bytes]:
        """All leaf hashes of the document: its header's, then its chunks'."""
        document_id = self._document(document_root)[0]
        rows = self.rows("SELECT leaf_hash FROM chunks WHERE document_id = ? ORDER BY chunk_index", (document_id,))
        header = leaf_hash(canonical_json(self.header(document_root)))
        return [header, *(bytes.fromhex(leaf) for (leaf,) in rows)]

    def chunk_text(self, document_root: str, chunk_index: int) -> str:
        """The text of one chunk. Raises CorpusError where the shard has no such chunk."""
        document_id = self._document(document_root)[0]
        rows = self.rows(
            "SELECT text FROM chunks WHERE document_id = ? AND chunk_index = ?", (document_id, chunk_index)
        )
        if not rows:
            raise CorpusError(f"{self.path}: document {document_root} has no chunk {chunk_index}")
        return str(rows[0][0])

    def _document(self, document_root: str) -> tuple[Any, ...]:
        rows = self.rows(
            "SELECT id, uri, title, source_type, source_revision, aliases FROM documents WHERE document_root = ?",
            (document_root,),
        )
        if not rows:
            raise CorpusError(f"{self.path}: no document with root {document_root}")
        return rows[0]

    def content_faults(self) -> Iterator[ShardFault]:
        """Recompute every leaf, document root and the shard root from the texts; yield what differs."""
        # An SQLite index that holds other rows than its table would show one thing here and another to a search.
        if self.rows("PRAGMA integrity_check(1)") != [("ok",)]:
            yield self._fault("file", "its tables and indexes do not agree: bytes of it were changed")
        roots: list[bytes] = []
        source_types: set[str] = set()
        for row in self.rows(
            "SELECT id, uri, title, source_type, source_revision, aliases, document_root FROM documents "
            "ORDER BY uri"
        ):
            document_id, uri, *header, stored = row
            source_types.add(header[1])
            leaves = [self._header_leaf(uri, *header)]
            leaves += yield from self._chunk_faults(document_id, uri)
            roots.append(tree_root(leaves))
            if roots[-1].hex() != stored:
                yield self._fault(uri, "its header and its leaves do not give its document root")
        if tree_root([leaf_hash(root) for root in roots]).hex() != self.meta.shard_root:
            yield self._fault("shard root", "the document roots do not give it")
        if len(roots) != self.meta.documents:
            yield self._fault("documents", f"{len(roots)} are stored, {self.meta.documents} were written")
        if source_types != set(self.meta.source_types):
            yield self._fault("source types", "they are not those of the documents")

    def _header_leaf(self, uri: str, title: str, kind: str, revision: str, aliases: str) -> bytes:
        """Leaf 0 of a document; of nothing where what is stored is no header, so that no root fits it."""
        try:
            header = document_header(uri, title, kind, revision, aliases, self.meta.chunking_version)
            return leaf_hash(canonical_json(header))
        except (InputError, ValueError, TypeError):
            return leaf_hash(b"")

    def _chunk_faults(self, document_id: int, uri: str) -> Generator[ShardFault, None, list[bytes]]:
        """Yield what is wrong with a document's chunks; return their leaf hashes, recomputed."""
        leaves: list[bytes] = []
        written = 0
        rows = self.rows(
            "SELECT chunk_index, start, end, text, leaf_hash FROM chunks WHERE document_id = ? "
            "ORDER BY chunk_index",
            (document_id,),
        )
        for position, (index, start, end, text, leaf) in enumerate(rows):
            place = f"{uri} chunk {index}"
            leaves.append(leaf_hash(str(text).encode()))
            if leaves[-1].hex() != leaf:
                yield self._fault(place, "its text does not give its leaf hash")
            if index != position:
                yield self._fault(place, f"it is number {position} of its document's chunks")
            if not written <= start == end - len(text):
                yield self._fault(place, "its offsets are not those of a text after the chunk before it")
            written = end
        return leaves

    def _fault(self, place: str, problem: str) -> ShardFault:
        return ShardFault(self.meta.shard, place, problem)

    def index_faults(self) -> Iterator[ShardFault]:
        """Compare the full-text index with the chunks it must hold."""
        ((chunks, indexed, missing),) = self.rows(
            "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunks_fts_docsize), "
            "(SELECT count(*) FROM chunks WHERE id NOT IN (SELECT id FROM chunks_fts_docsize))"
        )
        if chunks != self.meta.chunks:
            yield self._fault("chunks", f"{chunks} are stored, {self.meta.chunks} were written")
        if missing or indexed != chunks:
            yield self._fault("index", f"{missing} of {chunks} chunks are not in it, it has {indexed} entries")
        elif not self._index_is_sound():
            yield self._fault("index", "its entries are not those of the chunks' texts")

    def _index_is_sound(self) -> bool:
        """FTS5's own check of an index against the table it was made from; it wants a writable connection."""
        # Only checks need it, and it brings half a dozen modules along.
        from tempfile import TemporaryDirectory

        with TemporaryDirectory() as folder:
            copy = apsw.Connection(str(Path(folder) / "copy.db"))
            try:
                with copy.backup("main", self.connection, "main") as backup:
                    backup.step()
                copy.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
            except apsw.Error:
                return False
            finally:
                copy.close()
        return True


def read_shard_meta(home: Home, shard: str) -> ShardMeta | None:
    """What the published shard file says of itself; None where there is no whole one."""
    try:
        with Shard(home.shard_file(shard)) as opened:
            return opened.meta
    except CorpusError:
        return None


def document_header(
    uri: str, title: str, source_type: str, source_revision: str, aliases: str, chunking_version: str
) -> dict[str, Any]:
    """The header of a document as it stands in a shard; `aliases` is the stored JSON array."""
    return Document(uri, title, "", source_type, source_revision, tuple(json.loads(aliases))).header(
        chunking_version
    )
