"""Golden sets, evaluations and baselines as assets."""

import contextlib
import json
from typing import Any

import dagster as dg
import pytest

from arborist.evaluation.store import EvaluationStore
from tests.dagster_project import DagsterProject

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
QUESTIONS = [
    {"id": "lamp", "question": "Where is the lamp kept?", "expectedDocumentIds": ["docs/lamp.md"]},
    {"id": "oak", "question": "Where is the oak kept?", "expectedDocumentIds": ["trees/oak.md"]},
    {"id": "hard", "question": "Which thing is in the harp room?", "expectedDocumentIds": ["docs/bell.md"]},
    {"id": "none", "question": "zeppelin", "expectedDocumentIds": []},
]


@pytest.fixture
def measured(project: DagsterProject) -> DagsterProject:
    """A built project with a golden set of four questions, one of which the search cannot get right."""
    write_golden(project, QUESTIONS)
    return project


def write_golden(project: DagsterProject, questions: list[dict[str, Any]]) -> None:
    folder = project.root / "golden"
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"form": "match", "hardClass": None, "answerGist": None} | item) for item in questions]
    (folder / "rooms.jsonl").write_text("\n".join(lines) + "\n")


def launch(project: DagsterProject, job: str, **config: Any) -> dg.ExecuteInProcessResult:
    """Run a job as from the launchpad, with the config of its one configurable asset."""
    asset = {"evaluate_retrieval": "retrieval_evaluation", "promote_baseline": "evaluation_baseline"}[job]
    return project.definitions.resolve_job_def(job).execute_in_process(
        instance=project.instance,
        partition_key="rooms",
        raise_on_error=False,
        run_config=QUIET | ({"ops": {asset: {"config": config}}} if config else {}),
    )


