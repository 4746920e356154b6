"""Retrieval quality: golden questions, measured runs, and the baselines they are held against."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import dagster as dg
from pydantic import Field

from arborist.errors import InputError
from arborist.evaluation.adapters import retriever_named
from arborist.evaluation.comparison import BaselineState
from arborist.evaluation.fingerprint import labels_fingerprint
from arborist.evaluation.gate import GatedEvaluation, comparison, evaluate_against_baseline
from arborist.evaluation.golden import Form, GradedSet
from arborist.evaluation.golden_file import read_golden
from arborist.evaluation.privacy import PrivacyLevel, StandardPolicy
from arborist.evaluation.protocol import ScoringProtocol
from arborist.evaluation.registry import named_retrievers
from arborist.evaluation.regression import Tolerances
from arborist.evaluation.report import verdict_line
from arborist.evaluation.retriever import Retriever, RetrieverContext
from arborist.evaluation.run import QuestionEvaluation, RunSummary
from arborist.evaluation.store import Baseline, EvaluationStore, StoredRun
from arborist.hashing import Domain, hash_json
from assets.plots import line_plot
from assets.tables import markdown_table
from assets.versions import AssetReport, inputs_seen, materialized
from resources.workspace import WorkspaceResource

GROUP = "evaluation"
WORST_QUESTIONS = 10
PLOTTED_RUNS = 50


def golden_files(config: Path) -> dict[str, Path]:
    """The golden sets beside `corpus.toml`: `golden/NAME.jsonl` by NAME."""
    return {path.stem: path for path in sorted((config.parent / "golden").glob("*.jsonl"))}


class EvaluationConfig(dg.Config):  # type: ignore[misc]
    """How a golden set is measured; the set itself is the partition."""

    retriever: Literal["fts5", "fts5+keywords", "fts5+promoted"] = Field(
        default="fts5",
        description="What is measured: the search as it is, with `keywords`, or with promoted answers in it.",
    )
    other_retriever: str | None = Field(
        default=None,
        description=(
            "Instead of `retriever`: `fts5@600` (chunks of at most 600 characters), a function as "
            "`module:function`, or an http(s) URL."
        ),
    )
    keywords: list[str] = Field(
        default=[], description="Search hints for `fts5+keywords`; the same for all questions."
    )
    top_k: int = Field(
        default=3,
        ge=1,
        description="Distinct documents that count as found. Another number than 3 is another benchmark.",
    )
    over_fetch: int = Field(
        default=4,
        ge=1,
        description="Raw results asked for, per document counted. Another number is another benchmark.",
    )
    privacy: Literal["none", "metadata", "redacted", "full"] = Field(
        default="metadata", description="What of questions and found documents is kept with the run."
    )
    max_top1_drop: float = Field(default=0.1, ge=0, le=1, description="How far top-1 may fall below the baseline.")
    max_top3_drop: float = Field(default=0.1, ge=0, le=1, description="How far top-3 may fall below the baseline.")
    max_no_result_drop: float = Field(
        default=0.1, ge=0, le=1, description="How far the share of no-result questions answered so may fall."
    )
    notes: str = Field(default="", description="Kept with the run.")


class BaselineConfig(dg.Config):  # type: ignore[misc]
    """Which run becomes the baseline of its set, retriever and benchmark."""

    run_id: int | None = Field(
        default=None,
        description=(
            "The number of a run, as `evaluation_run` on its materialization says. Without one the baselines stay "
            "as they are."
        ),
    )


def evaluation_assets(config: Path) -> list[dg.AssetsDefinition]:
    """The three assets over the golden sets beside `config`; none where there is no golden set."""
    names = list(golden_files(config))
    if not names:
        return []
    sets = dg.StaticPartitionsDefinition(names)
    return [_golden_questions(sets), _retrieval_evaluation(sets), _evaluation_baseline(sets)]


def _golden_questions(sets: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=sets,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        kinds={"json"},
    )
    def golden_questions(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> Any:
        """Questions with the documents that answer them, from `golden/NAME.jsonl`; checked in full."""
        reports = [
            AssetReport(
                "golden_questions", name, labels_fingerprint(graded.golden.questions), _golden_metadata(graded)
            )
            for name, graded in _read_sets(context.partition_keys, workspace).items()
        ]
        yield from materialized(context, reports, {"sets": len(reports)}, {})

    return golden_questions


def _read_sets(names: Sequence[str], workspace: WorkspaceResource) -> dict[str, GradedSet]:
    files = golden_files(workspace.workspace.config.path)
    return {name: read_golden(files[name]) for name in names}


def _golden_metadata(graded: GradedSet) -> dict[str, Any]:
    questions = graded.golden.questions
    classes = sorted({question.hard_class for question in questions if question.hard_class})
    return {
        "dagster/row_count": len(questions),
        "questions": len(questions),
        "no_result_questions": sum(question.expects_no_result for question in questions),
        "labels": labels_fingerprint(questions),
        "forms": markdown_table(
            ("form", "questions"), [(form.value, sum(q.form is form for q in questions)) for form in Form]
        ),
        "hard_classes": markdown_table(
            ("hard class", "questions"), [(name, sum(q.hard_class == name for q in questions)) for name in classes]
        ),
    }


def _retrieval_evaluation(sets: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=sets,
        deps=["golden_questions", dg.AssetDep("fts_index", partition_mapping=dg.AllPartitionMapping())],
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        kinds={"python", "sqlite"},
    )
    def retrieval_evaluation(
        context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
    ) -> Any:
        """A retriever measured on a golden set, held against its pinned baseline where that means something."""
        opened = workspace.workspace
        store = EvaluationStore(opened.home.evaluations_folder)
        seen = inputs_seen(context.instance, ["golden_questions", "fts_index"])
        reports = []
        for name, graded in _read_sets(context.partition_keys, workspace).items():
            with closing(_Closable(_retriever(config, workspace))) as retriever:
                evaluation = evaluate_against_baseline(
                    graded,
                    retriever.retriever,
                    store,
                    opened.clock,
                    protocol=ScoringProtocol(config.top_k, config.over_fetch),
                    tolerances=Tolerances(config.max_top1_drop, config.max_top3_drop, config.max_no_result_drop),
                    policy=StandardPolicy(PrivacyLevel(config.privacy)),
                    notes=config.notes,
                )
            series = store.recent(PLOTTED_RUNS, graded.golden.identifier)
            inputs = {"golden_questions": labels_fingerprint(graded.golden.questions)}
            version = _evaluation_version(evaluation.stored.summary)
            metadata = _evaluation_metadata(evaluation, series)
            reports.append(AssetReport("retrieval_evaluation", name, version, metadata, inputs))
        yield from materialized(context, reports, {"sets": len(reports)}, seen)

    return retrieval_evaluation


class _Closable:
    """A retriever that is closed where it can be."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def close(self) -> None:
        getattr(self.retriever, "close", lambda: None)()


