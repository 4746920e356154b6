"""Evaluations in words for people and as JSON for machines; both say the same."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from arborist.clock import iso_time
from arborist.evaluation.bytestrings import tagged, text_bytes
from arborist.evaluation.comparison import BaselineState
from arborist.evaluation.fingerprint import Identity
from arborist.evaluation.gate import Comparison, GatedEvaluation
from arborist.evaluation.protocol import top_k_of
from arborist.evaluation.provenance import FIELDS
from arborist.evaluation.regression import Change
from arborist.evaluation.run import Breakdown, QuestionEvaluation, RunSummary, Tally
from arborist.evaluation.significance import HitTest, PairedTests
from arborist.evaluation.store import Baseline, StoredRun

Json = dict[str, Any]


def evaluation_json(evaluation: GatedEvaluation) -> Json:
    """A gated evaluation; `missingTargets` is null where the retriever cannot tell."""
    missing = [_json_text(target) for target in evaluation.targets.missing]
    return (
        run_json(evaluation.stored)
        | comparison_json(evaluation.comparison)
        | {
            "exitCode": evaluation.exit_code,
            "missingTargets": missing if evaluation.targets.is_known else None,
        }
    )


def run_json(stored: StoredRun) -> Json:
    """A kept run: hits as counts, and what it measured."""
    summary = stored.summary
    metrics = summary.metrics
    return {
        "runId": stored.id,
        "set": summary.set_identifier,
        "retriever": summary.retriever_identifier,
        "runDate": iso_time(summary.run_date),
        "all": _tally_json(summary.all),
        "answerable": _tally_json(summary.answerable),
        "noResult": {"questions": summary.no_result.questions, "hits": summary.no_result.top1_hits},
        "byForm": _breakdown_json(summary.by_form),
        "byHardClass": _breakdown_json(summary.by_hard_class),
        "errors": summary.errors,
        "shortfalls": summary.shortfalls,
        "rankingShortfalls": summary.ranking_shortfalls,
        "nDCG@10": metrics.ndcg if metrics else None,
        "recall@10": metrics.recall if metrics else None,
        "MRR@10": metrics.mrr if metrics else None,
        "provenance": _identity_json(summary.identity),
        "privacy": stored.privacy.value,
        "notes": stored.notes,
    }


def comparison_json(comparison: Comparison) -> Json:
    """A comparison: its state, the baseline's run id, and what the state allows to say."""
    return {
        "state": comparison.state.value,
        "baselineRunId": comparison.baseline.id if comparison.baseline else None,
        "differences": [asdict(difference) for difference in comparison.differences],
        "treatment": [asdict(difference) for difference in comparison.treatment],
        "changes": [_change_json(change) for change in comparison.changes],
        "regressed": bool(comparison.regressions),
        "tests": _tests_json(comparison.tests),
    }


def baseline_json(baseline: Baseline) -> Json:
    """A baseline in force."""
    return run_json(baseline.run) | {"promotedAt": baseline.promoted_at}


def _identity_json(identity: Identity) -> Json:
    declared = identity.provenance.to_json() if identity.provenance else dict.fromkeys(FIELDS)
    return declared | {
        "labelsFingerprint": identity.labels,
        "scoringVersion": identity.scoring_version,
        "benchmarkFingerprint": identity.benchmark,
        "variantFingerprint": identity.variant,
    }


def _tally_json(tally: Tally) -> Json:
    return {"questions": tally.questions, "top1Hits": tally.top1_hits, "top3Hits": tally.top3_hits}


def _breakdown_json(breakdown: Breakdown) -> list[Json]:
    return [{"name": _json_text(name)} | _tally_json(tally) for name, tally in breakdown]


def _json_text(text: str) -> Any:
    return tagged(text_bytes(text))


def _change_json(change: Change) -> Json:
    return {
        "figure": printable(change.figure),
        "baselineHits": change.baseline_hits,
        "currentHits": change.current_hits,
        "questions": change.questions,
        "delta": float(change.delta),
        "tolerance": change.tolerance,
        "regressed": change.is_regression,
    }


