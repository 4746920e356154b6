"""What the evaluation assets are at: golden sets as they are read, runs as they come out, baselines in force."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg

from arborist.corpus.store import Corpus
from arborist.errors import InputError
from arborist.evaluation.adapters import retriever_named
from arborist.evaluation.fingerprint import labels_fingerprint
from arborist.evaluation.gate import GatedEvaluation, evaluate_against_baseline
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
from arborist.workspace import Workspace
from assets.evaluation_config import BaselineConfig, EvaluationConfig
from assets.names import GOLDEN_QUESTIONS, RETRIEVAL_EVALUATION
from assets.plots import line_plot
from assets.tables import markdown_table, rounded
from assets.versions import AssetReport

WORST_QUESTIONS = 10
PLOTTED_RUNS = 50
SHOWN_DIGITS = 4


def golden_report(file: Path) -> AssetReport:
    """One golden set; its version is the fingerprint of its labels."""
    graded = read_golden(file)
    labels = labels_fingerprint(graded.golden.questions)
    return AssetReport(GOLDEN_QUESTIONS, file.stem, labels, _golden_metadata(graded))


def evaluation_report(file: Path, config: EvaluationConfig, workspace: Workspace) -> AssetReport:
    """A retriever measured on one golden set and held against its baseline; the run is stored."""
    graded, started = read_golden(file), workspace.clock.now()
    store = EvaluationStore(workspace.home.evaluations_folder)
    with closing(_Closable(_retriever(config, workspace))) as retriever:
        evaluation = evaluate_against_baseline(
            graded,
            retriever.retriever,
            store,
            workspace.clock,
            protocol=ScoringProtocol(config.top_k, config.over_fetch),
            tolerances=Tolerances(config.max_top1_drop, config.max_top3_drop, config.max_no_result_drop),
            policy=StandardPolicy(PrivacyLevel(config.privacy)),
            notes=config.notes,
        )
    return AssetReport(
        RETRIEVAL_EVALUATION,
        file.stem,
        _evaluation_version(evaluation.stored.summary),
        _evaluation_metadata(evaluation, store.recent(PLOTTED_RUNS, graded.golden.identifier)),
        inputs={GOLDEN_QUESTIONS: labels_fingerprint(graded.golden.questions)},
    ).with_metadata({"seconds": rounded(workspace.clock.now() - started)})


def baseline_result(file: Path, config: BaselineConfig, workspace: Workspace) -> dg.MaterializeResult:
    """The baselines of one golden set, after pinning the run that `config` names, if it names one.

    Raises InputError where that run is of another set.
    """
    store = EvaluationStore(workspace.home.evaluations_folder)
    identifier = read_golden(file).golden.identifier
    if config.run_id is not None:
        _refuse_other_set(store.run(config.run_id).summary, identifier, config.run_id)
        store.promote(config.run_id, workspace.clock)
    in_force = store.baselines(identifier)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(_evaluation_version(in_force[0].run.summary) if in_force else "none"),
        metadata=_baseline_metadata(in_force),
    )


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


def golden_faults(files: Sequence[Path], corpus: Corpus) -> list[tuple[str, str, str]]:
    """What is wrong with golden sets as they stand: set, question, and what a retriever could never find for it.

    A set that cannot be read has one fault, without a question.
    """
    with corpus.opened() as shards:
        known = {uri for shard in shards for (uri,) in shard.rows("SELECT uri FROM documents")}
    faults: list[tuple[str, str, str]] = []
    for file in files:
        try:
            questions = read_golden(file).golden.questions
        except InputError as error:
            faults.append((file.stem, "", str(error)))
            continue
        for question in questions:
            unknown = [document for document in question.expected_document_ids if document not in known]
            faults += [(file.stem, question.id, f"{document} is not in the corpus") for document in unknown]
    return faults


class _Closable:
    """A retriever that is closed where it can be."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def close(self) -> None:
        getattr(self.retriever, "close", lambda: None)()


def _retriever(config: EvaluationConfig, workspace: Workspace) -> Retriever:
    context = RetrieverContext(workspace.home.root, tuple(config.keywords), workspace.config.path)
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
    rates = {
        "top1_rate": summary.all.top1_rate,
        "top3_rate": summary.all.top3_rate,
        "top1_rate_answerable": answerable.top1_rate,
        "top3_rate_answerable": answerable.top3_rate,
        "no_result_rate": summary.no_result.top1_rate,
    }
    if summary.metrics is not None:
        rates |= {
            "ndcg_at_10": summary.metrics.ndcg,
            "recall_at_10": summary.metrics.recall,
            "mrr_at_10": summary.metrics.mrr,
        }
    counts = {
        "questions": summary.all.questions,
        "errors": summary.errors,
        "shortfalls": summary.shortfalls,
        "evaluation_run": evaluation.stored.id,
    }
    groups = [("form", *item) for item in summary.by_form] + [
        ("hard class", *item) for item in summary.by_hard_class
    ]
    return {
        "verdict": verdict_line(held) if held.changes else "not compared with a baseline",
        "baseline_state": held.state.value,
        "retriever": summary.retriever_identifier,
        **{name: round(rate, SHOWN_DIGITS) for name, rate in rates.items()},
        **counts,
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
