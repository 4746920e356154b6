"""The evidence is what fits the budget, in rank order, whole."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.hashing import canonical_json
from arborist.merkle import inclusion_proof, leaf_hash, tree_root, verify_inclusion
from arborist.policy import BACKGROUND, PRIMARY, SELF_REFERENCE, AnsweringPolicy
from arborist.retrieval.context import Evidence, context_root, evidence_within
from arborist.retrieval.plan import RetrievedSource

POLICY = AnsweringPolicy()


def source(number: int, characters: int, role: str = PRIMARY) -> RetrievedSource:
    text = "x" * characters
    return RetrievedSource(
        shard="s-000",
        document_root=f"{number:064x}",
        chunk_index=number,
        leaf_hash=leaf_hash(text.encode()).hex(),
        role=role,
        score=1.0 / (number + 1),
        uri=f"d{number}",
        title=f"Title {number}",
        text=text,
        chunking_version="test",
    )


def lengths(evidence: Sequence[Evidence]) -> list[int]:
    return [len(item.text) for item in evidence]


def within(characters: Sequence[int], budget: int, **policy: Any) -> list[int]:
    sources = [source(number, count) for number, count in enumerate(characters)]
    return lengths(evidence_within(sources, budget, AnsweringPolicy(**policy)))


def test_all_sources_that_fit_are_evidence_numbered_from_one() -> None:
    evidence = evidence_within([source(7, 3), source(5, 4)], 7, POLICY)
    assert [(item.number, item.uri, item.chunk_index) for item in evidence] == [(1, "d7", 7), (2, "d5", 5)]


def test_a_source_too_long_for_what_is_left_is_passed_over_and_never_cut() -> None:
    assert within([6, 5, 4, 1], 10) == [6, 4]
    assert within([11, 10], 10) == [10]
    assert within([11], 10) == []


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(1, 120))
def test_evidence_never_exceeds_the_budget_and_leaves_out_only_what_does_not_fit(
    characters: list[int], budget: int
) -> None:
    chosen = within(characters, budget)
    assert sum(chosen) <= budget
    left, expected = budget, []
    for count in characters:
        if count <= left:
            left -= count
            expected.append(count)
    assert chosen == expected


def test_a_budget_weight_makes_a_role_dearer_or_cheaper() -> None:
    mixed = [source(0, 4, BACKGROUND), source(1, 4, SELF_REFERENCE), source(2, 4)]
    policy = AnsweringPolicy(background_budget_weight=0.5, self_reference_budget_weight=2.0)
    assert [item.role for item in evidence_within(mixed, 10, policy)] == [BACKGROUND, SELF_REFERENCE]
    assert [item.role for item in evidence_within(mixed, 14, policy)] == [BACKGROUND, SELF_REFERENCE, PRIMARY]


def test_a_role_without_budget_weight_is_never_evidence() -> None:
    mixed = [source(0, 4, BACKGROUND), source(1, 4)]
    policy = AnsweringPolicy(background_budget_weight=0.0)
    assert [item.role for item in evidence_within(mixed, 100, policy)] == [PRIMARY]


def test_a_role_that_is_not_allowed_is_passed_over_and_costs_nothing() -> None:
    mixed = [source(0, 9, BACKGROUND), source(1, 9)]
    evidence = evidence_within(mixed, 10, AnsweringPolicy(allowed_roles=(PRIMARY,)))
    assert [(item.number, item.role) for item in evidence] == [(1, PRIMARY)]


def test_the_root_is_over_leaf_document_and_role_in_order() -> None:
    evidence = evidence_within([source(0, 3), source(1, 4)], 10, POLICY)
    items = [item.canonical() for item in evidence]
    assert items[0] == {
        "leaf_hash": evidence[0].leaf_hash,
        "document_root": evidence[0].document_root,
        "role": PRIMARY,
    }
    leaves = [leaf_hash(canonical_json(item)) for item in items]
    assert context_root(items) == tree_root(leaves).hex()
    assert verify_inclusion(leaves[1], 1, 2, inclusion_proof(leaves, 1), bytes.fromhex(context_root(items)))
    assert context_root(items[::-1]) != context_root(items)


@pytest.mark.parametrize("name", ["leaf_hash", "document_root", "role"])
def test_whatever_changes_in_the_evidence_changes_the_root(name: str) -> None:
    items = [item.canonical() for item in evidence_within([source(0, 3)], 10, POLICY)]
    assert context_root([items[0] | {name: "other"}]) != context_root(items)


def test_no_evidence_has_a_root_too() -> None:
    assert context_root([]) == tree_root([]).hex()