def checks(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {item.check_name: item for item in result.get_asset_check_evaluations()}


def metadata(project: DagsterProject) -> dict[str, Any]:
    latest = project.latest("retrieval_evaluation", "rooms")
    assert latest is not None
    return {name: value.value for name, value in latest.metadata.items()}


def test_without_golden_sets_there_is_nothing_to_evaluate(project: DagsterProject) -> None:
    keys = {key.to_user_string() for key in project.definitions.resolve_asset_graph().get_all_asset_keys()}
    assert not keys & {"golden_questions", "retrieval_evaluation", "evaluation_baseline"}


def test_an_evaluation_reports_figures_that_can_be_plotted(measured: DagsterProject) -> None:
    assert launch(measured, "evaluate_retrieval").success
    figures = metadata(measured)
    assert figures["top1_rate"] == 0.75
    assert figures["top1_rate_answerable"] == pytest.approx(2 / 3, abs=1e-4)
    assert figures["no_result_rate"] == 1.0
    assert figures["benchmark_fingerprint"].startswith("v1:")
    assert "| hard | match |" in figures["worst_questions"]
    assert "data:image/png;base64," in figures["rates_over_time"]
    assert figures["seconds"] > 0


def test_the_first_run_is_not_compared_and_says_so(measured: DagsterProject) -> None:
    found = checks(launch(measured, "evaluate_retrieval"))["no_regression"]
    assert found.passed
    assert "No baseline is pinned yet" in (found.description or "")


def test_a_run_worse_than_the_pinned_baseline_fails_and_goes_on_failing(measured: DagsterProject) -> None:
    launch(measured, "evaluate_retrieval")
    assert launch(measured, "promote_baseline", run_id=metadata(measured)["evaluation_run"]).success
    with measured.config.open("a") as file:
        # Ranks by what a chunk does not hold: nothing is found where it is.
        file.write("\n[policy.ranking]\ntext_weight = 0.0\ntitle_weight = 0.0\n")
    for _ in range(2):
        found = checks(launch(measured, "evaluate_retrieval"))["no_regression"]
        assert not found.passed
        assert found.severity is dg.AssetCheckSeverity.ERROR
        assert "top-1" in (found.description or "")


def test_a_retriever_that_declares_nothing_is_told_of(measured: DagsterProject) -> None:
    found = checks(launch(measured, "evaluate_retrieval", other_retriever="tests.retrievers:finds_nothing"))
    assert not found["benchmark_declared"].passed
    assert not found["no_regression"].passed
    assert found["no_regression"].severity is dg.AssetCheckSeverity.WARN


def test_a_changed_corpus_is_not_compared_and_the_field_is_named(measured: DagsterProject) -> None:
    launch(measured, "evaluate_retrieval")
    launch(measured, "promote_baseline", run_id=metadata(measured)["evaluation_run"])
    measured.write("docs/lamp.md", "The lamp was sold.\n")
    measured.build()
    found = checks(launch(measured, "evaluate_retrieval"))["no_regression"]
    assert not found.passed
    assert found.severity is dg.AssetCheckSeverity.WARN
    assert "corpusRevision" in (found.description or "")


def test_changed_labels_are_not_compared_and_the_field_is_named(measured: DagsterProject) -> None:
    launch(measured, "evaluate_retrieval")
    launch(measured, "promote_baseline", run_id=metadata(measured)["evaluation_run"])
    write_golden(measured, QUESTIONS[:3])
    found = checks(launch(measured, "evaluate_retrieval"))["no_regression"]
    assert not found.passed
    assert "labels" in (found.description or "")


def test_a_set_on_which_everything_is_right_cannot_tell(measured: DagsterProject) -> None:
    assert checks(launch(measured, "evaluate_retrieval"))["golden_set_can_tell"].passed
    write_golden(measured, [QUESTIONS[0], QUESTIONS[3]])
    assert not checks(launch(measured, "evaluate_retrieval"))["golden_set_can_tell"].passed


def test_another_chunking_is_another_variant_of_the_same_benchmark(measured: DagsterProject) -> None:
    launch(measured, "evaluate_retrieval")
    plain = metadata(measured)
    assert launch(measured, "evaluate_retrieval", other_retriever="fts5@30").success
    chunked = metadata(measured)
    assert chunked["benchmark_fingerprint"] == plain["benchmark_fingerprint"]
    assert chunked["variant_fingerprint"] != plain["variant_fingerprint"]


def test_a_run_of_another_set_cannot_become_this_set_s_baseline(measured: DagsterProject) -> None:
    assert not launch(measured, "promote_baseline", run_id=99).success


def test_a_broken_golden_set_fails_with_its_line(measured: DagsterProject) -> None:
    with (measured.root / "golden" / "rooms.jsonl").open("a") as file:
        file.write("{\n")
    result = launch(measured, "evaluate_retrieval")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "line 5" in str(failure.step_failure_data.error)


@pytest.mark.parametrize(
    "config", [{"retriever": "fts6"}, {"top_k": 0}, {"privacy": "some"}, {"max_top1_drop": 1.5}, {"unknown": 1}]
)
def test_a_config_that_is_not_allowed_measures_nothing(measured: DagsterProject, config: dict[str, Any]) -> None:
    with contextlib.suppress(dg.DagsterInvalidConfigError):
        assert not launch(measured, "evaluate_retrieval", **config).success
    assert EvaluationStore(measured.home.evaluations_folder).recent(10) == []


def test_questions_that_expect_what_the_corpus_does_not_have_are_a_warning(measured: DagsterProject) -> None:
    assert measured.check("golden_documents_exist", "golden_questions").passed
    lost = {"id": "fir", "question": "Where is the fir kept?", "expectedDocumentIds": ["trees/fir.md"]}
    write_golden(measured, [*QUESTIONS, lost])
    evaluation = measured.check("golden_documents_exist", "golden_questions")
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.WARN
    assert "golden/rooms.jsonl" in (evaluation.description or "")
    assert "trees/fir.md is not in the corpus" in str(evaluation.metadata["details"].value)


def test_a_set_that_cannot_be_read_is_a_warning_with_its_line(measured: DagsterProject) -> None:
    write_golden(measured, [{"id": "lamp", "question": "", "expectedDocumentIds": []}])
    evaluation = measured.check("golden_documents_exist", "golden_questions")
    assert not evaluation.passed and "line 1" in str(evaluation.metadata["details"].value)
