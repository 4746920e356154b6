"""A batch of events is stored as Dagster stores them one by one, in one piece."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import dagster as dg
import pytest
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationPlanned
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent, StepMaterializationData
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.test_utils import create_run_for_test

from arborist.home import Home
from arborist_dagster.instance import open_instance
from arborist_dagster.local_instance import BatchedEventLog, LocalInstance

KEY = dg.AssetKey("rooms")
ROOMS = ("attic", "cellar", "hall")


@contextmanager
def log_in(folder: Path, kind: type[SqliteEventLogStorage]) -> Iterator[tuple[SqliteEventLogStorage, str]]:
    """An event log of this kind with an instance around it, and the run that events are of."""
    folder.mkdir(exist_ok=True)
    with dg.DagsterInstance.local_temp(str(folder)) as instance:
        log = kind(str(folder / "log"))
        log.register_instance(instance)
        yield log, create_run_for_test(instance, run_id="00000000-0000-4000-8000-000000000000").run_id


def entry(run_id: str, room: str, moment: float = 1_700_000_000.0) -> EventLogEntry:
    made = dg.AssetMaterialization(KEY, partition=room, tags={"dagster/data_version": f"of {room}"})
    event = DagsterEvent("ASSET_MATERIALIZATION", "job", event_specific_data=StepMaterializationData(made))
    return EventLogEntry(None, 10, "", run_id, moment, "step", "job", event)


def seen(log: SqliteEventLogStorage, run_id: str) -> Sequence[object]:
    """All that there is to see of the asset: in the index, in the run's own log, by partition, by tag."""
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION
    (record,) = log.get_asset_records([KEY])
    return [
        log.fetch_materializations(KEY, limit=10).records,
        [item.event_log_entry for item in log.get_records_for_run(run_id).records],
        log.get_latest_storage_id_by_partition(KEY, kind),
        log.get_latest_tags_by_partition(KEY, kind, ["dagster/data_version"]),
        record.asset_entry.last_materialization_record,
    ]


def test_the_projects_instance_is_of_this_kind(tmp_path: Path) -> None:
    with open_instance(Home(tmp_path)) as instance:
        assert isinstance(instance, LocalInstance)
        assert isinstance(instance.event_log_storage, BatchedEventLog)


def test_a_batch_is_stored_as_the_same_events_one_by_one(tmp_path: Path) -> None:
    with log_in(tmp_path / "single", SqliteEventLogStorage) as (single, run_id):
        for room in ROOMS:
            single.store_event(entry(run_id, room))
        expected = seen(single, run_id)
    with log_in(tmp_path / "batch", BatchedEventLog) as (batched, run_id):
        batched.store_event_batch([entry(run_id, room) for room in ROOMS])
        assert seen(batched, run_id) == expected


def test_what_a_run_plans_is_stored_whatever_is_among_it(tmp_path: Path) -> None:
    planned = DagsterEvent.build_asset_materialization_planned_event(
        "job", "step", AssetMaterializationPlannedData(KEY, partition="attic")
    )
    check = DagsterEvent(
        "ASSET_CHECK_EVALUATION_PLANNED",
        "job",
        event_specific_data=AssetCheckEvaluationPlanned(asset_key=KEY, check_name="sound"),
    )
    with log_in(tmp_path, BatchedEventLog) as (log, run_id):
        entries = [
            EventLogEntry(None, 10, "", run_id, 1_700_000_000.0, "step", "job", it) for it in (check, planned)
        ]
        log.store_event_batch([*entries, entry(run_id, "hall")])
        kinds = {item.event_log_entry.dagster_event_type for item in log.get_records_for_run(run_id).records}
        assert {str(kind and kind.value) for kind in kinds} == {
            "ASSET_MATERIALIZATION_PLANNED",
            "ASSET_CHECK_EVALUATION_PLANNED",
            "ASSET_MATERIALIZATION",
        }
        (execution,) = log.get_asset_check_execution_history(dg.AssetCheckKey(KEY, "sound"), limit=5)
        assert execution.run_id == run_id
        assert log.get_materialized_partitions(KEY) == {"hall"}


def test_a_batch_that_cannot_be_stored_leaves_nothing_and_the_log_usable(tmp_path: Path) -> None:
    with log_in(tmp_path, BatchedEventLog) as (log, run_id):
        unfit = entry(run_id, "cellar", moment=float("nan"))
        with pytest.raises(ValueError, match="NaN"):
            log.store_event_batch([entry(run_id, "attic"), unfit])
        assert log.fetch_materializations(KEY, limit=10).records == []
        assert log.get_records_for_run(run_id).records == []
        log.store_event_batch([entry(run_id, "attic"), entry(run_id, "hall")])
        assert len(log.fetch_materializations(KEY, limit=10).records) == 2


def test_threads_that_store_at_once_wait_for_one_another(tmp_path: Path) -> None:
    with log_in(tmp_path, BatchedEventLog) as (log, run_id):
        batches = [[entry(run_id, f"{number}-{room}") for room in ROOMS] for number in range(8)]
        threads = [Thread(target=log.store_event_batch, args=[batch]) for batch in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = log.get_latest_storage_id_by_partition(KEY, dg.DagsterEventType.ASSET_MATERIALIZATION)
        assert len(found) == 8 * len(ROOMS)
