"""Checks of the corpus: what the index serves is what its roots say, whole, and current."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from arborist.errors import CorpusError
from assets.names import FTS_INDEX
from assets.ranges import covered
from assets.tables import open_table
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.corpus.shard import Shard, ShardFault
    from arborist.corpus.store import Corpus


def _shards_in_question(context: dg.AssetCheckExecutionContext, corpus: "Corpus") -> list[str]:
    """The shards of the run that the check is part of; on its own, every published shard."""
    return list(covered(corpus.config.shard_names, context.run.tags)) or corpus.published_shards()


def _fault_result(checked: Sequence[str], faults: Sequence["ShardFault"]) -> dg.AssetCheckResult:
    bad = sorted({fault.shard for fault in faults})
    remedy = f"Delete {', '.join(f'shards/{name}.db' for name in bad[:20])} and run `arborist build`."
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


def _faults(
    corpus: "Corpus", shards: Sequence[str], faults_of: Callable[["Shard"], Iterator["ShardFault"]]
) -> list["ShardFault"]:
    from arborist.corpus.shard import Shard, ShardFault

    found = []
    for shard in shards:
        try:
            with Shard(corpus.home.shard_file(shard)) as opened:
                found += list(faults_of(opened))
        except CorpusError as error:
            found.append(ShardFault(shard, "file", str(error)))
    return found


@dg.asset_check(asset=FTS_INDEX, blocking=True)
def shard_roots_recompute(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """Every leaf hash, document root and shard root follows from the stored texts."""
    from arborist.corpus.shard import Shard

    corpus = workspace.corpus
    shards = _shards_in_question(context, corpus)
    return _fault_result(shards, _faults(corpus, shards, Shard.content_faults))


@dg.asset_check(asset=FTS_INDEX, blocking=True)
def index_holds_every_chunk(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """The full-text index has an entry for every chunk, made from the chunk's own text."""
    from arborist.corpus.shard import Shard

    corpus = workspace.corpus
    shards = _shards_in_question(context, corpus)
    return _fault_result(shards, _faults(corpus, shards, Shard.index_faults))


@dg.asset_check(asset=FTS_INDEX, blocking=True)
def postings_answer_as_fts5(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """On a sample of queries, the postings beside each shard give the scores of FTS5, to the last bit."""
    from arborist.retrieval.postings_check import postings_faults

    corpus = workspace.corpus
    shards = _shards_in_question(context, corpus)
    return _fault_result(shards, _faults(corpus, shards, postings_faults))


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


CORPUS_CHECKS = [shard_roots_recompute, index_holds_every_chunk, postings_answer_as_fts5, shards_current]
