"""Chunking a shard's documents and growing their Merkle trees: what the asset `document_chunks` does."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arborist.corpus import tables
from arborist.corpus.chunking import Chunk, Chunker
from arborist.corpus.document import Document
from arborist.files import replacing
from arborist.hashing import canonical_json
from arborist.home import Home
from arborist.merkle import Frontier, leaf_hash, tree_root


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """A document as a tree: leaf 0 is its header, leaf `i + 1` its chunk `i` (`provenance.md`, Digests)."""

    document: Document
    chunks: tuple[Chunk, ...]
    leaves: tuple[bytes, ...]

    @property
    def root(self) -> bytes:
        """`document_root`."""
        return tree_root(self.leaves)


def chunked(document: Document, chunker: Chunker) -> ChunkedDocument:
    """The document's chunks and leaf hashes."""
    chunks = tuple(chunker.chunks(document.text))
    header = leaf_hash(canonical_json(document.header(chunker.version)))
    return ChunkedDocument(document, chunks, (header, *(leaf_hash(chunk.text.encode()) for chunk in chunks)))


@dataclass(frozen=True, slots=True)
class ShardChunks:
    """What a shard's chunk file says of itself in its footer."""

    shard: str
    source: str
    documents_digest: str
    chunking_version: str
    shard_root: str
    documents: int
    chunks: int

    def labels(self) -> dict[str, str]:
        return {name: str(getattr(self, name)) for name in self.__slots__}


def read_shard_chunks(home: Home, shard: str) -> ShardChunks | None:
    """The footer of the shard's chunk file; None where there is no whole one."""
    return chunks_footer(home.chunks_file(shard))


def chunks_footer(path: Path) -> ShardChunks | None:
    """What a file of chunks says of itself; None where there is no whole one."""
    labels = tables.read_labels(path)
    if labels is None or set(labels) != set(ShardChunks.__slots__):
        return None
    return ShardChunks(
        shard=labels["shard"],
        source=labels["source"],
        documents_digest=labels["documents_digest"],
        chunking_version=labels["chunking_version"],
        shard_root=labels["shard_root"],
        documents=int(labels["documents"]),
        chunks=int(labels["chunks"]),
    )


def write_document_chunks(home: Home, source: str, shard: str, chunker: Chunker) -> ShardChunks:
    """Chunk the shard's documents and write its chunk file; return what the file says of itself.

    Raises CorpusError where the shard's documents are not there yet, or the chunks cannot be written.
    """
    documents_path = home.documents_file(source, shard)
    documents_labels = tables.read_labels(documents_path)
    if documents_labels is None:
        raise tables.unreadable(documents_path)
    shard_tree = Frontier()
    labels: dict[str, str] = {}
    count = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal count
        for row in tables.read_rows(documents_path):
            document = Document(**(row | {"aliases": tuple(row["aliases"])}))
            tree = chunked(document, chunker)
            shard_tree.append(leaf_hash(tree.root))
            yield from _rows(tree)
            count += len(tree.chunks)
        summary = ShardChunks(
            shard=shard,
            source=source,
            documents_digest=documents_labels["documents_digest"],
            chunking_version=chunker.version,
            shard_root=shard_tree.root().hex(),
            documents=shard_tree.size,
            chunks=count,
        )
        labels.update(summary.labels())

    path = home.chunks_file(shard)
    with tables.writing(path), replacing(path) as partial:
        tables.write_table(partial, tables.CHUNK_COLUMNS, rows(), labels)
    written = read_shard_chunks(home, shard)
    if written is None:
        raise tables.unreadable(path)
    return written


def _rows(tree: ChunkedDocument) -> Iterator[dict[str, Any]]:
    shared = {
        "uri": tree.document.uri,
        "title": tree.document.title,
        "source_type": tree.document.source_type,
        "source_revision": tree.document.source_revision,
        "aliases": list(tree.document.aliases),
        "document_root": tree.root.hex(),
    }
    for index, (chunk, leaf) in enumerate(zip(tree.chunks, tree.leaves[1:], strict=True)):
        yield shared | {
            "chunk_index": index,
            "start": chunk.start,
            "end": chunk.end,
            "text": chunk.text,
            "leaf_hash": leaf.hex(),
        }
