"""What the corpus assets are at, read from disk: by the run that made it, or by whoever looks later."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import dagster as dg

from arborist.corpus.document_chunks import ShardChunks, read_shard_chunks
from arborist.corpus.shard import ShardMeta, read_shard_meta
from arborist.corpus.snapshot import CorpusSnapshot
from arborist.corpus.source_documents import SourceManifest, read_manifest
from arborist.corpus.store import Corpus
from arborist.home import Home
from assets.names import CORPUS_SNAPSHOT, DOCUMENT_CHUNKS, FTS_INDEX, SOURCE_DOCUMENTS
from assets.tables import markdown_table
from assets.versions import AssetReport, together

Manifests = Mapping[str, SourceManifest]


def read_manifests(corpus: Corpus, sources: Iterable[str]) -> Manifests:
    """The manifests of those of the sources that have been read."""
    manifests = {name: read_manifest(corpus.home, name) for name in set(sources)}
    return {name: manifest for name, manifest in manifests.items() if manifest is not None}


def source_report(manifest: SourceManifest, home: Home) -> AssetReport:
    """One source's documents; their version is the digest over all of them."""
    return AssetReport(
        SOURCE_DOCUMENTS,
        manifest.source,
        manifest.digest,
        {
            "dagster/row_count": manifest.documents,
            "documents": manifest.documents,
            "characters": manifest.characters,
            "bytes": sum(_bytes(home.documents_file(manifest.source, shard)) for shard in manifest.shards),
            "skipped": manifest.skipped,
            "documents_digest": manifest.digest,
            "shards": markdown_table(("shard", "digest of its documents"), sorted(manifest.shards.items())),
        },
    )


def chunks_report(chunks: ShardChunks, manifests: Manifests, home: Home) -> AssetReport:
    """One shard's chunks; their version is the shard root."""
    manifest = manifests.get(chunks.source)
    return AssetReport(
        DOCUMENT_CHUNKS,
        chunks.shard,
        chunks.shard_root,
        {
            "dagster/row_count": chunks.chunks,
            "documents": chunks.documents,
            "chunks": chunks.chunks,
            "bytes": _bytes(home.chunks_file(chunks.shard)),
            "shard_root": chunks.shard_root,
            "chunking_version": chunks.chunking_version,
        },
        inputs={} if manifest is None else {SOURCE_DOCUMENTS: manifest.digest},
        code_version=chunks.chunking_version,
    )


def index_report(meta: ShardMeta, home: Home) -> AssetReport:
    """One published shard; its version covers its content and how it is indexed."""
    path = home.shard_file(meta.shard)
    return AssetReport(
        FTS_INDEX,
        meta.shard,
        meta.digest,
        {
            "dagster/row_count": meta.chunks,
            "documents": meta.documents,
            "chunks": meta.chunks,
            "bytes": _bytes(path),
            "shard_root": meta.shard_root,
            "chunking_version": meta.chunking_version,
            "index_version": meta.index_version,
            "file": dg.MetadataValue.path(path),
        },
        inputs={DOCUMENT_CHUNKS: meta.shard_root},
        code_version=meta.index_version,
    )


def snapshot_report(corpus: Corpus) -> AssetReport:
    """All shards that can be searched now. Raises CorpusError where there is none, or one is damaged."""
    with corpus.opened() as opened:
        shards = [shard.meta for shard in opened]
    root = CorpusSnapshot.of([(meta.shard, meta.shard_root) for meta in shards]).root
    configured = [meta for meta in shards if meta.shard in corpus.config.shard_names]
    return AssetReport(
        CORPUS_SNAPSHOT,
        None,
        root,
        {
            "snapshot_root": root,
            "shards": len(shards),
            "documents": sum(meta.documents for meta in shards),
            "chunks": sum(meta.chunks for meta in shards),
            "bytes": sum(_bytes(corpus.home.shard_file(meta.shard)) for meta in shards),
            "shard_table": markdown_table(
                ("shard", "documents", "chunks", "root"),
                [(meta.shard, meta.documents, meta.chunks, meta.shard_root[:16]) for meta in shards],
            ),
        },
        inputs={FTS_INDEX: together(index_report(meta, corpus.home) for meta in configured)},
    )


def current_reports(corpus: Corpus) -> Iterator[AssetReport]:
    """Everything on disk that is current, asset by asset from left to right in the graph."""
    home, shards = corpus.home, corpus.config.shard_names
    manifests = read_manifests(corpus, [source.name for source in corpus.config.sources])
    yield from (source_report(manifest, home) for manifest in manifests.values())
    chunked = [shard for shard in shards if not corpus.chunks_behind(shard)]
    for shard in chunked:
        if (chunks := read_shard_chunks(home, shard)) is not None:
            yield chunks_report(chunks, manifests, home)
    for shard in chunked:
        if not corpus.index_behind(shard) and (meta := read_shard_meta(home, shard)) is not None:
            yield index_report(meta, home)


def _bytes(file: Path) -> int:
    """The size of a file; 0 where it is gone, as a shard is that somebody evicts meanwhile."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