def _tests_json(tests: PairedTests | None) -> Json | None:
    if tests is None:
        return None
    return {
        "top1": {"lost": tests.top1.lost, "gained": tests.top1.gained, "p": tests.top1.p_value},
        "top3": {"lost": tests.top3.lost, "gained": tests.top3.gained, "p": tests.top3.p_value},
        "nDCG@10": {"difference": tests.ndcg.difference, "p": tests.ndcg.p_value} if tests.ndcg else None,
    }


def evaluation_lines(evaluation: GatedEvaluation) -> Iterator[str]:
    """The report of an evaluation: questions that missed, figures, breakdowns, provenance, comparison."""
    summary = evaluation.stored.summary
    yield f"Run {evaluation.stored.id}: {summary.set_identifier} by {summary.retriever_identifier}"
    yield from _miss_lines(evaluation.run.evaluations)
    yield ""
    yield from figure_lines(summary)
    if evaluation.targets.missing:
        missing = [printable(target) for target in evaluation.targets.missing]
        yield f"Expected documents that the corpus does not hold: {len(missing)}, the first is {missing[0]}"
    yield ""
    yield from provenance_lines(summary.identity)
    yield from comparison_lines(evaluation.comparison)


def _miss_lines(evaluations: tuple[QuestionEvaluation, ...]) -> Iterator[str]:
    missed = [evaluation for evaluation in evaluations if not evaluation.top3_hit]
    if not missed:
        return
    yield f"Missed {len(missed)} of {len(evaluations)} questions:"
    width = max(len(printable(evaluation.question_id)) for evaluation in missed)
    for evaluation in missed:
        found = ", ".join(map(printable, evaluation.retrieved_document_ids)) or "nothing"
        told = f"ERROR {printable(evaluation.error)}" if evaluation.error else f"found {found}"
        hard_class = printable(evaluation.hard_class or "-")
        yield (
            f"  {printable(evaluation.question_id):<{width}}  {evaluation.form.value:<5}  {hard_class}  "
            f"{evaluation.latency_ms} ms  {told}"
        )


def figure_lines(summary: RunSummary) -> Iterator[str]:
    """A run's rates with their counts, its metrics and its breakdowns."""
    top_k = f"Top-{top_k_of(summary.identity.scoring_version)}"
    yield from _rate_lines("", top_k, summary.all)
    yield from _rate_lines(", answerable", top_k, summary.answerable)
    if summary.no_result.questions:
        yield _rate("No-result hit rate", summary.no_result.top1_hits, summary.no_result.questions)
    if summary.metrics:
        metrics = summary.metrics
        yield f"nDCG@10 {metrics.ndcg:.4f}   recall@10 {metrics.recall:.4f}   MRR@10 {metrics.mrr:.4f}"
    if summary.errors:
        yield f"Errors: {summary.errors} questions got no answer and count as missed"
    if summary.shortfalls:
        yield f"Shortfall: {summary.shortfalls} questions had too few distinct documents (raise --over-fetch)"
    if summary.ranking_shortfalls:
        yield f"Shortfall for @10: {summary.ranking_shortfalls} rankings end before it (raise --over-fetch)"
    yield from _breakdown_lines("By form", top_k, summary.by_form)
    yield from _breakdown_lines("By hard class", top_k, summary.by_hard_class)


def _rate_lines(suffix: str, top_k: str, tally: Tally) -> Iterator[str]:
    if tally.questions:
        yield _rate(f"Top-1 hit rate{suffix}", tally.top1_hits, tally.questions)
        yield _rate(f"{top_k} hit rate{suffix}", tally.top3_hits, tally.questions)


def _rate(name: str, hits: int, questions: int) -> str:
    return f"{name}: {100 * hits / questions:.1f}% ({hits}/{questions})"


def _breakdown_lines(title: str, top_k: str, breakdown: Breakdown) -> Iterator[str]:
    if not breakdown:
        return
    yield title
    for name, tally in breakdown:
        yield (
            f"  {printable(name)}: {tally.questions} questions, top-1 {100 * tally.top1_rate:.1f}%, "
            f"{top_k.lower()} {100 * tally.top3_rate:.1f}%"
        )


