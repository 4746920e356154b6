"""Paired tests: whether two runs differ by more than chance among the same questions."""

from collections.abc import Sequence
from dataclasses import dataclass

from arborist.evaluation.run import Outcome

SEED = 20_260_101
RESAMPLES = 9_999
BATCH = 500


@dataclass(frozen=True, slots=True)
class HitTest:
    """Exact McNemar test, two-sided: questions that only one of the two runs hit, and how likely that split is."""

    lost: int
    gained: int
    p_value: float


@dataclass(frozen=True, slots=True)
class MeanTest:
    """Paired permutation test, two-sided: the mean difference, current less baseline, and how likely it is."""

    difference: float
    p_value: float


@dataclass(frozen=True, slots=True)
class PairedTests:
    """The tests of two runs over the same questions; `ndcg` is None where no question expects an answer."""

    top1: HitTest
    top3: HitTest
    ndcg: MeanTest | None


def paired_tests(baseline: Sequence[Outcome], current: Sequence[Outcome], seed: int = SEED) -> PairedTests | None:
    """Tests of outcomes in equal order; None where a run kept none.

    The permutation test draws 9,999 sign patterns from `seed`, or takes all where there are no more than that.
    """
    if not baseline or len(baseline) != len(current):
        return None
    pairs = list(zip(baseline, current, strict=True))
    ndcgs = [(old.ndcg, new.ndcg) for old, new in pairs if old.ndcg is not None and new.ndcg is not None]
    return PairedTests(
        top1=mcnemar([(old.top1_hit, new.top1_hit) for old, new in pairs]),
        top3=mcnemar([(old.top3_hit, new.top3_hit) for old, new in pairs]),
        ndcg=permutation_test(ndcgs, seed) if ndcgs else None,
    )


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> HitTest:
    """The exact test of McNemar (1947): the discordant pairs against a fair coin."""
    lost = sum(old and not new for old, new in pairs)
    gained = sum(new and not old for old, new in pairs)
    if lost == gained:
        return HitTest(lost, gained, 1.0)
    # Loaded here because it takes a second, which only a comparison should pay.
    from scipy.stats import binomtest

    return HitTest(lost, gained, float(binomtest(lost, lost + gained).pvalue))


def permutation_test(pairs: Sequence[tuple[float, float]], seed: int) -> MeanTest:
    """Fisher's test by random signs of the differences; pairs are baseline and current."""
    differences = [new - old for old, new in pairs]
    mean = sum(differences) / len(differences)
    moved = [difference for difference in differences if difference != 0]
    if len(moved) < 2:
        # One difference is as large with either sign; the library wants two.
        return MeanTest(mean, 1.0)
    import numpy
    from scipy import stats

    outcome = stats.permutation_test(
        (numpy.array(moved),),
        lambda sample, axis: numpy.mean(sample, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        rng=numpy.random.default_rng(seed),
    )
    return MeanTest(mean, float(outcome.pvalue))
