"""Building what is stale: the corpus assets, in process, over exactly the partitions that are behind."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

from arborist.corpus.store import Corpus
from arborist.errors import ArboristError, CorpusError
from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.settings import Settings
from assets.corpus_checks import RANGE_END, RANGE_START

SNAPSHOT = "corpus_snapshot"


@dataclass(frozen=True, slots=True)
class Step:
    """One run: some assets over a contiguous range of partitions (None for an asset without any)."""

    assets: tuple[str, ...]
    partitions: tuple[str, ...] | None

    @property
    def units(self) -> int:
        """How much of it there is to do, for a progress bar."""
        return len(self.assets) * len(self.partitions or ("",))


def contiguous(names: Sequence[str], wanted: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The wanted names as runs of neighbours in `names`."""
    chosen = set(wanted)
    run: list[str] = []
    for name in names:
        if name in chosen:
            run.append(name)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def reading_steps(corpus: Corpus) -> list[Step]:
    """The runs that read again what has changed in the sources."""
    names = [source.name for source in corpus.config.sources]
    return [Step(("source_documents",), run) for run in contiguous(names, corpus.stale_sources())]


def shard_steps(corpus: Corpus) -> list[Step]:
    """The runs that chunk and index the shards that are behind their documents."""
    names = corpus.config.shard_names
    unchunked = [shard for shard in names if corpus.chunks_behind(shard)]
    unindexed = [shard for shard in names if shard not in unchunked and corpus.index_behind(shard)]
    steps = [Step(("document_chunks", "fts_index"), run) for run in contiguous(names, unchunked)]
    return steps + [Step(("fts_index",), run) for run in contiguous(names, unindexed)]


class Builder:
    """Runs steps on the project's own definitions and instance."""

    def __init__(self, settings: Settings, instance: dg.DagsterInstance) -> None:
        self._definitions = build_definitions(settings)
        self._instance = instance

    def run(self, step: Step) -> None:
        """Raises the engine's error where the step failed for a reason of the user's, else CorpusError."""
        job = self._definitions.resolve_implicit_job_def_def_for_assets(
            [dg.AssetKey(name) for name in step.assets]
        )
        tags = {"arborist/started_by": "build"}
        if step.partitions:
            tags |= {RANGE_START: step.partitions[0], RANGE_END: step.partitions[-1]}
        result = job.execute_in_process(
            instance=self._instance,
            asset_selection=[dg.AssetKey(name) for name in step.assets],
            tags=tags,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        if not result.success:
            raise _failure(result)

    def snapshot_is_recorded(self, root: str) -> bool:
        """Whether the last materialization of `corpus_snapshot` was of this root."""
        event = self._instance.get_latest_materialization_event(dg.AssetKey(SNAPSHOT))
        if event is None or event.asset_materialization is None:
            return False
        return (event.asset_materialization.tags or {}).get("dagster/data_version") == root


def _failure(result: dg.ExecuteInProcessResult) -> ArboristError:
    for event in result.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            if event.step_failure_data.user_failure_data:
                return CorpusError(event.step_failure_data.user_failure_data.description or "a step failed")
            if error is not None:
                return CorpusError(error.message.partition(": ")[2].strip() or error.message.strip())
    return CorpusError("the run failed: see it in the Dagster UI (`make dev`)")