def provenance_lines(identity: Identity) -> Iterator[str]:
    """What the retriever declared, if it did, and the fingerprints."""
    yield "Provenance"
    if identity.provenance:
        for name, value in identity.provenance.to_json().items():
            yield f"  {name}: {value or 'unknown'}"
    yield f"  labels: {identity.labels or 'unknown'}"
    yield f"  scoringVersion: {identity.scoring_version or 'unknown'}"
    if identity.benchmark:
        yield f"  benchmark: {identity.benchmark}"
        yield f"  variant: {identity.variant}"


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """The baseline's state and, only where runs are comparable, changes, tests and verdict."""
    yield f"Baseline state: {comparison.state.value}"
    yield from (f"  {difference}" for difference in comparison.differences)
    if comparison.state is BaselineState.BASELINE:
        yield "No baseline is pinned: `arborist baseline promote` makes this run one"
    if comparison.state is not BaselineState.COMPARABLE or comparison.baseline is None:
        return
    if comparison.treatment:
        yield "Treatment changed: " + "; ".join(map(str, comparison.treatment))
    yield f"Against run {comparison.baseline.id} ({comparison.baseline.summary.retriever_identifier})"
    yield from (f"  {printable(str(change))}" for change in comparison.changes)
    yield from _test_lines(comparison.tests)
    yield verdict_line(comparison)


def verdict_line(comparison: Comparison) -> str:
    """The verdict on comparable runs, naming the figures that dropped."""
    dropped = [f"{change}, {100 * (change.tolerance or 0):g} allowed" for change in comparison.regressions]
    if dropped:
        return printable("Retrieval regression detected: " + "; ".join(dropped))
    return "No regression: every figure is within its tolerance"


def warning_line(evaluation: GatedEvaluation) -> str:
    """What keeps an evaluation from passing a strict gate; empty where nothing does."""
    errors = evaluation.stored.summary.errors
    if errors:
        return f"{errors} questions got no answer; this run cannot become a baseline"
    if evaluation.comparison.regressions:
        return verdict_line(evaluation.comparison)
    if evaluation.comparison.state is BaselineState.UNKNOWN:
        return "nothing was compared: the retriever or its baseline declares no known provenance"
    if evaluation.comparison.state is BaselineState.MISMATCH:
        fields = ", ".join(difference.field for difference in evaluation.comparison.differences)
        return f"nothing was compared: the baseline measures something else ({fields} differ)"
    return ""


def _test_lines(tests: PairedTests | None) -> Iterator[str]:
    if tests is None:
        yield "  no paired test: a run kept no outcomes of its questions"
        return
    yield _hit_test_line("top-1", tests.top1)
    yield _hit_test_line("top-k", tests.top3)
    if tests.ndcg:
        yield f"  nDCG@10 {tests.ndcg.difference:+.4f}, permutation test p = {tests.ndcg.p_value:.4f}"


def _hit_test_line(name: str, test: HitTest) -> str:
    return f"  {name}: {test.lost} lost, {test.gained} gained, McNemar p = {test.p_value:.4f}"


def runs_table(runs: list[StoredRun]) -> Iterator[str]:
    """One line a run, newest first."""
    for stored in runs:
        summary = stored.summary
        known = summary.identity.benchmark[3:15] or "unknown"
        ndcg = f"{summary.metrics.ndcg:.4f}" if summary.metrics else "-"
        yield (
            f"{stored.id:>5}  {iso_time(summary.run_date)[:19]}  {summary.set_identifier}  "
            f"{summary.retriever_identifier}  top-1 {summary.all.top1_hits}/{summary.all.questions}  "
            f"top-{top_k_of(summary.identity.scoring_version)} {summary.all.top3_hits}/{summary.all.questions}  "
            f"nDCG@10 {ndcg}  benchmark {known}"
        )


def printable(text: str) -> str:
    """`text` as a terminal can show it: bytes that are not UTF-8 and control characters are escaped."""
    shown = text_bytes(text).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
