"""The corpus: source documents, chunks, the full-text index of each shard, and the snapshot over all of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import dagster as dg

from arborist.corpus.chunking import Chunker
from arborist.corpus.config import CorpusConfig
from arborist.corpus.tokenizer import INDEX_VERSION
from arborist.progress import done
from assets.names import DOCUMENT_CHUNKS, FTS_INDEX, SOURCE_DOCUMENTS
from assets.requests import asked_at
from assets.tables import markdown_table, open_table, rounded
from assets.versions import AssetReport, inputs_seen, log_events, materialized
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.corpus.store import Corpus
    from arborist.corpus.work import Outcome

T = TypeVar("T")

# One run at a time writes documents, chunks and shards; the work inside a run is what is spread over processes.
POOL = "corpus"
# For what the operating system refuses for the moment; what is wrong with a document or a setting is not retried.
# It is no RetryPolicy: under one, Dagster begins a step anew when somebody stops its run.
MOST_RETRIES = 2
RETRY_SECONDS = 5


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
    return [
        _source_documents(partitions),
        _document_chunks(partitions, Chunker(config.chunking.max_characters).version),
        _fts_index(partitions),
        corpus_snapshot,
    ]


def _source_documents(partitions: CorpusPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        name=SOURCE_DOCUMENTS,
        partitions_def=partitions.sources,
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=POOL,
    )
    def source_documents(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """Documents as they stand in each source of `corpus.toml`, sorted into shards by their uri.

        Entries that a source leaves out (`on_error = "skip"`) are counted here and listed in `skipped.jsonl`.
        """
        from arborist.corpus.work import over_sources
        from assets.corpus_reports import source_report

        outcomes = over_sources(workspace.corpus, context.partition_keys)
        manifests = [outcome.result for outcome in outcomes if outcome.result is not None]
        totals = {
            "documents": sum(item.documents for item in manifests),
            "skipped": sum(item.skipped for item in manifests),
            "seconds": rounded(sum(outcome.seconds for outcome in outcomes)),
            "sources": markdown_table(
                ("source", "documents", "characters", "skipped"),
                [(item.source, item.documents, item.characters, item.skipped) for item in manifests],
            ),
        }
        home = workspace.workspace.home
        reports = _timed(outcomes, lambda manifest: source_report(manifest, home))
        yield from _reported(context, outcomes, reports, totals, {})

    return source_documents


def _document_chunks(partitions: CorpusPartitions, chunking_version: str) -> dg.AssetsDefinition:
    @dg.asset(
        name=DOCUMENT_CHUNKS,
        partitions_def=partitions.shards,
        deps=[dg.AssetDep(SOURCE_DOCUMENTS, partition_mapping=partitions.source_to_shards)],
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version=chunking_version,
        pool=POOL,
    )
    def document_chunks(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """Chunks of each shard with their leaf hashes, and the Merkle root of each document and of the shard.

        The code version is the chunking version: splitter, its version, and its parameters.
        """
        from arborist.corpus.work import chunk_shard, chunks_since
        from assets.corpus_reports import chunks_report, read_manifests

        corpus = workspace.corpus
        seen = inputs_seen(context.instance, [SOURCE_DOCUMENTS])
        outcomes = _over_shards(context, corpus, chunk_shard, chunks_since, "chunks")
        results = [outcome.result for outcome in outcomes if outcome.result is not None]
        manifests = read_manifests(corpus, [item.source for item in results])
        reports = _timed(outcomes, lambda chunks: chunks_report(chunks, manifests, corpus.home))
        yield from _reported(context, outcomes, reports, _shard_totals(reports), seen)

    return document_chunks


def _fts_index(partitions: CorpusPartitions) -> dg.AssetsDefinition:
    @dg.asset(
        name=FTS_INDEX,
        partitions_def=partitions.shards,
        deps=[DOCUMENT_CHUNKS],
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version=INDEX_VERSION,
        pool=POOL,
    )
    def fts_index(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """One SQLite file a shard: documents, chunks and their FTS5 index.

        Built aside and renamed over, so questions are answered from the old file until the new one is whole.
        """
        from arborist.corpus.work import index_shard, index_since
        from assets.corpus_reports import index_report

        seen = inputs_seen(context.instance, [DOCUMENT_CHUNKS])
        outcomes = _over_shards(context, workspace.corpus, index_shard, index_since, "index")
        home = workspace.workspace.home
        reports = _timed(outcomes, lambda meta: index_report(meta, home))
        yield from _reported(context, outcomes, reports, _shard_totals(reports), seen)

    return fts_index


def _over_shards(
    context: dg.AssetExecutionContext,
    corpus: "Corpus",
    step: Callable[["Corpus", str], T],
    made_since: Callable[["Corpus", str, float], T | None],
    name: str,
) -> list["Outcome[T]"]:
    """The outcome for every shard of the run; what another run made since this one was asked for is taken over."""
    from arborist.corpus.work import Outcome, over_shards

    shards, moment = context.partition_keys, asked_at(context)
    found = {shard: made for shard in shards if (made := made_since(corpus, shard, moment)) is not None}
    if found:
        context.log.info(f"made since this was asked for, and not made again: {', '.join(found)}")
    rest = over_shards(corpus, step, [shard for shard in shards if shard not in found], name)
    outcomes = {outcome.name: outcome for outcome in rest}
    return [outcomes.get(shard) or Outcome(shard, found[shard]) for shard in shards]


def _timed(outcomes: Sequence["Outcome[T]"], report: Callable[[T], AssetReport]) -> list[AssetReport]:
    """A report of every result, with the seconds that it took where this run made it."""
    return [
        report(outcome.result).with_metadata({"seconds": rounded(outcome.seconds)} if outcome.seconds else {})
        for outcome in outcomes
        if outcome.result is not None
    ]


def _shard_totals(reports: Sequence[AssetReport]) -> dict[str, float]:
    return {
        "shards": len(reports),
        "documents": sum(report.metadata["documents"] for report in reports),
        "chunks": sum(report.metadata["chunks"] for report in reports),
        "bytes": sum(report.metadata["bytes"] for report in reports),
        "seconds": rounded(sum(report.metadata.get("seconds", 0.0) for report in reports)),
    }


def _reported(
    context: dg.AssetExecutionContext,
    outcomes: Sequence["Outcome[Any]"],
    reports: list[AssetReport],
    totals: Mapping[str, Any],
    seen: Mapping[str, str],
) -> Iterator[dg.MaterializeResult]:
    """Report the partitions that were made; fail, naming those that were not."""
    failed = [(outcome.name, str(outcome.error)) for outcome in outcomes if outcome.error is not None]
    if failed:
        log_events(context, [report.event(seen) for report in reports])
        failure = dg.Failure(
            description="; ".join(f"{partition}: {error}" for partition, error in failed),
            metadata={**open_table("failed", ("partition", "error"), failed), "made": len(reports)},
        )
        if any(outcome.transient for outcome in outcomes) and context.retry_number < MOST_RETRIES:
            wait = RETRY_SECONDS * 2**context.retry_number
            raise dg.RetryRequested(max_retries=MOST_RETRIES, seconds_to_wait=wait) from failure
        raise failure
    yield from materialized(context, reports, totals, seen)


@dg.asset(deps=[FTS_INDEX])
def corpus_snapshot(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> dg.MaterializeResult:
    """All shards that can be searched now, each at its root, and one root over them."""
    from assets.corpus_reports import snapshot_report

    clock = workspace.workspace.clock
    started, seen = clock.now(), inputs_seen(context.instance, [FTS_INDEX])
    report = snapshot_report(workspace.corpus)
    result = report.with_metadata({"seconds": rounded(clock.now() - started)}).result(seen)
    done("corpus snapshot")
    return result
