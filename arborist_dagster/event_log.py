"""What Dagster's event log holds of the corpus, brought to what stands on disk."""

from collections.abc import Iterable, Mapping
from itertools import groupby

import dagster as dg

from assets.versions import AssetReport, inputs_seen

Versions = Mapping[str, str]


def catch_up(instance: dg.DagsterInstance, reports: Iterable[AssetReport]) -> int:
    """Record what is on disk and was never recorded as it is; return how many records that took.

    There is such a thing where a run was killed between its work and its record, where the instance was deleted,
    and where a source was read again: shards whose documents did not change are not built anew, yet Dagster must
    learn that they stand on the source as it is now. `reports` come asset by asset, inputs first.
    """
    written = 0
    for asset, of_asset in groupby(reports, lambda report: report.asset):
        recorded = recorded_versions(instance, asset)
        for report in of_asset:
            if not is_recorded(report, recorded):
                instance.report_runless_asset_event(report.event(inputs_seen(instance, report.inputs)))
                written += 1
    return written


def is_recorded(report: AssetReport, recorded: Mapping[str | None, Versions]) -> bool:
    """Whether the last materialization was of this content, made from the same inputs by the same code."""
    return report.versions.items() <= recorded.get(report.partition, {}).items()


def recorded_versions(instance: dg.DagsterInstance, asset: str) -> dict[str | None, Versions]:
    """The tags of the last materialization of each partition; under None that of an asset without any."""
    key, kind = dg.AssetKey(asset), dg.DagsterEventType.ASSET_MATERIALIZATION
    ids = list(instance.get_latest_storage_id_by_partition(key, kind).values())
    if ids:
        wanted = dg.AssetRecordsFilter(key, storage_ids=ids)
        records = instance.fetch_materializations(wanted, limit=len(ids)).records
    else:
        records = instance.fetch_materializations(key, limit=1).records
    events = [record.asset_materialization for record in records]
    return {event.partition: event.tags or {} for event in events if event is not None}
