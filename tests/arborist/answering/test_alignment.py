"""An alignment is a longest common subsequence."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.alignment import UNALIGNED, aligned

TERMS = st.lists(st.sampled_from("abcd"), max_size=7)


def longest(wanted: list[str], terms: list[str]) -> int:
    """The length of a longest common subsequence, by trying them all."""
    for length in range(min(len(wanted), len(terms)), 0, -1):
        if set(combinations(wanted, length)) & set(combinations(terms, length)):
            return length
    return 0


@given(TERMS, TERMS)
def test_it_keeps_order_matches_equal_terms_and_is_as_long_as_can_be(wanted: list[str], terms: list[str]) -> None:
    places = aligned(wanted, terms)
    kept = [place for place in places if place != UNALIGNED]
    assert kept == sorted(set(kept))
    assert all(wanted[index] == terms[place] for index, place in enumerate(places) if place != UNALIGNED)
    assert len(kept) == longest(wanted, terms)


def test_what_stands_in_the_same_order_is_aligned_whole() -> None:
    assert aligned("abc", "xaybzc") == [1, 3, 5]
