"""Data versions a partition, also where one run covers a range of them.

Dagster gives every partition of a run the data version of the run's one result. That would make a rebuilt but
unchanged shard look new to whatever hangs on it, so each partition is reported again with a version of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from arborist.hashing import Domain, hash_json


@dataclass(frozen=True)
class PartitionReport:
    """What one partition came to. `inputs` are the data versions of what it was made from, by asset name."""

    partition: str
    data_version: str
    metadata: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)

    def event(self, asset_key: dg.AssetKey, code_version: str | None) -> dg.AssetMaterialization:
        """A materialization of this partition alone, with the versions that Dagster judges staleness by."""
        tags = {"dagster/data_version": self.data_version}
        tags |= {f"dagster/input_data_version/{name}": version for name, version in self.inputs.items()}
        if code_version is not None:
            tags["dagster/code_version"] = code_version
        return dg.AssetMaterialization(
            asset_key, metadata=dict(self.metadata), partition=self.partition, tags=tags
        )


def materialized(
    context: dg.AssetExecutionContext,
    reports: list[PartitionReport],
    metadata: Mapping[str, Any],
    code_version: str | None = None,
) -> Iterator[dg.MaterializeResult]:
    """The asset's result for all its partitions; `metadata` is shown where the run covers more than one."""
    if len(reports) == 1:
        only = reports[0]
        yield dg.MaterializeResult(data_version=dg.DataVersion(only.data_version), metadata=dict(only.metadata))
        return
    together = hash_json(Domain.PARTITIONS, {report.partition: report.data_version for report in reports})
    yield dg.MaterializeResult(data_version=dg.DataVersion(together), metadata=dict(metadata))
    # Dagster's own event for each partition is written when the result is yielded; what follows supersedes it.
    for report in reports:
        context.log_event(report.event(context.asset_key, code_version))
