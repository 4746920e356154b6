"""The question sweep as an asset."""

import json

import dagster as dg

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
