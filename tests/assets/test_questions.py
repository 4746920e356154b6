"""Questions from the launchpad, and the question sweep as an asset."""

import json
from typing import Any

import dagster as dg
import pytest

from arborist.providence.ledger import Ledger
from tests.dagster_project import DagsterProject


def test_a_sweep_reports_its_lift_and_leaves_its_records(project: DagsterProject) -> None:
    line = {"question": "Where is the lamp kept?", "retrieval_keywords": ["mirror"]}
    (project.root / "sweep.jsonl").write_text(json.dumps(line) + "\n")
    result = project.definitions.resolve_implicit_global_asset_job_def()
    run = result.execute_in_process(
        instance=project.instance,
        asset_selection=[dg.AssetKey("question_sweep")],
        run_config={
            "ops": {"question_sweep": {"config": {"questions": "sweep.jsonl"}}},
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        },
    )
    assert run.success
    latest = project.latest("question_sweep")
    assert latest is not None
    assert latest.metadata["questions"].value == 1
    assert isinstance(latest.metadata["lift"].value, float)
    assert (project.home.root / "sweeps" / "sweep.parquet").is_file()
    with Ledger.open_readonly(project.home.root, project.workspace.clock) as ledger:
        assert sum(ledger.counts().values()) == 2


def _answered(project: DagsterProject, **config: Any) -> dg.ExecuteInProcessResult:
    return project.definitions.resolve_job_def("answer_questions").execute_in_process(
        instance=project.instance,
        raise_on_error=False,
        run_config={
            "ops": {"answers": {"config": config}},
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        },
    )


def test_a_question_from_the_launchpad_is_recorded_and_shown_with_its_verdict(project: DagsterProject) -> None:
    result = _answered(project, question="Where is the lamp kept?", keywords=["mirror"], top_k=2)
    assert result.success
    (key,) = result.output_for_node("answers")
    with Ledger.open_readonly(project.home.root, project.workspace.clock) as ledger:
        record = ledger.find(key)
        head = ledger.head()[1]
    assert record.question == "Where is the lamp kept?" and json.loads(record.retrieval_keywords) == ["mirror"]
    (observed,) = result.get_asset_observation_events()
    observation = observed.asset_observation_data.asset_observation
    assert observation.asset_key == dg.AssetKey("providence_ledger")
    assert observation.tags["dagster/data_version"] == head == observation.metadata["head"].value
    table = str(observation.metadata["answer_table"].value)
    assert key in table and record.audit_mode in table


def test_the_questions_of_a_file_are_answered_with_or_without_keywords(project: DagsterProject) -> None:
    lines = [
        {"question": "Where is the lamp kept?"},
        {"question": "Where is the oak?", "retrieval_keywords": ["a"]},
    ]
    (project.root / "asked.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert len(_answered(project, file="asked.jsonl").output_for_node("answers")) == 2
    assert _answered(project, file="asked.jsonl", cached="ask_anew").success


@pytest.mark.parametrize(
    "config",
    [{}, {"question": "Where?", "file": "asked.jsonl"}, {"file": "asked.jsonl", "keywords": ["a"]}],
)
def test_what_cannot_be_asked_is_refused_and_recorded_nowhere(
    project: DagsterProject, config: dict[str, Any]
) -> None:
    result = _answered(project, **config)
    assert not result.success
    assert not project.home.ledger_file.is_file()


def test_without_a_file_a_sweep_asks_nothing(project: DagsterProject) -> None:
    assert project.materialize(["question_sweep"]).success
    latest = project.latest("question_sweep")
    assert latest is not None and latest.metadata["questions"].value == 0
