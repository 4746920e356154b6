"""One measurement: what was found for each question, and what can be counted from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arborist.evaluation.bytestrings import text_bytes
from arborist.evaluation.fingerprint import Identity
from arborist.evaluation.golden import Form
from arborist.evaluation.metrics import MeanMetrics, QuestionMetrics, mean_metrics


@dataclass(frozen=True, slots=True)
class QuestionEvaluation:
    """What a retriever found for one question; latency in whole milliseconds around its call alone.

    `ranking` holds the distinct documents that metrics look at; `retrieved_document_ids` are the first of them,
    those that count as found. `is_short` and `is_ranking_short`: fewer distinct documents than wanted were
    among all the results that were asked for, so more results might have held more. `error` says why the
    retriever gave no answer; such a question is a miss whatever it expects.
    """

    question_id: str
    form: Form
    hard_class: str | None
    expects_no_result: bool
    top1_hit: bool
    top3_hit: bool
    retrieved_document_ids: tuple[str, ...]
    latency_ms: int
    ranking: tuple[str, ...] = ()
    is_short: bool = False
    is_ranking_short: bool = False
    error: str | None = None
    metrics: QuestionMetrics | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """Questions asked, and how many of them hit with the first and with any of the first three documents."""

    questions: int = 0
    top1_hits: int = 0
    top3_hits: int = 0

    @property
    def top1_rate(self) -> float:
        return self.top1_hits / self.questions if self.questions else 0.0

    @property
    def top3_rate(self) -> float:
        return self.top3_hits / self.questions if self.questions else 0.0

    def without(self, other: "Tally") -> "Tally":
        """This tally less a part of it."""
        return Tally(
            self.questions - other.questions,
            self.top1_hits - other.top1_hits,
            self.top3_hits - other.top3_hits,
        )


def tally(evaluations: Iterable[QuestionEvaluation]) -> Tally:
    """Questions and hits of the evaluations."""
    counted = list(evaluations)
    return Tally(
        len(counted),
        sum(evaluation.top1_hit for evaluation in counted),
        sum(evaluation.top3_hit for evaluation in counted),
    )


Breakdown = tuple[tuple[str, Tally], ...]
"""Name of a form or hard class and its tally, in the order the names first appeared."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question's part in a paired test: its two hits, and its nDCG unless it expects no result."""

    top1_hit: bool
    top3_hit: bool
    ndcg: float | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What of a run can be compared, whether it has just been made or is read from the store.

    `run_date` is in seconds since the Unix epoch. `outcomes` are ordered by the bytes of question ids, which
    equal labels fingerprints make equal questions; empty where privacy kept none.
    """

    set_identifier: str
    retriever_identifier: str
    run_date: int
    identity: Identity
    all: Tally
    no_result: Tally
    by_form: Breakdown
    by_hard_class: Breakdown
    errors: int
    shortfalls: int
    ranking_shortfalls: int
    metrics: MeanMetrics | None
    outcomes: tuple[Outcome, ...]

    @property
    def answerable(self) -> Tally:
        """The questions that the corpus does answer."""
        return self.all.without(self.no_result)


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """A measurement with everything that was seen; `run_date` is the second after the last question."""

    set_identifier: str
    retriever_identifier: str
    run_date: int
    identity: Identity
    evaluations: tuple[QuestionEvaluation, ...]

    def summary(self) -> RunSummary:
        """The run's counts, breakdowns and metrics."""
        evaluations = self.evaluations
        return RunSummary(
            set_identifier=self.set_identifier,
            retriever_identifier=self.retriever_identifier,
            run_date=self.run_date,
            identity=self.identity,
            all=tally(evaluations),
            no_result=tally(evaluation for evaluation in evaluations if evaluation.expects_no_result),
            by_form=_breakdown([(evaluation.form.value, evaluation) for evaluation in evaluations]),
            by_hard_class=_breakdown(
                [(e.hard_class, e) for e in evaluations if e.hard_class is not None],
            ),
            errors=sum(evaluation.error is not None for evaluation in evaluations),
            shortfalls=sum(evaluation.is_short for evaluation in evaluations),
            ranking_shortfalls=sum(evaluation.is_ranking_short for evaluation in evaluations),
            metrics=mean_metrics([e.metrics for e in evaluations if e.metrics is not None]),
            outcomes=_outcomes(evaluations),
        )


def _breakdown(named: Sequence[tuple[str, QuestionEvaluation]]) -> Breakdown:
    groups: dict[str, list[QuestionEvaluation]] = {}
    for name, evaluation in named:
        groups.setdefault(name, []).append(evaluation)
    return tuple((name, tally(group)) for name, group in groups.items())


def _outcomes(evaluations: Iterable[QuestionEvaluation]) -> tuple[Outcome, ...]:
    ordered = sorted(evaluations, key=lambda evaluation: text_bytes(evaluation.question_id))
    return tuple(
        Outcome(e.top1_hit, e.top3_hit, e.metrics.ndcg if e.metrics is not None else None) for e in ordered
    )