def _retriever(config: EvaluationConfig, workspace: WorkspaceResource) -> Retriever:
    opened = workspace.workspace
    context = RetrieverContext(opened.home.root, tuple(config.keywords), opened.config.path)
    return retriever_named(config.other_retriever or config.retriever, named_retrievers(), context)


def _evaluation_version(summary: RunSummary) -> str:
    """Identity of what was measured and what came out, not of when."""
    return hash_json(
        Domain.EVALUATION,
        {
            "benchmark": summary.identity.benchmark,
            "variant": summary.identity.variant,
            "hits": [summary.all.top1_hits, summary.all.top3_hits, summary.no_result.top1_hits],
        },
    )


def _evaluation_metadata(evaluation: GatedEvaluation, series: Sequence[StoredRun]) -> dict[str, Any]:
    summary, held = evaluation.stored.summary, evaluation.comparison
    answerable = summary.answerable
    figures: dict[str, Any] = {
        "top1_rate": summary.all.top1_rate,
        "top3_rate": summary.all.top3_rate,
        "top1_rate_answerable": answerable.top1_rate,
        "top3_rate_answerable": answerable.top3_rate,
        "no_result_rate": summary.no_result.top1_rate,
        "questions": summary.all.questions,
        "errors": summary.errors,
        "shortfalls": summary.shortfalls,
        "evaluation_run": evaluation.stored.id,
    }
    if summary.metrics is not None:
        figures |= {
            "ndcg_at_10": summary.metrics.ndcg,
            "recall_at_10": summary.metrics.recall,
            "mrr_at_10": summary.metrics.mrr,
        }
    groups = [("form", *item) for item in summary.by_form] + [
        ("hard class", *item) for item in summary.by_hard_class
    ]
    return figures | {
        "retriever": summary.retriever_identifier,
        "baseline_state": held.state.value,
        "verdict": verdict_line(held) if held.changes else "not compared with a baseline",
        "benchmark_fingerprint": summary.identity.benchmark,
        "variant_fingerprint": summary.identity.variant,
        "by_form_and_class": markdown_table(
            ("kind", "name", "questions", "top-1", "top-3"),
            [(k, n, t.questions, f"{t.top1_rate:.3f}", f"{t.top3_rate:.3f}") for k, n, t in groups],
        ),
        "worst_questions": markdown_table(
            ("question", "form", "hard class", "found instead"),
            [
                (item.question_id, item.form.value, item.hard_class or "", ", ".join(item.retrieved_document_ids))
                for item in _worst(evaluation.run.evaluations)
            ],
        ),
        "rates_over_time": _series_plot(series, summary.retriever_identifier),
    }


