"""Building what is stale: the corpus assets, in process, over exactly the partitions that are behind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import dagster as dg
from dagster._core.events import RunFailureReason  # the only place that tells an interrupted run from a failed one

from arborist import errors
from arborist.corpus.store import Corpus
from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.event_log import catch_up, is_recorded, recorded_versions
from arborist_dagster.instance import STARTED_BY_BUILD, end_dead_builds
from arborist_dagster.settings import Settings
from assets.corpus_reports import current_reports, read_manifests, snapshot_report
from assets.names import CORPUS_SNAPSHOT, DOCUMENT_CHUNKS, FTS_INDEX, SOURCE_DOCUMENTS
from assets.ranges import contiguous, range_tags


@dataclass(frozen=True, slots=True)
class Step:
    """One run: some assets over a contiguous range of partitions (None for an asset without any)."""

    assets: tuple[str, ...]
    partitions: tuple[str, ...] | None

    @property
    def units(self) -> int:
        """How much of it there is to do, for a progress bar."""
        return len(self.assets) * len(self.partitions or ("",))


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a run came to: what it made, and why it failed, empty if it did not."""

    made: tuple[Step, ...]
    failure: str


class Build:
    """Brings a corpus up to date on the project's own definitions and instance.

    Only one at a time may be at work on an instance: see `building_alone`.
    """

    def __init__(self, settings: Settings, corpus: Corpus, instance: dg.DagsterInstance) -> None:
        self._settings = settings
        self._corpus = corpus
        self._instance = instance

    @cached_property
    def _definitions(self) -> dg.Definitions:
        return build_definitions(self._settings)

    def phases(self) -> Iterator[list[Step]]:
        """What there is to do, phase by phase; each is known only when the one before it was run.

        A shard that failed in one phase is not tried again in the next, and what it did not hold up goes on.
        """
        end_dead_builds(self._instance)
        self._catch_up()
        for steps in (self.reading_steps, self.chunking_steps, self.indexing_steps, self.snapshot_steps):
            if planned := steps():
                yield planned
                self._catch_up()

    def reading_steps(self) -> list[Step]:
        """The runs that read again what has changed in the sources."""
        names = [source.name for source in self._corpus.config.sources]
        return [Step((SOURCE_DOCUMENTS,), run) for run in contiguous(names, self._corpus.stale_sources())]

    def chunking_steps(self) -> list[Step]:
        """The runs that chunk and index the shards that are behind their documents.

        A source that could not be read has no documents to chunk; that was said when it was read.
        """
        corpus = self._corpus
        read = read_manifests(corpus, [source.name for source in corpus.config.sources])
        return self._shard_steps(
            (DOCUMENT_CHUNKS, FTS_INDEX),
            lambda shard: corpus.config.source_of_shard(shard).name in read and corpus.chunks_behind(shard),
        )

    def indexing_steps(self) -> list[Step]:
        """The runs that index the shards that are chunked, but not indexed as they are chunked."""
        corpus = self._corpus
        return self._shard_steps(
            (FTS_INDEX,), lambda shard: not corpus.chunks_behind(shard) and corpus.index_behind(shard)
        )

    def snapshot_steps(self) -> list[Step]:
        """The run that records the corpus as a whole, where it has changed and there is one."""
        if not self._corpus.published_shards():
            return []
        report = snapshot_report(self._corpus)
        recorded = is_recorded(report, recorded_versions(self._instance, CORPUS_SNAPSHOT))
        return [] if recorded else [Step((CORPUS_SNAPSHOT,), None)]

    def _catch_up(self) -> None:
        catch_up(self._instance, current_reports(self._corpus))

    def _shard_steps(self, assets: tuple[str, ...], behind: Callable[[str], str | bool]) -> list[Step]:
        names = self._corpus.config.shard_names
        return [Step(assets, run) for run in contiguous(names, filter(behind, names))]

    def run(self, step: Step) -> StepResult:
        """Run one step to its end, be it good or bad. Raises KeyboardInterrupt where it was interrupted."""
        keys = [dg.AssetKey(name) for name in step.assets]
        tags = STARTED_BY_BUILD | (range_tags(step.partitions) if step.partitions else {})
        job = self._definitions.resolve_implicit_job_def_def_for_assets(keys)
        assert job is not None  # the keys are those of our own assets
        result = job.execute_in_process(
            instance=self._instance,
            asset_selection=keys,
            tags=tags,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        if result.success:
            return StepResult((step,), "")
        if _was_interrupted(result):
            raise KeyboardInterrupt
        return StepResult(tuple(self._made(step, result.run_id)), _failure(result))

    def _made(self, step: Step, run_id: str) -> Iterator[Step]:
        """The parts of a failed step that were made all the same."""
        logged = self._instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        events = [entry.asset_materialization for entry in logged]
        for name in step.assets:
            key = dg.AssetKey(name)
            found = {event.partition for event in events if event and event.asset_key == key and event.partition}
            for run in contiguous(step.partitions or (), found):
                yield Step((name,), run)


def _was_interrupted(result: dg.ExecuteInProcessResult) -> bool:
    failures = [event.job_failure_data for event in result.all_events if event.is_job_failure]
    return any(failure.failure_reason is RunFailureReason.UNEXPECTED_TERMINATION for failure in failures)


def _failure(result: dg.ExecuteInProcessResult) -> str:
    """Why the run failed, in the engine's words where it has some."""
    ours = {kind.__name__ for kind in vars(errors).values() if isinstance(kind, type)}
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            if failure.user_failure_data and failure.user_failure_data.description:
                return failure.user_failure_data.description
            error = failure.error
            while error is not None and error.cause is not None:
                error = error.cause
            if error is not None and error.cls_name in ours:
                return error.message.partition(": ")[2].strip()
    return f"run {result.run_id} failed: see it in the Dagster UI (`make dev`)"
