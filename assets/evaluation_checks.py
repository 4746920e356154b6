"""Checks of retrieval quality: no worse than pinned, comparable, and measured on questions that can tell."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from assets.evaluation import golden_files
from assets.names import GOLDEN_QUESTIONS, RETRIEVAL_EVALUATION
from assets.tables import open_table
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.evaluation.store import StoredRun


def _latest_runs(workspace: WorkspaceResource) -> list["StoredRun"]:
    """The newest run of each set and retriever."""
    from arborist.evaluation.store import EvaluationStore

    store = EvaluationStore(workspace.workspace.home.evaluations_folder)
    latest: dict[tuple[str, str], StoredRun] = {}
    for run in store.recent(1_000):
        latest.setdefault((run.summary.set_identifier, run.summary.retriever_identifier), run)
    return list(latest.values())


@dg.asset_check(asset=RETRIEVAL_EVALUATION)
def no_regression(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """The newest run of each set and retriever is not worse than its pinned baseline by more than was allowed.

    Where the two are not comparable the check does not pass, at warning level, and names the field.
    """
    from arborist.evaluation.comparison import BaselineState
    from arborist.evaluation.gate import comparison
    from arborist.evaluation.store import EvaluationStore

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
            **open_table("details", ("run", "what"), [*regressed, *incomparable]),
        },
    )


def _regression_text(
    regressed: Sequence[tuple[str, str]], incomparable: Sequence[tuple[str, str]], compared: int
) -> str:
    if regressed:
        told = "; ".join(f"{name}: {what}" for name, what in regressed)
        return f"Retrieval got worse: {told}. See `worst_questions` of the run; pin it only if this is wanted."
    if incomparable:
        told = "; ".join(f"{name}: {why}" for name, why in incomparable)
        return f"Not comparable with the baseline: {told}. Pin a run of today's benchmark with `promote_baseline`."
    if not compared:
        return "No baseline is pinned yet: launch `promote_baseline` with a run's number."
    return f"{compared} runs are no worse than their baselines"


@dg.asset_check(asset=RETRIEVAL_EVALUATION)
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
            **open_table(
                "runs",
                ("set", "retriever"),
                [(run.summary.set_identifier, run.summary.retriever_identifier) for run in undeclared],
            ),
        },
    )


@dg.asset_check(asset=RETRIEVAL_EVALUATION)
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
        metadata={"sets": len(hits), **open_table("blunt", ("set", "why"), blunt)},
    )


@dg.asset_check(asset=GOLDEN_QUESTIONS)
def golden_documents_exist(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """The documents that golden questions expect are in the corpus; a retriever cannot find those that are not."""
    from assets.evaluation_reports import golden_faults

    opened = workspace.workspace
    files = golden_files(opened.config.path)
    faults = golden_faults(list(files.values()), opened.corpus) if opened.corpus.published_shards() else []
    sets = sorted({name for name, _, _ in faults})
    return dg.AssetCheckResult(
        passed=not faults,
        severity=dg.AssetCheckSeverity.WARN,
        description=(
            f"Mend {', '.join(f'golden/{name}.jsonl' for name in sets)}, or add the sources of missing documents "
            "to corpus.toml and run `arborist build`."
            if faults
            else f"{len(files)} sets expect nothing that the corpus does not have"
        ),
        metadata={"faults": len(faults), **open_table("details", ("set", "question", "problem"), faults)},
    )


EVALUATION_CHECKS = [no_regression, benchmark_declared, golden_set_can_tell, golden_documents_exist]