def _worst(evaluations: Sequence[QuestionEvaluation]) -> list[QuestionEvaluation]:
    """The questions that missed, those that missed altogether first."""
    missed = [item for item in evaluations if not item.top1_hit]
    return sorted(missed, key=lambda item: (item.top3_hit, item.question_id))[:WORST_QUESTIONS]


def _series_plot(series: Sequence[StoredRun], retriever: str) -> dg.MarkdownMetadataValue:
    runs = [run.summary for run in reversed(series) if run.summary.retriever_identifier == retriever]
    return line_plot(
        "run",
        {
            "top-1": [summary.all.top1_rate for summary in runs],
            "top-3": [summary.all.top3_rate for summary in runs],
        },
    )


def _evaluation_baseline(sets: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(partitions_def=sets, deps=["retrieval_evaluation"], group_name=GROUP, kinds={"sqlite"})
    def evaluation_baseline(
        context: dg.AssetExecutionContext, config: BaselineConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:
        """The runs that others are held against. Materializing this pins the run that is named, if one is."""
        opened = workspace.workspace
        store = EvaluationStore(opened.home.evaluations_folder)
        identifier = _read_sets([context.partition_key], workspace)[context.partition_key].golden.identifier
        if config.run_id is not None:
            _refuse_other_set(store.run(config.run_id).summary, identifier, config.run_id)
            store.promote(config.run_id, opened.clock)
        in_force = store.baselines(identifier)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(_evaluation_version(in_force[0].run.summary) if in_force else "none"),
            metadata=_baseline_metadata(in_force),
        )

    return evaluation_baseline


def _refuse_other_set(summary: RunSummary, identifier: str, run_id: int) -> None:
    if summary.set_identifier != identifier:
        raise InputError(
            f"run {run_id} measured {summary.set_identifier}, not {identifier}: choose the partition of its set"
        )


def _baseline_metadata(in_force: Sequence[Baseline]) -> dict[str, Any]:
    """The newest baseline's figures, and a table of all in force."""
    rows = [
        (
            item.run.id,
            item.run.summary.retriever_identifier,
            f"{item.run.summary.all.top1_rate:.3f}",
            f"{item.run.summary.all.top3_rate:.3f}",
            item.promoted_at,
        )
        for item in in_force
    ]
    table = {
        "baselines": len(rows),
        "in_force": markdown_table(("run", "retriever", "top-1", "top-3", "since"), rows),
    }
    if not in_force:
        return table
    newest, summary = in_force[0], in_force[0].run.summary
    return table | {
        "evaluation_run": newest.run.id,
        "retriever": summary.retriever_identifier,
        "top1_rate": summary.all.top1_rate,
        "top3_rate": summary.all.top3_rate,
        "promoted_at": newest.promoted_at,
        "benchmark_fingerprint": summary.identity.benchmark,
    }


def evaluation_checks(config: Path) -> list[dg.AssetChecksDefinition]:
    """The checks of `retrieval_evaluation`; none where there is no golden set."""
    return [no_regression, benchmark_declared, golden_set_can_tell] if golden_files(config) else []


def _latest_runs(workspace: WorkspaceResource) -> list[StoredRun]:
    """The newest run of each set and retriever."""
    store = EvaluationStore(workspace.workspace.home.evaluations_folder)
    latest: dict[tuple[str, str], StoredRun] = {}
    for run in store.recent(1_000):
        latest.setdefault((run.summary.set_identifier, run.summary.retriever_identifier), run)
    return list(latest.values())


@dg.asset_check(asset="retrieval_evaluation")
def no_regression(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """The newest run of each set and retriever is not worse than its pinned baseline by more than was allowed.

    Where the two are not comparable the check does not pass, at warning level, and names the field.
    """
    store = EvaluationStore(workspace.workspace.home.evaluations_folder)
    regressed, incomparable, compared = [], [], 0
    for run in _latest_runs(workspace):
        held = comparison(store.baseline_for(run.summary), run, run.tolerances)
        name = f"{run.summary.set_identifier} by {run.summary.retriever_identifier}"
        compared += held.state is BaselineState.COMPARABLE
        regressed += [(name, str(change)) for change in held.regressions]
        if held.state in (BaselineState.MISMATCH, BaselineState.UNKNOWN):
            why = "; ".join(map(str, held.differences)) or "the retriever declares no provenance"
            incomparable.append((name, why))
    severity = dg.AssetCheckSeverity.ERROR if regressed else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(
        passed=not regressed and not incomparable,
        severity=severity,
        description=_regression_text(regressed, incomparable, compared),
        metadata={
            "compared": compared,
            "regressions": len(regressed),
            "not_comparable": len(incomparable),
            "details": markdown_table(("run", "what"), [*regressed, *incomparable]),
        },
    )


def _regression_text(
    regressed: Sequence[tuple[str, str]], incomparable: Sequence[tuple[str, str]], compared: int
) -> str:
    if regressed:
        return "Retrieval got worse: " + "; ".join(f"{name}: {what}" for name, what in regressed)
    if incomparable:
        return "Not comparable with the baseline: " + "; ".join(f"{name}: {why}" for name, why in incomparable)
    if not compared:
        return "No baseline is pinned yet: launch `promote_baseline` with a run's number."
    return f"{compared} runs are no worse than their baselines"


@dg.asset_check(asset="retrieval_evaluation")
def benchmark_declared(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Every newest run says what it measured; without that it can never be compared with anything."""
    undeclared = [run for run in _latest_runs(workspace) if not run.summary.identity.benchmark]
    return dg.AssetCheckResult(
        passed=not undeclared,
        severity=dg.AssetCheckSeverity.WARN,
        description=(
            "These retrievers declare no provenance: give them `retrieval_provenance`."
            if undeclared
            else "every run has a benchmark"
        ),
        metadata={
            "undeclared": len(undeclared),
            "runs": markdown_table(
                ("set", "retriever"),
                [(run.summary.set_identifier, run.summary.retriever_identifier) for run in undeclared],
            ),
        },
    )


@dg.asset_check(asset="retrieval_evaluation")
def golden_set_can_tell(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """A set can tell variants apart: not all of them score the same, and not everything is right."""
    hits: dict[str, list[tuple[int, int]]] = {}
    blunt = []
    for run in _latest_runs(workspace):
        summary = run.summary
        hits.setdefault(summary.set_identifier, []).append((summary.all.top1_hits, summary.all.top3_hits))
        if summary.all.questions and summary.all.top1_hits == summary.all.questions:
            blunt.append((summary.set_identifier, f"{summary.retriever_identifier} gets everything right"))
    for name, scores in hits.items():
        if len(scores) > 1 and len(set(scores)) == 1:
            blunt.append((name, f"all {len(scores)} retrievers score the same"))
    return dg.AssetCheckResult(
        passed=not blunt,
        severity=dg.AssetCheckSeverity.WARN,
        description=(
            "These sets cannot show a difference: add harder questions."
            if blunt
            else "no set is known to be too easy"
        ),
        metadata={"sets": len(hits), "blunt": markdown_table(("set", "why"), blunt)},
    )
