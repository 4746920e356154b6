"""Promoted answers beside primary evidence, without taking its place (`self-providence.md`, Ranking)."""

from collections.abc import Sequence
from dataclasses import replace

from arborist.policy import SELF_REFERENCE, RankingPolicy
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.promoted import CITED_DIGITS, cited_leaves


def supplemented(found: Sequence[RetrievedSource], top_k: int, policy: RankingPolicy) -> list[RetrievedSource]:
    """The `top_k` best sources that are no promoted answers, then at most `self_reference_slots` that are.

    `found` is best first. A promoted answer lifts a source that it cites by what its own score is above that of
    every source, and by no more than `self_reference_support` of the lifted one's; of several answers the best
    counts. An answer that fits a question less well than a source does is one to another question, and where
    those lift too, they lift the wrong sources (`bench/self_reference.py`).
    """
    promoted = [source for source in found if source.role == SELF_REFERENCE]
    others = [source for source in found if source.role != SELF_REFERENCE]
    best = others[0].score if others else 0.0
    support: dict[str, float] = {}
    for answer in promoted:
        for leaf in cited_leaves(answer.text):
            support[leaf] = max(support.get(leaf, 0.0), answer.score - best)
    lifted = [_lifted(source, support.get(source.leaf_hash[:CITED_DIGITS], 0.0), policy) for source in others]
    return ranked(lifted)[:top_k] + promoted[: policy.self_reference_slots]


def _lifted(source: RetrievedSource, support: float, policy: RankingPolicy) -> RetrievedSource:
    if support <= 0.0:
        return source
    return replace(source, score=source.score + min(support, policy.self_reference_support * source.score))


def ranked(sources: Sequence[RetrievedSource]) -> list[RetrievedSource]:
    """Best first; ties stand in the order of (document root, chunk index)."""
    return sorted(sources, key=lambda source: (-source.score, source.document_root, source.chunk_index))
