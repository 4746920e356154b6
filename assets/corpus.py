"""The corpus: source documents, chunks, the full-text index of each shard, and the snapshot over all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import dagster as dg

from arborist.corpus.chunking import Chunker
from arborist.corpus.config import CorpusConfig
from arborist.corpus.document_chunks import ShardChunks
from arborist.corpus.shard import INDEX_VERSION, ShardMeta
from arborist.corpus.source_documents import SourceManifest, read_manifest, write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.work import Outcome, chunk_shard, index_shard, over_shards
from arborist.progress import done
from assets.tables import column_schema, markdown_table
from assets.versions import PartitionReport, materialized
from resources.workspace import WorkspaceResource

GROUP = "corpus"
T = TypeVar("T")

DOCUMENT_SCHEMA = column_schema(
    {
        "uri": ("text", "Unique and stable name of the document"),
        "title": ("text", "What the document calls itself"),
        "text": ("text", "The whole text"),
        "source_type": ("text", "The kind of source it was read by"),
        "source_revision": ("text", "Label of this version of this document"),
        "aliases": ("list of text", "Other names it is found by"),
    }
)
CHUNK_SCHEMA = column_schema(
    {
        "uri": ("text", "The document that the chunk is of"),
        "document_root": ("text", "Merkle root over the document's header and chunks"),
        "chunk_index": ("integer", "Place of the chunk in its document, from 0"),
        "start": ("integer", "Offset of its first character in the document"),
        "end": ("integer", "Offset behind its last character"),
        "text": ("text", "The chunk"),
        "leaf_hash": ("text", "RFC 9162 leaf hash of its UTF-8 bytes"),
    }
)


@dataclass(frozen=True)
class CorpusPartitions:
    """The partitions that `corpus.toml` gives: sources, and shards named `<source>-<nnn>`."""

    sources: dg.StaticPartitionsDefinition
    shards: dg.StaticPartitionsDefinition
    source_to_shards: dg.StaticPartitionMapping

    @classmethod
    def of(cls, config: CorpusConfig) -> "CorpusPartitions":
        return cls(
            sources=dg.StaticPartitionsDefinition([source.name for source in config.sources]),
            shards=dg.StaticPartitionsDefinition(list(config.shard_names)),
            source_to_shards=dg.StaticPartitionMapping(
                {source.name: set(source.shard_names) for source in config.sources}
            ),
        )


def corpus_assets(config: CorpusConfig) -> list[dg.AssetsDefinition]:
    """The four assets of the corpus, partitioned as `config` says."""
    partitions = CorpusPartitions.of(config)
    chunking_version = Chunker(config.chunking.max_characters).version
    return [
        _source_documents(partitions),
        _document_chunks(partitions, chunking_version),
        _fts_index(partitions),
        corpus_snapshot,
    ]


def _source_documents(partitions: CorpusPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.sources,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        kinds={"python", "parquet"},
        metadata={"dagster/column_schema": DOCUMENT_SCHEMA},
    )
    def source_documents(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """Documents as they stand in each source of `corpus.toml`, sorted into shards by their uri.

        Entries that a source leaves out (`on_error = "skip"`) are counted here and listed in `skipped.jsonl`.
        """
        manifests = []
        for name in context.partition_keys:
            manifests.append(
                write_source_documents(open_source(workspace.corpus.config.source(name)), workspace.workspace.home)
            )
            done(f"documents {name}")
        reports = [PartitionReport(item.source, item.digest, _source_metadata(item)) for item in manifests]
        yield from materialized(
            context,
            reports,
            {
                "documents": sum(item.documents for item in manifests),
                "skipped": sum(item.skipped for item in manifests),
                "sources": markdown_table(
                    ("source", "documents", "characters", "skipped"),
                    [(item.source, item.documents, item.characters, item.skipped) for item in manifests],
                ),
            },
        )

    return source_documents


def _source_metadata(manifest: SourceManifest) -> dict[str, Any]:
    return {
        "dagster/row_count": manifest.documents,
        "documents": manifest.documents,
        "characters": manifest.characters,
        "skipped": manifest.skipped,
        "documents_digest": manifest.digest,
        "shards": markdown_table(("shard", "digest of its documents"), sorted(manifest.shards.items())),
    }


def _document_chunks(partitions: CorpusPartitions, chunking_version: str) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.shards,
        deps=[dg.AssetDep("source_documents", partition_mapping=partitions.source_to_shards)],
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version=chunking_version,
        group_name=GROUP,
        kinds={"python", "parquet"},
        metadata={"dagster/column_schema": CHUNK_SCHEMA},
    )
    def document_chunks(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """Chunks of each shard with their leaf hashes, and the Merkle root of each document and of the shard.

        The code version is the chunking version: splitter, its version, and its parameters.
        """
        corpus = workspace.corpus
        outcomes = over_shards(corpus, chunk_shard, context.partition_keys, "chunks")
        results = _results(outcomes)
        reports = [
            PartitionReport(
                item.shard, item.shard_root, _chunks_metadata(item), _documents_version(workspace, item.source)
            )
            for item in results
        ]
        yield from _reported(context, outcomes, reports, chunking_version)

    return document_chunks


def _documents_version(workspace: WorkspaceResource, source: str) -> dict[str, str]:
    manifest = read_manifest(workspace.workspace.home, source)
    return {} if manifest is None else {"source_documents": manifest.digest}


def _chunks_metadata(chunks: ShardChunks) -> dict[str, Any]:
    return {
        "dagster/row_count": chunks.chunks,
        "documents": chunks.documents,
        "chunks": chunks.chunks,
        "shard_root": chunks.shard_root,
        "chunking_version": chunks.chunking_version,
    }


def _fts_index(partitions: CorpusPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=partitions.shards,
        deps=["document_chunks"],
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version=INDEX_VERSION,
        group_name=GROUP,
        kinds={"sqlite"},
    )
    def fts_index(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """One SQLite file a shard: documents, chunks and their FTS5 index.

        Built aside and renamed over, so questions are answered from the old file until the new one is whole.
        """
        outcomes = over_shards(workspace.corpus, index_shard, context.partition_keys, "index")
        reports = [
            PartitionReport(
                item.shard,
                item.digest,
                _index_metadata(item, workspace),
                {"document_chunks": item.shard_root},
            )
            for item in _results(outcomes)
        ]
        yield from _reported(context, outcomes, reports, INDEX_VERSION)

    return fts_index


def _index_metadata(meta: ShardMeta, workspace: WorkspaceResource) -> dict[str, Any]:
    path = workspace.workspace.home.shard_file(meta.shard)
    return {
        "dagster/row_count": meta.chunks,
        "documents": meta.documents,
        "chunks": meta.chunks,
        "bytes": path.stat().st_size,
        "shard_root": meta.shard_root,
        "chunking_version": meta.chunking_version,
        "index_version": meta.index_version,
        "file": dg.MetadataValue.path(path),
    }


def _results(outcomes: Sequence[Outcome[T]]) -> list[T]:
    return [outcome.result for outcome in outcomes if outcome.result is not None]


def _reported(
    context: dg.AssetExecutionContext,
    outcomes: Sequence[Outcome[Any]],
    reports: list[PartitionReport],
    code_version: str,
) -> Iterator[dg.MaterializeResult]:
    """Report the shards that were built; fail, naming those that were not."""
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if failed:
        for report in reports:
            context.log_event(report.event(context.asset_key, code_version))
        raise dg.Failure(
            description="; ".join(f"{outcome.shard}: {outcome.error}" for outcome in failed),
            metadata={
                "failed": markdown_table(
                    ("shard", "error"), [(outcome.shard, outcome.error) for outcome in failed]
                ),
                "built": len(reports),
            },
        )
    totals = {
        "shards": len(reports),
        "documents": sum(report.metadata["documents"] for report in reports),
        "chunks": sum(report.metadata["chunks"] for report in reports),
    }
    yield from materialized(context, reports, totals, code_version)


@dg.asset(deps=["fts_index"], group_name=GROUP, kinds={"sqlite"})
def corpus_snapshot(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """All shards that can be searched now, each at its root, and one root over them."""
    corpus = workspace.corpus
    snapshot = corpus.snapshot()
    status = [item for item in corpus.status() if item.published is not None]
    published = [item.published for item in status if item.published is not None]
    return dg.MaterializeResult(
        data_version=dg.DataVersion(snapshot.root),
        metadata={
            "snapshot_root": snapshot.root,
            "shards": len(snapshot.shards),
            "documents": sum(item.documents for item in published),
            "chunks": sum(item.chunks for item in published),
            "shard_table": markdown_table(
                ("shard", "documents", "chunks", "root"),
                [(item.shard, item.documents, item.chunks, item.shard_root[:16]) for item in published],
            ),
        },
    )
