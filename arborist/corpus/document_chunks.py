"""Chunking a shard's documents and growing their Merkle trees: what the asset `document_chunks` does."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from arborist.corpus import tables
from arborist.corpus.chunking import Chunk, Chunker
from arborist.corpus.document import Document
from arborist.errors import CorpusError
from arborist.files import replacing
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
    return _tree(document, chunker.chunks(document.text), chunker.version)


def _tree(document: Document, chunks: Sequence[Chunk], chunking_version: str) -> ChunkedDocument:
    leaves = (document.header_leaf(chunking_version), *(leaf_hash(chunk.text.encode()) for chunk in chunks))
    return ChunkedDocument(document, tuple(chunks), leaves)


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


class _EarlierCuts:
    """Where the documents of a chunk file were cut, for whoever asks in the order in which the file has them.

    Cutting is most of the work, and the same text is cut the same way by the same chunker. Texts and hashes are
    made from the document again, so that nothing but offsets is believed of the file.
    """

    def __init__(self, path: Path, chunking_version: str) -> None:
        earlier = chunks_footer(path)
        same = earlier is not None and earlier.chunking_version == chunking_version
        self._documents = _cuts_by_document(path) if same else iter(())
        self._next = next(self._documents, None)

    def chunks(self, document: Document, digest: str) -> list[Chunk] | None:
        """The document's chunks; None where it is new or another than it was."""
        uri = document.uri.encode()
        while self._next is not None and self._next.uri < uri:
            self._next = next(self._documents, None)
        if self._next is None or (self._next.uri, self._next.digest) != (uri, digest):
            return None
        return [Chunk(start, end, document.text[start:end]) for start, end in self._next.cuts]


@dataclass(frozen=True, slots=True)
class _Cuts:
    uri: bytes
    digest: str
    cuts: list[tuple[int, int]]


def _cuts_by_document(path: Path) -> Iterator[_Cuts]:
    """Document by document, as far as the file can be read."""
    rows = tables.read_rows(path, ("uri", "document_digest", "start", "end"))
    with suppress(CorpusError):
        for (uri, digest), group in groupby(rows, key=itemgetter(0, 1)):
            yield _Cuts(uri.encode(), digest, [(start, end) for _, _, start, end in group])


def write_document_chunks(home: Home, source: str, shard: str, chunker: Chunker) -> ShardChunks:
    """Chunk the shard's documents and write its chunk file; return what the file says of itself.

    Documents that are what they were keep their cuts. Raises CorpusError where the shard's documents are not there
    yet, or the chunks cannot be written.
    """
    documents_path, path = home.documents_file(source, shard), home.chunks_file(shard)
    documents_labels = tables.read_labels(documents_path)
    if documents_labels is None:
        raise tables.unreadable(documents_path)
    shard_tree = Frontier()
    labels: dict[str, str] = {}
    count = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal count
        earlier = _EarlierCuts(path, chunker.version)
        for document in tables.read_documents(documents_path):
            digest = document.digest.hex()
            chunks = earlier.chunks(document, digest) or chunker.chunks(document.text)
            tree = _tree(document, chunks, chunker.version)
            root = tree.root
            shard_tree.append(leaf_hash(root))
            yield from _rows(tree, digest, root.hex())
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

    with tables.writing(path), replacing(path) as partial:
        tables.write_table(partial, tables.CHUNK_COLUMNS, rows(), labels)
    written = read_shard_chunks(home, shard)
    if written is None:
        raise tables.unreadable(path)
    return written


def _rows(tree: ChunkedDocument, digest: str, root: str) -> Iterator[tuple[Any, ...]]:
    """The document's rows of a chunk file."""
    document = tree.document
    shared = (
        document.uri,
        document.title,
        document.source_type,
        document.source_revision,
        document.aliases,
        digest,
        root,
    )
    for index, (chunk, leaf) in enumerate(zip(tree.chunks, tree.leaves[1:], strict=True)):
        yield (*shared, index, chunk.start, chunk.end, chunk.text, leaf.hex())
