"""Checks of the corpus: what the index serves is what its roots say, whole, and current."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from assets.names import CORPUS_SNAPSHOT, DOCUMENT_CHUNKS, FTS_INDEX, SOURCE_DOCUMENTS
from assets.ranges import covered
from assets.tables import open_table
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.corpus.shard import Shard, ShardFault
    from arborist.corpus.store import Corpus


def _shards_in_question(context: dg.AssetCheckExecutionContext, corpus: "Corpus") -> list[str]:
    """The shards of the run that the check is part of; on its own, every published shard."""
    return list(covered(corpus.config.shard_names, context.run.tags)) or corpus.published_shards()


def _fault_result(
    checked: Sequence[str], faults: Sequence["ShardFault"], file_of: Callable[[str], str] = "shards/{}.db".format
) -> dg.AssetCheckResult:
    """`file_of` gives the file, below the home, to delete for a bad shard."""
    bad = sorted({fault.shard for fault in faults})
    remedy = f"Delete {', '.join(map(file_of, bad[:20]))} and run `arborist build`."
    return dg.AssetCheckResult(
        passed=not faults,
        severity=dg.AssetCheckSeverity.ERROR,
        description=remedy if faults else f"{len(checked)} shards are sound",
        metadata={
            "shards": len(checked),
            "bad_shards": len(bad),
            **open_table(
                "faults",
                ("shard", "place", "problem"),
                [(fault.shard, fault.place, fault.problem) for fault in faults],
            ),
        },
    )


def _published_result(
    context: dg.AssetCheckExecutionContext, corpus: "Corpus", find: Callable[["Shard"], Iterator["ShardFault"]]
) -> dg.AssetCheckResult:
    from arborist.corpus.work import faults_over_shards, published_faults

    shards = _shards_in_question(context, corpus)
    return _fault_result(shards, faults_over_shards(corpus, partial(published_faults, find), shards))


# Blocking: from damaged documents a shard would be built that is whole, and served.
@dg.asset_check(asset=SOURCE_DOCUMENTS, blocking=True)
def documents_match_digest(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """The stored documents of every shard give the digest that was written with them."""
    from arborist.corpus.file_checks import document_file_faults

    corpus = workspace.corpus
    sources = covered([source.name for source in corpus.config.sources], context.run.tags)
    read = [
        (source.name, shard)
        for source in corpus.config.sources
        if not sources or source.name in sources
        for shard in source.shard_names
        if corpus.home.documents_file(source.name, shard).is_file()
    ]
    faults = [fault for name, shard in read for fault in document_file_faults(corpus.home, name, shard)]
    folder = {shard: name for name, shard in read}
    return _fault_result(list(folder), faults, lambda shard: f"documents/{folder[shard]}/{shard}.parquet")


@dg.asset_check(asset=SOURCE_DOCUMENTS)
def nothing_left_out(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """No source had entries that were left out when it was read."""
    from assets.corpus_reports import read_manifests

    corpus = workspace.corpus
    manifests = read_manifests(corpus, [source.name for source in corpus.config.sources])
    skipped = {name: manifest.skipped for name, manifest in sorted(manifests.items()) if manifest.skipped}
    return dg.AssetCheckResult(
        passed=not skipped,
        severity=dg.AssetCheckSeverity.WARN,
        description=(
            f"{sum(skipped.values())} entries were left out: mend what is said in "
            f"{', '.join(f'documents/{name}/skipped.jsonl' for name in skipped)}, and run `arborist build`."
            if skipped
            else f"{len(manifests)} sources were read whole"
        ),
        metadata={
            "skipped": sum(skipped.values()),
            **open_table("sources_with_skips", ("source", "skipped"), list(skipped.items())),
        },
    )


# Blocking: an index of damaged chunks would be published before its own checks can tell.
@dg.asset_check(asset=DOCUMENT_CHUNKS, blocking=True)
def chunk_roots_recompute(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """Every leaf hash, document root and shard root of the chunk files follows from the stored chunks."""
    from arborist.corpus.file_checks import chunk_file_faults
    from arborist.corpus.work import faults_over_shards

    corpus = workspace.corpus
    names = covered(corpus.config.shard_names, context.run.tags) or corpus.config.shard_names
    shards = [shard for shard in names if corpus.home.chunks_file(shard).is_file()]
    return _fault_result(shards, faults_over_shards(corpus, chunk_file_faults, shards), "chunks/{}.parquet".format)


@dg.asset_check(asset=FTS_INDEX, blocking=True)
def shard_roots_recompute(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """Every leaf hash, document root and shard root follows from the stored texts."""
    from arborist.corpus.shard import Shard

    return _published_result(context, workspace.corpus, Shard.content_faults)


@dg.asset_check(asset=FTS_INDEX, blocking=True)
def index_holds_every_chunk(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """The full-text index has an entry for every chunk, made from the chunk's own text."""
    from arborist.corpus.shard import Shard

    return _published_result(context, workspace.corpus, Shard.index_faults)


@dg.asset_check(asset=FTS_INDEX, blocking=True)
def postings_answer_as_fts5(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """The postings beside each shard count every term as FTS5 does, and give its scores on a sample of queries."""
    from arborist.retrieval.postings_check import postings_faults

    return _published_result(context, workspace.corpus, postings_faults)


@dg.asset_check(asset=FTS_INDEX)
def shards_current(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Every shard is built from today's documents under today's chunking; Dagster itself shows that of one
    partition at a time only.
    """
    status = workspace.corpus.status()
    behind = [item for item in status if item.behind]
    return dg.AssetCheckResult(
        passed=not behind,
        severity=dg.AssetCheckSeverity.WARN,
        description=(
            f"{len(behind)} of {len(status)} shards are behind: run `arborist build`, or backfill them."
            if behind
            else f"all {len(status)} shards are current"
        ),
        metadata={
            "shards": len(status),
            "behind": len(behind),
            **open_table(
                "shards_behind",
                ("shard", "why", "answers from"),
                [
                    (item.shard, item.behind, item.published.chunking_version if item.published else "nothing yet")
                    for item in behind
                ],
            ),
        },
    )


@dg.asset_check(asset=CORPUS_SNAPSHOT)
def snapshot_holds_every_shard(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Every shard that is configured can be searched; questions are answered without those that cannot."""
    corpus = workspace.corpus
    missing = [
        (shard, "cold" if corpus.cold_meta(shard) else "not built") for shard in corpus.unpublished_shards()
    ]
    configured = len(corpus.config.shard_names)
    return dg.AssetCheckResult(
        passed=not missing,
        severity=dg.AssetCheckSeverity.WARN,
        description=(
            f"{len(missing)} of {configured} shards are not searched: run `arborist build` for those not built, "
            "`arborist providence rehydrate` for cold ones."
            if missing
            else f"all {configured} shards are searched"
        ),
        metadata={
            "shards": configured,
            "not_searched": len(missing),
            **open_table("missing_shards", ("shard", "why"), missing),
        },
    )


CORPUS_CHECKS = [
    documents_match_digest,
    nothing_left_out,
    chunk_roots_recompute,
    shard_roots_recompute,
    index_holds_every_chunk,
    postings_answer_as_fts5,
    shards_current,
    snapshot_holds_every_shard,
]
