"""What happens when a bundle is put among the audits, or changes there: it becomes a partition and is audited.

Hosted evidence is good for an hour only, so the sensor is on from the start.
"""

import json

import dagster as dg

from assets.names import RETAINED_RETRIEVAL_AUDIT
from assets.retrieval_audit import AUDIT_BUNDLES, is_partition_key
from resources.workspace import WorkspaceResource


@dg.sensor(
    target=dg.AssetSelection.assets(RETAINED_RETRIEVAL_AUDIT),
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Audits every bundle in audits/ that is new, or no longer what was last audited.",
)
def audit_bundles_changed(context: dg.SensorEvaluationContext, workspace: WorkspaceResource) -> dg.SensorResult:
    """Asks for an audit of every bundle that is new or holds something else than when it was last asked for.

    A bundle whose name Dagster cannot have as a partition is left out, and named in the log.
    """
    # Every process that loads the definitions loads this; only the daemon's ticks need the engine.
    from arborist.retrieval_audit.bundle_folders import bundle_digest, bundle_inputs

    bundles = bundle_inputs(workspace.workspace.home.audits_folder)
    named = [name for name in bundles if is_partition_key(name)]
    skipped = [name for name in bundles if name not in named]
    if skipped:
        context.log.warning(f"no partition can have these names, rename the folders: {skipped!a}")
    digests = {name: bundle_digest(bundles[name].parent) for name in named}
    asked: dict[str, str] = json.loads(context.cursor or "{}")
    changed = [name for name in named if asked.get(name) != digests[name]]
    told = f"; {len(skipped)} with names that no partition can have: {skipped!a}" if skipped else ""
    if not changed:
        return dg.SensorResult(skip_reason=f"{len(named)} bundles, none new or changed{told}")
    return dg.SensorResult(
        # No run keys: a bundle may come back to what it held before, and is then to be audited again.
        run_requests=[dg.RunRequest(partition_key=name) for name in changed],
        dynamic_partitions_requests=[AUDIT_BUNDLES.build_add_request(changed)],
        cursor=json.dumps(digests),
    )


AUDIT_SENSORS = [audit_bundles_changed]
