"""Promoted answers beside primary evidence, without taking its place (`self-providence.md`, Ranking)."""

from collections.abc import Sequence
from dataclasses import replace

from arborist.policy import SELF_REFERENCE, RankingPolicy
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.promoted import CITED_DIGITS, cited_leaves


def supplemented(found: Sequence[RetrievedSource], top_k: int, policy: RankingPolicy) -> list[RetrievedSource]:
    """The `top_k` best sources that are no promoted answers, then at most `self_reference_slots` that are.

    `found` is best first. A promoted answer lifts a source that it cites by `self_reference_support` of the
    smaller of their two scores, so by no more than that share of the source's own; of several the best counts.
    """
    promoted = [source for source in found if source.role == SELF_REFERENCE]
    support: dict[str, float] = {}
    for answer in promoted:
        for leaf in cited_leaves(answer.text):
            support[leaf] = max(support.get(leaf, 0.0), answer.score)
    others = [
        _supported(source, support.get(source.leaf_hash[:CITED_DIGITS], 0.0), policy)
        for source in found
        if source.role != SELF_REFERENCE
    ]
    return ranked(others)[:top_k] + promoted[: policy.self_reference_slots]


def _supported(source: RetrievedSource, support: float, policy: RankingPolicy) -> RetrievedSource:
    if support <= 0.0:
        return source
    return replace(source, score=source.score + policy.self_reference_support * min(support, source.score))


def ranked(sources: Sequence[RetrievedSource]) -> list[RetrievedSource]:
    """Best first; ties stand in the order of (document root, chunk index)."""
    return sorted(sources, key=lambda source: (-source.score, source.document_root, source.chunk_index))
