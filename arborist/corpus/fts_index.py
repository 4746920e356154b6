"""Publishing a shard file from its chunks: what the asset `fts_index` does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from arborist.corpus import tables
from arborist.corpus.document_chunks import ShardChunks, read_shard_chunks
from arborist.corpus.posting_sidecar import write_postings
from arborist.corpus.shard import HASH_SIZE_BYTES, INDEXES, SCHEMA, Shard, ShardMeta
from arborist.corpus.tokenizer import INDEX_VERSION
from arborist.files import replacing
from arborist.hashing import canonical_json
from arborist.home import Home

ROWS_AT_ONCE = 2_000
INDEXED_COLUMNS = (
    "document_root",
    "uri",
    "title",
    "source_type",
    "source_revision",
    "aliases",
    "chunk_index",
    "start",
    "end",
    "text",
    "leaf_hash",
)


def write_fts_index(home: Home, shard: str) -> ShardMeta:
    """Build the shard file from the shard's chunk file and put it in place of the old one.

    Row ids follow from the content (documents by uri, chunks in order), so that ties inside FTS5 are cut the
    same way after every rebuild. Raises CorpusError where the chunks are not there yet, or the shard cannot be
    written.
    """
    chunks = read_shard_chunks(home, shard)
    if chunks is None:
        raise tables.unreadable(home.chunks_file(shard))
    path = home.shard_file(shard)
    with tables.writing(path), replacing(path) as partial:
        build_shard_file(partial, home.chunks_file(shard), chunks)
    return write_missing_postings(home, shard)


def write_missing_postings(home: Home, shard: str) -> ShardMeta:
    """Make the posting sidecar of a published shard anew. Raises CorpusError where it cannot be written."""
    path = home.shard_file(shard)
    with tables.writing(path), Shard(path) as opened:
        write_postings(opened)
        return opened.meta


def build_shard_file(path: Path, chunks_path: Path, chunks: ShardChunks) -> None:
    """Write a shard file to `path` from a file of chunks that says `chunks` of itself."""
    connection = apsw.Connection(str(path))
    try:
        # The file is built aside and synced before it is renamed: a journal would only cost time.
        connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096")
        with connection:
            connection.execute(SCHEMA)
            connection.execute(
                "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('hashsize', ?)", (HASH_SIZE_BYTES,)
            )
            source_types = _insert_rows(connection, tables.read_rows(chunks_path, INDEXED_COLUMNS))
            connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
            connection.execute(INDEXES)
            meta = chunks.labels() | {
                "index_version": INDEX_VERSION,
                "source_types": canonical_json(sorted(source_types)).decode(),
            }
            connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    finally:
        connection.close()


def _insert_rows(connection: apsw.Connection, rows: Iterator[tuple[Any, ...]]) -> set[str]:
    """Insert documents and chunks as they come, ordered by uri; return the source types met."""
    source_types: set[str] = set()
    documents: list[tuple[Any, ...]] = []
    chunks: list[tuple[Any, ...]] = []
    entries: list[tuple[Any, ...]] = []
    document_id, last_root, indexed_title = 0, "", ""
    for chunk_id, row in enumerate(rows, start=1):
        root, uri, title, source_type, source_revision, aliases, index, start, end, text, leaf = row
        if root != last_root:
            document_id, last_root = document_id + 1, root
            names = canonical_json(aliases).decode()
            indexed_title = f"{title} {names}"
            source_types.add(source_type)
            documents.append((document_id, uri, title, source_type, source_revision, names, root))
        chunks.append((chunk_id, document_id, index, start, end, text, leaf))
        entries.append((chunk_id, indexed_title, text))
        if len(chunks) >= ROWS_AT_ONCE:
            _flush(connection, documents, chunks, entries)
    _flush(connection, documents, chunks, entries)
    return source_types


def _flush(connection: apsw.Connection, *batches: list[tuple[Any, ...]]) -> None:
    statements = (
        "INSERT INTO documents VALUES (?,?,?,?,?,?,?)",
        "INSERT INTO chunks VALUES (?,?,?,?,?,?,?)",
        "INSERT INTO chunks_fts (rowid, title, text) VALUES (?,?,?)",
    )
    for statement, rows in zip(statements, batches, strict=True):
        connection.executemany(statement, rows)
        rows.clear()
