"""The corpus as a whole at one moment: its shards, each at a root, and one root over them."""

from collections.abc import Sequence
from dataclasses import dataclass

from arborist.hashing import canonical_json
from arborist.merkle import leaf_hash, tree_root


@dataclass(frozen=True, slots=True)
class CorpusSnapshot:
    """Shards and their roots, as `(shard, shard root in hex)`, ordered by shard name."""

    shards: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, shards: Sequence[tuple[str, str]]) -> "CorpusSnapshot":
        return cls(tuple(sorted(shards)))

    @property
    def root(self) -> str:
        """Merkle root over `[shard, shard root]` leaves (`provenance.md`, Digests), in hex."""
        return tree_root([leaf_hash(canonical_json(list(item))) for item in self.shards]).hex()
