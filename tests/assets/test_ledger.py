"""The observed ledger and its check: versions follow what is asked, and a changed byte is named."""

import sqlite3
from contextlib import closing

import dagster as dg
import pytest

from arborist.answering.ask import open_asker
from arborist.providence.ledger import Ledger
from arborist.retrieval.retrieve import Query
from tests.dagster_project import DagsterProject


def _ask(project: DagsterProject, question: str) -> str:
    """Ask, and return the cache key of the record."""
    workspace = project.workspace
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        return open_asker(workspace, ledger).ask(Query(question)).record.cache_key


def _observe(project: DagsterProject) -> dg.AssetObservation:
    definitions = project.definitions
    selection = dg.AssetSelection.assets("providence_ledger")
    job = dg.define_asset_job("observe", selection).resolve(
        asset_graph=definitions.resolve_asset_graph(), resource_defs=definitions.resources
    )
    result = job.execute_in_process(
        instance=project.instance, run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    )
    (event,) = result.asset_observations_for_node("providence_ledger")
    return event


def test_the_ledger_is_at_its_head_and_moves_with_every_question(project: DagsterProject) -> None:
    assert _observe(project).data_version == "empty"
    versions = []
    for question in ("In which room is the lamp kept?", "In which room is the oak kept?"):
        _ask(project, question)
        observed = _observe(project)
        with Ledger.open_readonly(project.home.root, project.workspace.clock) as ledger:
            events, head = ledger.head()
        assert observed.data_version == head
        assert observed.metadata["events"].value == events
        versions.append(observed.data_version)
    assert len({*versions, "empty"}) == 3
    assert observed.metadata["records"].value == 2
    assert 0.0 <= float(str(observed.metadata["strict_rate"].value)) <= 1.0
    assert observed.metadata["bytes"].value == project.home.ledger_file.stat().st_size
    assert _observe(project).data_version == versions[-1]


def test_how_much_is_replayed_can_be_said_in_the_launchpad(project: DagsterProject) -> None:
    for question in ("In which room is the lamp kept?", "In which room is the oak kept?"):
        _ask(project, question)
    result = project.definitions.resolve_job_def("verify_ledger").execute_in_process(
        instance=project.instance,
        run_config={
            "ops": {"providence_ledger_records_replay": {"config": {"records": 1}}},
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        },
    )
    evaluations = {item.check_name: item for item in result.get_asset_check_evaluations()}
    assert evaluations["records_replay"].metadata["replayed"].value == 1


def test_a_ledger_nobody_has_asked_verifies(project: DagsterProject) -> None:
    assert project.check("run_dag_verifies", "providence_ledger").passed


def test_a_sound_ledger_verifies_record_by_record(project: DagsterProject) -> None:
    _ask(project, "In which room is the lamp kept?")
    evaluation = project.check("run_dag_verifies", "providence_ledger")
    assert evaluation.passed
    assert evaluation.metadata["records"].value == 1


@pytest.mark.parametrize(
    ("column", "stage"), [("question", "question"), ("answer", "answer"), ("claims", "claim")]
)
def test_one_changed_byte_fails_naming_the_record_and_its_stage(
    project: DagsterProject, column: str, stage: str
) -> None:
    key = _ask(project, "In which room is the lamp kept?")
    _ask(project, "In which room is the oak kept?")
    _change_a_byte(project, column, key)
    evaluation = project.check("run_dag_verifies", "providence_ledger")
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.ERROR
    table = str(evaluation.metadata["fault_table"].value)
    assert key in table and stage in table
    assert "arborist ledger verify" in (evaluation.description or "")


def _change_a_byte(project: DagsterProject, column: str, key: str) -> None:
    """As someone would who knows SQLite: the triggers that keep records as they are go, and come back."""
    with closing(sqlite3.connect(project.home.ledger_file)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        changed = f"UPDATE providence_records SET {column} = replace({column}, 'lamp', 'damp') WHERE cache_key = ?"
        connection.execute(changed, (key,))
        for _, sql in triggers:
            connection.execute(sql)
        connection.commit()
