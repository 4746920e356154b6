"""What happens when the corpus is not what its sources and settings say: off until someone wants it so.

The sensors look at the files themselves each time, not at what has changed since the last look, so that nothing
is missed while they are off, and what was built by hand or by `arborist build` is not asked for again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from arborist_dagster.instance import AT_WORK, end_dead_builds_of
from arborist_dagster.jobs import BUILD_SHARDS, READ_SOURCES
from assets.names import CORPUS_SNAPSHOT, DOCUMENT_CHUNKS, FTS_INDEX, SOURCE_DOCUMENTS
from assets.ranges import contiguous, covered, range_tags
from resources.workspace import WorkspaceResource

NOT_OVER = [dg.DagsterRunStatus.QUEUED, *AT_WORK]
OVER = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
PARTITIONS_IN_A_RUN = 50
RUNS_LOOKED_AT = 1_000
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 60.0, 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Work:
    """What a sensor asks a job for: some of its assets, over partitions of which `names` are all."""

    job: str
    assets: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def keys(self) -> set[dg.AssetKey]:
        return {dg.AssetKey(name) for name in self.assets}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of the last run over a partition: `failures` in a row, and when it may be asked for again."""

    run_id: str = ""
    failures: int = 0
    not_before: float = 0.0

    def followed_by(self, record: dg.RunRecord) -> "Attempt":
        run = record.dagster_run
        if run.status is not dg.DagsterRunStatus.FAILURE:
            return Attempt(run.run_id)
        wait = min(FIRST_WAIT_SECONDS * 2.0**self.failures, LONGEST_WAIT_SECONDS)
        return Attempt(run.run_id, self.failures + 1, (record.end_time or 0.0) + wait)


@dg.sensor(
    job=BUILD_SHARDS,
    minimum_interval_seconds=30,
    description="Off until wanted. Rebuilds shards that are behind their documents or under another chunking.",
)
def shards_out_of_date(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult:
    """Rebuilds the shards that are behind their documents, or built under another chunking or index version.

    A shard that a run is at work on, or waits for, is not asked for. One that failed is asked for again, after a
    minute at first and after six hours at most.
    """
    corpus = workspace.corpus
    behind = [status.shard for status in corpus.status() if status.behind and not status.cold]
    chunked = [shard for shard in behind if corpus.chunks_behind(shard)]
    names = corpus.config.shard_names
    # A shard that cannot be chunked must not hold up the indexing of those that were chunked in the same run.
    indexed = [shard for shard in behind if shard not in chunked]
    work = {
        Work(BUILD_SHARDS.name, (DOCUMENT_CHUNKS, FTS_INDEX, CORPUS_SNAPSHOT), names): chunked,
        Work(BUILD_SHARDS.name, (FTS_INDEX, CORPUS_SNAPSHOT), names): indexed,
    }
    return _result(context, "shards", work, workspace.workspace.clock.now())


@dg.sensor(
    job=READ_SOURCES,
    minimum_interval_seconds=300,
    description="Off until wanted. Reads sources again whose content is no longer what was read.",
)
def sources_changed(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult:
    """Reads the sources whose content is no longer what was read, judged by a digest of it, not by time.

    What follows for the shards is `shards_out_of_date`'s to ask for.
    """
    corpus = workspace.corpus
    names = tuple(source.name for source in corpus.config.sources)
    work = {Work(READ_SOURCES.name, (SOURCE_DOCUMENTS,), names): corpus.stale_sources()}
    return _result(context, "sources", work, workspace.workspace.clock.now())


@dg.sensor(
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Ends the runs of an `arborist build` that was killed, so that others need not wait for them.",
)
def dead_builds(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SkipReason:
    """Ends the runs of an `arborist build` that was killed, so that what waits for its place can begin."""
    ended = end_dead_builds_of(workspace.workspace.home, context.instance)
    return dg.SkipReason(f"{ended} runs of builds that were killed were ended" if ended else "no build was killed")


CORPUS_SENSORS = [shards_out_of_date, sources_changed, dead_builds]


def _result(
    context: dg.SensorEvaluationContext, what: str, work: Mapping[Work, Sequence[str]], now: float
) -> dg.SensorResult:
    """Requests for what is behind and neither at work nor waiting after a failure."""
    requests: list[dg.RunRequest] = []
    behind = at_work = waiting = 0
    for part, names in work.items():
        busy = set(names) & set(_at_work(context.instance, part))
        attempts = _attempts(context.instance, part)
        wanted = [name for name in names if name not in busy and attempts[name].not_before <= now]
        requests += [_request(part, run, attempts[run[0]]) for run in _runs(part, wanted)]
        behind, at_work, waiting = (
            behind + len(names),
            at_work + len(busy),
            waiting + len(names) - len(busy) - len(wanted),
        )
    if requests:
        return dg.SensorResult(run_requests=requests)
    if not behind:
        return dg.SensorResult(skip_reason=f"all {what} are current")
    return dg.SensorResult(
        skip_reason=f"{behind} {what} are behind: {at_work} at work, {waiting} failed and wait their turn"
    )


def _runs(work: Work, wanted: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for run in contiguous(work.names, wanted):
        for start in range(0, len(run), PARTITIONS_IN_A_RUN):
            yield run[start : start + PARTITIONS_IN_A_RUN]


def _request(work: Work, partitions: Sequence[str], last: Attempt) -> dg.RunRequest:
    # A run key is used up by the run that it asked for, whatever becomes of that: so it says what it comes after.
    key = f"{work.assets[0]}:{partitions[0]}:{partitions[-1]}:attempt {last.failures + 1}:after {last.run_id[:8]}"
    return dg.RunRequest(run_key=key, asset_selection=sorted(work.keys), tags=range_tags(partitions))


def _attempts(instance: dg.DagsterInstance, work: Work) -> dict[str, Attempt]:
    """What came of the last run of this work over each partition."""
    attempts = {name: Attempt() for name in work.names}
    over = dg.RunsFilter(job_name=work.job, statuses=OVER)
    for record in reversed(instance.get_run_records(over, limit=RUNS_LOOKED_AT)):
        if record.dagster_run.asset_selection == work.keys:
            for name in covered(work.names, record.dagster_run.tags):
                attempts[name] = attempts[name].followed_by(record)
    return attempts


def _at_work(instance: dg.DagsterInstance, work: Work) -> Iterator[str]:
    """The partitions that unfinished runs of any kind are over, a backfill's and a build's among them."""
    partitioned = work.keys - {dg.AssetKey(CORPUS_SNAPSHOT)}
    for run in instance.get_runs(dg.RunsFilter(statuses=NOT_OVER)):
        if run.job_name == work.job or partitioned & set(run.asset_selection or ()):
            yield from covered(work.names, run.tags)
