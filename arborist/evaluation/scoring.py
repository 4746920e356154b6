"""The scoring protocol: distinct documents, top-1, top-3, no result (`retrieval-evaluation.md`, 2.4)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

from arborist.clock import Clock
from arborist.errors import ArboristError
from arborist.evaluation.bytestrings import byte_text, text_bytes
from arborist.evaluation.errors import RetrieverError
from arborist.evaluation.fingerprint import Identity, labels_fingerprint
from arborist.evaluation.golden import GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.metrics import question_metrics
from arborist.evaluation.protocol import STANDARD, ScoringProtocol
from arborist.evaluation.retriever import (
    CorpusWatching,
    Retriever,
    checked_identifier,
    declared_provenance,
    undeclared,
)
from arborist.evaluation.run import EvaluationRun, QuestionEvaluation

OUTAGE = 5
"""Questions in a row without an answer after which a run is given up: there is nothing left to measure."""

Stopwatch = Callable[[], float]
"""Seconds of a clock that never goes back."""


def evaluate_retrieval(
    graded: GradedSet,
    retriever: Retriever,
    clock: Clock,
    protocol: ScoringProtocol = STANDARD,
    stopwatch: Stopwatch = time.perf_counter,
) -> EvaluationRun:
    """Ask the retriever every question of the set, in order, and score what it finds.

    A question it fails on is a miss with an `error`. Raises RetrieverError where it fails on every question or
    on several in a row, answers with something else than document ids, or changes its corpus meanwhile.
    """
    golden = graded.golden
    identifier = checked_identifier(retriever)
    identity = Identity(labels_fingerprint(golden.questions), protocol.version, declared_provenance(retriever))
    evaluations = _evaluations(golden, retriever, protocol, stopwatch)
    _refuse_changed_corpus(retriever, identity)
    run_date = int(clock.now())
    return EvaluationRun(golden.identifier, identifier, run_date, identity, _with_metrics(graded, evaluations))


def _evaluations(
    golden: GoldenQuestionSet, retriever: Retriever, protocol: ScoringProtocol, stopwatch: Stopwatch
) -> list[QuestionEvaluation]:
    evaluations: list[QuestionEvaluation] = []
    failures = 0
    for question in golden.questions:
        evaluation = evaluate_question(question, retriever, protocol, stopwatch)
        evaluations.append(evaluation)
        failures = failures + 1 if evaluation.error is not None else 0
        if failures in (OUTAGE, len(golden.questions)):
            raise RetrieverError(
                f"{retriever.identifier} failed on {failures} questions in a row, the last time because: "
                f"{evaluation.error} (nothing was kept; run again when it answers)"
            )
    return evaluations


def evaluate_question(
    question: GoldenQuestion, retriever: Retriever, protocol: ScoringProtocol, stopwatch: Stopwatch
) -> QuestionEvaluation:
    """Ask one question and score the answer; only the retriever's call is timed."""
    started = stopwatch()
    error = None
    raw: list[str] = []
    try:
        raw = retriever.retrieve(question.question, protocol.limit)
        seconds = stopwatch() - started
        ranking = distinct_documents(_checked_answer(raw), protocol.depth)
    except Exception as failure:  # whatever a user's retriever raises is that question's error, not the run's end
        seconds = stopwatch() - started
        error, ranking = _reason(failure), ()
    kept = ranking[: protocol.top_k]
    top1_hit, top3_hit = (False, False) if error is not None else hits(kept, question.expected_document_ids)
    is_full = error is None and len(raw) >= protocol.limit
    return QuestionEvaluation(
        question_id=question.id,
        form=question.form,
        hard_class=question.hard_class,
        expects_no_result=question.expects_no_result,
        top1_hit=top1_hit,
        top3_hit=top3_hit,
        retrieved_document_ids=kept,
        latency_ms=whole_milliseconds(seconds),
        ranking=ranking,
        is_short=is_full and len(kept) < protocol.top_k,
        is_ranking_short=is_full and len(ranking) < protocol.depth,
        error=error,
    )


def distinct_documents(raw: Sequence[str], depth: int) -> tuple[str, ...]:
    """The first `depth` document ids of a ranking, without empty ones and without those already seen.

    Ids are equal when their bytes are: nothing is normalized, no case is folded.
    """
    kept: dict[str, None] = {}
    for document_id in raw:
        if document_id != "":
            kept.setdefault(document_id)
        if len(kept) == depth:
            break
    return tuple(kept)


def hits(kept: Sequence[str], targets: Sequence[str]) -> tuple[bool, bool]:
    """Whether the first, and whether any, kept document is a target; without targets, whether none is kept."""
    if not targets:
        return not kept, not kept
    return bool(kept) and kept[0] in targets, any(document_id in targets for document_id in kept)


def whole_milliseconds(seconds: float) -> int:
    """Seconds as milliseconds, halves rounded away from zero."""
    return int((Decimal(seconds) * 1000).to_integral_value(ROUND_HALF_UP))


def _checked_answer(raw: object) -> list[str]:
    if not isinstance(raw, list):
        raise RetrieverError(f"it answered with {type(raw).__name__} where a list of document ids is expected")
    try:
        return [byte_text(text_bytes(document_id)) for document_id in raw]
    except (AttributeError, TypeError, UnicodeEncodeError):
        raise RetrieverError("it answered with a document id that is not text") from None


def _reason(failure: Exception) -> str:
    # A foreign exception's text may hold addresses or keys, so only its kind is told.
    return str(failure) if isinstance(failure, ArboristError) else f"it raised {type(failure).__name__}"


def _refuse_changed_corpus(retriever: Retriever, identity: Identity) -> None:
    watched = undeclared(retriever)
    if identity.provenance is None or not isinstance(watched, CorpusWatching):
        return
    declared, current = identity.provenance.corpus_revision, watched.current_corpus_revision()
    if current != declared:
        raise RetrieverError(
            f"{retriever.identifier}: the corpus changed during the run, from {declared} to {current} "
            "(nothing was kept; run again)"
        )


def _with_metrics(graded: GradedSet, evaluations: Sequence[QuestionEvaluation]) -> tuple[QuestionEvaluation, ...]:
    answerable = [question for question in graded.golden.questions if not question.expects_no_result]
    rankings = [evaluation.ranking for evaluation in evaluations if not evaluation.expects_no_result]
    metrics = iter(question_metrics(rankings, [graded.relevance(question) for question in answerable]))
    return tuple(
        evaluation if evaluation.expects_no_result else replace(evaluation, metrics=next(metrics))
        for evaluation in evaluations
    )
