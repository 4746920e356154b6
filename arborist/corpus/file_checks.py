"""What is wrong with the files that shards are made from: their rows against the digests in their footers."""

from collections.abc import Generator, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from arborist.corpus import tables
from arborist.corpus.document import Document
from arborist.corpus.document_chunks import read_shard_chunks
from arborist.corpus.shard import ShardFault
from arborist.errors import CorpusError, InputError
from arborist.home import Home
from arborist.merkle import Frontier, leaf_hash, tree_root

HEADER = ("uri", "title", "source_type", "source_revision", "aliases", "document_root")
COLUMNS = (*HEADER, "chunk_index", "text", "leaf_hash")
MISSING = "it is missing, or not whole"


def document_file_faults(home: Home, source: str, shard: str) -> Iterator[ShardFault]:
    """Recompute the digest of a shard's documents; yield a fault where it is not the one that was written."""
    path = home.documents_file(source, shard)
    place = str(path.relative_to(home.root))
    labels = tables.read_labels(path)
    if labels is None:
        yield ShardFault(shard, place, MISSING)
        return
    tree = Frontier()
    try:
        for document in tables.read_documents(path):
            tree.append(document.digest)
    except (CorpusError, InputError) as error:
        yield ShardFault(shard, place, str(error))
        return
    if tree.root().hex() != labels.get("documents_digest"):
        yield ShardFault(shard, place, "its documents do not give their digest")


def chunk_file_faults(home: Home, shard: str) -> Iterator[ShardFault]:
    """Recompute every leaf, document root and the shard root of a chunk file; yield what differs."""
    place = str(home.chunks_file(shard).relative_to(home.root))
    footer = read_shard_chunks(home, shard)
    if footer is None:
        yield ShardFault(shard, place, MISSING)
        return
    tree = Frontier()
    try:
        rows = tables.read_rows(home.chunks_file(shard), COLUMNS)
        for header, group in groupby(rows, key=itemgetter(*range(len(HEADER)))):
            root = yield from _document_faults(shard, footer.chunking_version, header, group)
            tree.append(leaf_hash(root))
    except (CorpusError, InputError) as error:
        yield ShardFault(shard, place, str(error))
        return
    if tree.root().hex() != footer.shard_root:
        yield ShardFault(shard, place, "its document roots do not give the shard root")


def _document_faults(
    shard: str, chunking_version: str, header: tuple[Any, ...], chunks: Iterator[tuple[Any, ...]]
) -> Generator[ShardFault, None, bytes]:
    """Yield what is wrong with one document of a chunk file; return its root, recomputed."""
    uri, title, kind, revision, aliases, stored_root = header
    document = Document(uri, title, "", kind, revision, tuple(aliases))
    leaves = [document.header_leaf(chunking_version)]
    for *_, index, text, stored_leaf in chunks:
        leaves.append(leaf_hash(text.encode()))
        if leaves[-1].hex() != stored_leaf:
            yield ShardFault(shard, f"{uri} chunk {index}", "its text does not give its leaf hash")
    root = tree_root(leaves)
    if root.hex() != stored_root:
        yield ShardFault(shard, uri, "its header and its chunks do not give its document root")
    return root
