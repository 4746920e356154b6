"""A whole evaluation: measure, hold against the pinned baseline, keep, and judge."""

from dataclasses import dataclass

from arborist.clock import Clock
from arborist.evaluation.comparison import (
    BaselineState,
    Difference,
    baseline_state,
    benchmark_differences,
    treatment_differences,
)
from arborist.evaluation.golden import GradedSet
from arborist.evaluation.privacy import PrivacyPolicy, StandardPolicy
from arborist.evaluation.protocol import STANDARD, ScoringProtocol
from arborist.evaluation.regression import Change, Tolerances, changes
from arborist.evaluation.retriever import Availability, Retriever, target_availability
from arborist.evaluation.run import EvaluationRun
from arborist.evaluation.scoring import evaluate_retrieval
from arborist.evaluation.significance import PairedTests, paired_tests
from arborist.evaluation.store import EvaluationStore, StoredRun

OK = 0
REGRESSION = 1
NOT_COMPARABLE = 3
DEFAULT_TOLERANCES = Tolerances()
DEFAULT_POLICY = StandardPolicy()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run beside a baseline. Only in the state `comparable` are there changes and tests to speak of.

    `differences` are the fields that forbid the comparison, `treatment` those that it is about.
    """

    state: BaselineState
    baseline: StoredRun | None
    differences: tuple[Difference, ...] = ()
    treatment: tuple[Difference, ...] = ()
    changes: tuple[Change, ...] = ()
    tests: PairedTests | None = None

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The figures that fell by more than their tolerance."""
        return tuple(change for change in self.changes if change.is_regression)


@dataclass(frozen=True, slots=True)
class GatedEvaluation:
    """A measured run, as measured and as kept, with its comparison and the targets its corpus lacks."""

    run: EvaluationRun
    stored: StoredRun
    comparison: Comparison
    targets: Availability

    @property
    def exit_code(self) -> int:
        """What a strict gate exits with: 0, 1 for a regression or failed questions, 3 for nothing to compare."""
        if self.stored.summary.errors or self.comparison.regressions:
            return REGRESSION
        held = self.comparison.state in (BaselineState.COMPARABLE, BaselineState.BASELINE)
        return OK if held else NOT_COMPARABLE


def evaluate_against_baseline(
    graded: GradedSet,
    retriever: Retriever,
    store: EvaluationStore,
    clock: Clock,
    *,
    protocol: ScoringProtocol = STANDARD,
    tolerances: Tolerances = DEFAULT_TOLERANCES,
    policy: PrivacyPolicy = DEFAULT_POLICY,
    notes: str = "",
) -> GatedEvaluation:
    """Measure the retriever, keep the run whatever it shows, and hold it against its pinned baseline.

    Raises RetrieverError where there was nothing to measure; then nothing is kept.
    """
    documents = {target: None for question in graded.golden.questions for target in question.expected_document_ids}
    targets = target_availability(retriever, list(documents))
    run = evaluate_retrieval(graded, retriever, clock, protocol)
    baseline = store.baseline_for(run)
    stored = store.save(run, policy, tolerances, baseline.id if baseline else None, notes)
    return GatedEvaluation(run, stored, comparison(baseline, stored, tolerances), targets)


def comparison(baseline: StoredRun | None, current: StoredRun, tolerances: Tolerances) -> Comparison:
    """How `current` stands to `baseline`; of runs that are not comparable only why."""
    identity = current.summary.identity
    state = baseline_state(identity, baseline.summary.identity if baseline else None)
    if baseline is None:
        return Comparison(state, None)
    before = baseline.summary.identity
    if state is not BaselineState.COMPARABLE:
        return Comparison(state, baseline, differences=benchmark_differences(before, identity))
    return Comparison(
        state,
        baseline,
        treatment=treatment_differences(before, identity),
        changes=changes(baseline.summary, current.summary, tolerances),
        tests=paired_tests(baseline.summary.outcomes, current.summary.outcomes),
    )


def comparison_of_runs(store: EvaluationStore, baseline_id: int, current_id: int) -> Comparison:
    """Two kept runs side by side, under the tolerances of the second. Raises InputError for a missing one."""
    current = store.run(current_id)
    return comparison(store.run(baseline_id), current, current.tolerances)
