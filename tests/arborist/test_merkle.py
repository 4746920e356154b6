"""Trees and proofs of RFC 9162."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)

LEAVES = [leaf_hash(bytes([number])) for number in range(40)]


def recursive_root(leaves: list[bytes]) -> bytes:
    """RFC 9162 section 2.1.1, word for word."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(recursive_root(leaves[:split]), recursive_root(leaves[split:]))


@pytest.mark.parametrize("size", range(len(LEAVES) + 1))
def test_the_root_is_the_recursive_definition(size: int) -> None:
    assert tree_root(LEAVES[:size]) == recursive_root(LEAVES[:size])


@given(st.lists(st.binary(max_size=8), max_size=60), st.integers(0, 60))
def test_a_frontier_can_be_stopped_and_resumed_anywhere(data: list[bytes], cut: int) -> None:
    leaves = [leaf_hash(item) for item in data]
    first = Frontier()
    for leaf in leaves[:cut]:
        first.append(leaf)
    second = Frontier(first.size, first.roots)
    for leaf in leaves[cut:]:
        second.append(leaf)
    assert second.root() == recursive_root(leaves)
    assert second.size == len(leaves)


def test_a_frontier_refuses_roots_that_do_not_fit_its_size() -> None:
    with pytest.raises(ValueError, match="complete subtrees"):
        Frontier(3, [LEAVES[0]])


@given(st.integers(1, 40), st.data())
def test_every_leaf_is_proven_and_only_in_its_place(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    leaves = LEAVES[:size]
    proof, root = inclusion_proof(leaves, index), tree_root(leaves)
    assert verify_inclusion(leaves[index], index, size, proof, root)
    other = data.draw(st.integers(0, size + 1).filter(lambda number: number != index))
    assert not verify_inclusion(leaves[index], other, size, proof, root)
    assert not verify_inclusion(leaf_hash(b"other"), index, size, proof, root)
    assert not verify_inclusion(leaves[index], index, size, [*proof, root], root)
    if proof:
        assert not verify_inclusion(leaves[index], index, size, proof[:-1], root)
        assert not verify_inclusion(leaves[index], index, size, [bytes(32), *proof[1:]], root)


@given(st.integers(1, 40), st.data())
def test_every_prefix_is_consistent_and_nothing_else(size: int, data: st.DataObject) -> None:
    old = data.draw(st.integers(1, size))
    proof = consistency_proof(LEAVES[:size], old)
    old_root, new_root = tree_root(LEAVES[:old]), tree_root(LEAVES[:size])
    assert verify_consistency(old, size, proof, old_root, new_root)
    assert not verify_consistency(old, size, proof, leaf_hash(b"other"), new_root)
    assert not verify_consistency(old, size, proof, old_root, leaf_hash(b"other"))
    assert not verify_consistency(old, size, [*proof, old_root], old_root, new_root)
    assert not verify_consistency(0, size, proof, EMPTY_ROOT, new_root)


def test_proofs_outside_the_tree_are_errors() -> None:
    with pytest.raises(IndexError):
        inclusion_proof(LEAVES, len(LEAVES))
    with pytest.raises(IndexError):
        consistency_proof(LEAVES, 0)
    with pytest.raises(IndexError):
        consistency_proof(LEAVES[:3], 4)


@given(
    st.integers(-3, 9),
    st.integers(-3, 9),
    st.lists(st.binary(max_size=40), max_size=5),
    st.binary(max_size=40),
)
def test_verifiers_never_raise(index: int, size: int, proof: list[bytes], root: bytes) -> None:
    assert not verify_inclusion(root, index, size, proof, root + b"x")
    assert not verify_consistency(index, size, proof, root, root + b"x")


def decoded(value: str | None) -> bytes:
    return base64.b64decode(value or "")


def vectors(shared_data: Path, kind: str) -> list[dict[str, object]]:
    return [
        json.loads(path.read_bytes()) for path in sorted((shared_data / "merkle-vectors" / kind).rglob("*.json"))
    ]


def test_all_published_inclusion_vectors_agree(shared_data: Path) -> None:
    cases = vectors(shared_data, "inclusion")
    assert len(cases) == 98
    for case in cases:
        accepted = verify_inclusion(
            decoded(case["leafHash"]),
            case["leafIdx"],
            case["treeSize"],
            [decoded(item) for item in case["proof"] or []],
            decoded(case["root"]),
        )
        assert accepted is not case["wantErr"], case["desc"]


def test_all_published_consistency_vectors_agree(shared_data: Path) -> None:
    cases = vectors(shared_data, "consistency")
    assert len(cases) == 98
    for case in cases:
        accepted = verify_consistency(
            case["size1"],
            case["size2"],
            [decoded(item) for item in case["proof"] or []],
            decoded(case["root1"]),
            decoded(case["root2"]),
        )
        assert accepted is not case["wantErr"], case["desc"]
