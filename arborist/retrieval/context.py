"""The context: the evidence put before the model, in order, and its root."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arborist.hashing import canonical_json
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import AnsweringPolicy
from arborist.retrieval.plan import RetrievedSource


@dataclass(frozen=True, slots=True)
class Evidence:
    """One chunk before the model. A claim cites it as `[E<number>]`, counted from 1."""

    number: int
    document_root: str
    chunk_index: int
    leaf_hash: str
    role: str
    shard: str
    uri: str
    title: str
    text: str

    def canonical(self) -> dict[str, Any]:
        """What the context root binds of it."""
        return {"leaf_hash": self.leaf_hash, "document_root": self.document_root, "role": self.role}


def context_root(items: Sequence[dict[str, Any]]) -> str:
    """Merkle root, in hex, over the canonical JSON of `Evidence.canonical()` values in order."""
    return tree_root([leaf_hash(canonical_json(item)) for item in items]).hex()


def evidence_within(
    sources: Sequence[RetrievedSource], max_context_chars: int, policy: AnsweringPolicy
) -> tuple[Evidence, ...]:
    """The sources that fit the budget, in rank order; one too long for what is left is passed over, never cut."""
    chosen: list[Evidence] = []
    left = float(max_context_chars)
    for source in sources:
        weight = policy.budget_weight(source.role)
        cost = len(source.text) / weight if weight else math.inf
        if source.role not in policy.allowed_roles or cost > left:
            continue
        left -= cost
        chosen.append(
            Evidence(
                number=len(chosen) + 1,
                document_root=source.document_root,
                chunk_index=source.chunk_index,
                leaf_hash=source.leaf_hash,
                role=source.role,
                shard=source.shard,
                uri=source.uri,
                title=source.title,
                text=source.text,
            )
        )
    return tuple(chosen)
