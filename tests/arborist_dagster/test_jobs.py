"""The launchpad: every job says what it does, every field what it is for, and nothing must be filled in."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import pytest

from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.settings import PROJECT, Settings

# Job: what can be said of each of its steps.
CONFIG: Mapping[str, Mapping[str, set[str]]] = {
    "answer_questions": {
        "answers": {
            "question",
            "keywords",
            "file",
            "cached",
            "model",
            "top_k",
            "over_fetch",
            "max_context_chars",
        }
    },
    "read_sources": {},
    "build_shards": {},
    "promote_answers": {"self_providence": {"kindergarten_seconds"}},
    "verify_ledger": {
        "providence_ledger_records_replay": {"records"},
        "providence_ledger_retrieval_audit": {"records"},
    },
    "verify_everything": {
        "providence_ledger_records_replay": {"records"},
        "providence_ledger_retrieval_audit": {"records"},
    },
    "evaluate_retrieval": {
        "retrieval_evaluation": {
            "retriever",
            "other_retriever",
            "keywords",
            "top_k",
            "over_fetch",
            "privacy",
            "max_top1_drop",
            "max_top3_drop",
            "max_no_result_drop",
            "notes",
        }
    },
    "promote_baseline": {"evaluation_baseline": {"run_id"}},
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dg.JobDefinition]:
    """The project's own jobs."""
    settings = Settings(tmp_path_factory.mktemp("home"), PROJECT / "corpus.toml")
    definitions = build_definitions(settings)
    return {name: definitions.resolve_job_def(name) for name in CONFIG}


def configs(job: dg.JobDefinition) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The fields of each step that takes some."""
    steps = job.run_config_schema.config_type.fields["ops"].config_type.fields
    for name, step in steps.items():
        config = step.config_type.fields.get("config")
        if config is not None and hasattr(config.config_type, "fields"):
            yield name, config.config_type.fields


@pytest.mark.parametrize("name", CONFIG)
def test_a_job_takes_this_and_says_what_it_is_for(jobs: Mapping[str, dg.JobDefinition], name: str) -> None:
    assert jobs[name].description
    found = dict(configs(jobs[name]))
    assert {step: set(fields) for step, fields in found.items()} == CONFIG[name]
    for step, fields in found.items():
        for field, schema in fields.items():
            assert schema.description, f"{step}: {field}"
            assert schema.default_provided or not schema.is_required, f"{step}: {field}"


def test_a_choice_is_offered_as_its_values(jobs: Mapping[str, dg.JobDefinition]) -> None:
    fields = dict(configs(jobs["evaluate_retrieval"]))["retrieval_evaluation"]
    offered = [value.config_value for value in fields["privacy"].config_type.enum_values]
    assert offered == ["none", "metadata", "redacted", "full"]
