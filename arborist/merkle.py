"""Merkle trees, inclusion and consistency proofs as in RFC 9162 section 2.1, over SHA-256.

Trees are built from leaf hashes, so that a caller who keeps the hashes need not keep the leaves. Hashes are
32 raw bytes; a proof is a list of them, leaf side first.
"""

import hashlib
from collections.abc import Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()
HASH_SIZE = 32


def leaf_hash(data: bytes) -> bytes:
    """SHA-256(0x00 || data), RFC 9162 section 2.1.1."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right), RFC 9162 section 2.1.1."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that only grows, kept as the roots of its complete subtrees: appending costs O(log n) memory."""

    def __init__(self, size: int = 0, roots: Sequence[bytes] = ()) -> None:
        if len(roots) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} complete subtrees, not {len(roots)}")
        self.size = size
        self.roots = list(roots)

    def append(self, leaf: bytes) -> None:
        """Add one leaf hash."""
        merges = (self.size ^ (self.size + 1)).bit_count() - 1
        for _ in range(merges):
            leaf = node_hash(self.roots.pop(), leaf)
        self.roots.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The root of the tree as it stands."""
        if not self.roots:
            return EMPTY_ROOT
        root = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            root = node_hash(left, root)
        return root


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaf hashes, RFC 9162 section 2.1.1; the hash of nothing for no leaves."""
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    return frontier.root()


def _split(size: int) -> int:
    """The largest power of two smaller than `size`."""
    return 1 << (size - 1).bit_length() - 1


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The path that proves leaf `index`, RFC 9162 section 2.1.3.1. Raises IndexError outside the tree."""
    if not 0 <= index < len(leaves):
        raise IndexError(f"no leaf {index} in a tree of {len(leaves)}")
    siblings: list[bytes] = []
    low, high = 0, len(leaves)
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            siblings.append(tree_root(leaves[middle:high]))
            high = middle
        else:
            siblings.append(tree_root(leaves[low:middle]))
            low = middle
    return siblings[::-1]


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    """The proof that the first `old_size` leaves are a prefix, RFC 9162 section 2.1.4.1.

    Raises IndexError unless 0 < old_size <= size.
    """
    if not 0 < old_size <= len(leaves):
        raise IndexError(f"no tree of {old_size} leaves inside one of {len(leaves)}")
    proof: list[bytes] = []
    low, high, known = 0, len(leaves), True
    while old_size != high:
        middle = low + _split(high - low)
        if old_size <= middle:
            proof.append(tree_root(leaves[middle:high]))
            high = middle
        else:
            proof.append(tree_root(leaves[low:middle]))
            low, known = middle, False
    if not known:
        proof.append(tree_root(leaves[low:high]))
    return proof[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether `proof` shows `leaf` at `index` under `root`, RFC 9162 section 2.1.3.2. Never raises."""
    if not 0 <= index < size or not _are_hashes([leaf, root, *proof]):
        return False
    node, last, current = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if node & 1 or node == last:
            current = node_hash(sibling, current)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            current = node_hash(current, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and current == root


def verify_consistency(
    old_size: int, new_size: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes
) -> bool:
    """Whether `proof` shows the old tree as a prefix of the new one, RFC 9162 section 2.1.4.2. Never raises.

    Nothing is a prefix of everything: an old size of zero proves nothing and is refused.
    """
    if old_size == new_size:
        return old_size > 0 and not proof and old_root == new_root
    if not 0 < old_size < new_size or not _are_hashes([old_root, new_root, *proof]):
        return False
    path = list(proof)
    if old_size & (old_size - 1) == 0:
        path.insert(0, old_root)
    if not path:
        return False
    node, last = old_size - 1, new_size - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    old, new = path[0], path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if node & 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root


def _are_hashes(values: Sequence[bytes]) -> bool:
    return all(len(value) == HASH_SIZE for value in values)
