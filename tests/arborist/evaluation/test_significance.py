"""Paired tests against enumeration by hand."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arborist.evaluation.run import Outcome
from arborist.evaluation.significance import SEED, mcnemar, paired_tests, permutation_test


@given(st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_mcnemar_is_the_two_sided_binomial_test_of_discordant_pairs(lost: int, gained: int) -> None:
    pairs = [(True, False)] * lost + [(False, True)] * gained + [(True, True), (False, False)]
    n = lost + gained
    tail = sum(math.comb(n, k) for k in range(min(lost, gained) + 1)) / 2**n
    found = mcnemar(pairs)
    assert (found.lost, found.gained) == (lost, gained)
    assert found.p_value == pytest.approx(min(1.0, 2 * tail))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=7))
@settings(max_examples=40, deadline=None)
def test_few_pairs_are_permuted_in_full(quarters: list[tuple[int, int]]) -> None:
    pairs = [(old / 4, new / 4) for old, new in quarters]
    differences = [new - old for old, new in pairs]
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    found = permutation_test(pairs, SEED)
    assert found.difference == pytest.approx(sum(differences) / len(differences))
    assert found.p_value == pytest.approx(sum(s >= observed for s in sums) / len(sums))


def test_many_pairs_are_sampled_from_the_seed() -> None:
    pairs = [(0.5, 0.5 + (0.1 if number % 3 else -0.15)) for number in range(60)]
    assert permutation_test(pairs, 1) == permutation_test(pairs, 1)
    assert permutation_test(pairs, 1).p_value == pytest.approx(permutation_test(pairs, 2).p_value, abs=0.03)


def test_a_clear_gain_is_significant_and_no_change_is_not() -> None:
    old = [Outcome(False, False, 0.0)] * 20
    new = [Outcome(True, True, 1.0)] * 20
    gained, same = paired_tests(old, new), paired_tests(old, old)
    assert gained is not None
    assert gained.top1.p_value < 0.001
    assert gained.ndcg is not None
    assert gained.ndcg.p_value < 0.001
    assert same is not None
    assert (same.top1.p_value, same.top3.p_value) == (1.0, 1.0)
    assert same.ndcg is not None
    assert same.ndcg.p_value == 1.0


def test_questions_without_ndcg_are_left_out_and_runs_without_outcomes_have_no_test() -> None:
    nothing = [Outcome(top1_hit=True, top3_hit=True, ndcg=None)]
    found = paired_tests(nothing, nothing)
    assert found is not None
    assert found.ndcg is None
    assert paired_tests([], nothing) is None
    assert paired_tests(nothing, []) is None
