"""What an asset reports of each of its partitions, also where one run covers a range of them.

Dagster gives every partition of a run the data version of the run's one result, and takes its inputs' versions
from the run as a whole. That would make a rebuilt but unchanged shard look new to whatever hangs on it, so each
partition is reported with versions of its own, in the place of what Dagster would report.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import dagster as dg
from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION as REPORTED_ALREADY
from dagster._core.events import DagsterEvent, DagsterEventBatchMetadata, generate_event_batch_id

from arborist.hashing import Domain, hash_json

DATA_VERSION = "dagster/data_version"
CODE_VERSION = "dagster/code_version"
INPUT_DATA_VERSION = "dagster/input_data_version"
INPUT_EVENT_POINTER = "dagster/input_event_pointer"
NO_EVENT = "NULL"


@dataclass(frozen=True)
class AssetReport:
    """What an asset, or one partition of it, is at.

    `data_version` is a root of its content; `inputs` are the data versions of what it was made from, by asset
    name.
    """

    asset: str
    partition: str | None
    data_version: str
    metadata: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    code_version: str | None = None

    def with_metadata(self, more: Mapping[str, Any]) -> "AssetReport":
        """The same with more to show."""
        return replace(self, metadata={**self.metadata, **more})

    @property
    def versions(self) -> dict[str, str]:
        """The tags that say which content this is, made from what by which code."""
        tags = {DATA_VERSION: self.data_version, "dagster/data_version_is_user_provided": "true"}
        tags |= {f"{INPUT_DATA_VERSION}/{name}": version for name, version in self.inputs.items()}
        return tags | ({CODE_VERSION: self.code_version} if self.code_version else {})

    def result(self, seen: Mapping[str, str]) -> dg.MaterializeResult:
        """For a run that covers this alone. `seen` are the tags of `inputs_seen`."""
        return dg.MaterializeResult(
            data_version=dg.DataVersion(self.data_version),
            metadata=dict(self.metadata),
            tags={**self.versions, **seen},
        )

    def event(self, seen: Mapping[str, str]) -> dg.AssetMaterialization:
        """For a run that covers more, or for no run at all. `seen` are the tags of `inputs_seen`."""
        return dg.AssetMaterialization(
            dg.AssetKey(self.asset),
            metadata=dict(self.metadata),
            partition=self.partition,
            tags={**self.versions, **seen},
        )


def inputs_seen(instance: dg.DagsterInstance, inputs: Iterable[str]) -> dict[str, str]:
    """Tags that say how far the event log of each input has come.

    Dagster judges a partition stale by what was logged for its inputs after that, so take them before the work
    begins. Without them it holds the partition for stale at once.
    """
    tags = {}
    for name in inputs:
        records = instance.fetch_materializations(dg.AssetKey(name), limit=1).records
        tags[f"{INPUT_EVENT_POINTER}/{name}"] = str(records[0].storage_id) if records else NO_EVENT
    return tags


def together(reports: Iterable[AssetReport]) -> str:
    """One data version for several partitions."""
    return hash_json(Domain.PARTITIONS, {report.partition: report.data_version for report in reports})


def materialized(
    context: dg.AssetExecutionContext,
    reports: list[AssetReport],
    totals: Mapping[str, Any],
    seen: Mapping[str, str],
) -> Iterator[dg.MaterializeResult]:
    """The asset's result for all its partitions; `totals` is its metadata where the run covers more than one."""
    if len(reports) == 1:
        yield reports[0].result(seen)
        return
    log_events(context, [report.event(seen) for report in reports])
    # With this key Dagster leaves it at that, and goes on with checks and with what hangs on the asset.
    metadata = {**totals, REPORTED_ALREADY: True}
    yield dg.MaterializeResult(data_version=dg.DataVersion(together(reports)), metadata=metadata)


def log_events(context: dg.AssetExecutionContext, events: Sequence[dg.AssetMaterialization]) -> None:
    """Log the events of many partitions as Dagster logs its own of a range, in one batch.

    `context.log_event` would store one after the other, each with its own transactions.
    """
    step = context.get_step_execution_context()
    batch = generate_event_batch_id()  # type: ignore[no-untyped-call]
    for place, event in enumerate(events, start=1):
        DagsterEvent.asset_materialization(step, event, DagsterEventBatchMetadata(batch, place == len(events)))
