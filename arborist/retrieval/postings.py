"""The best chunks of a shard from its posting sidecar, byte for byte the scores of `bm25`.

A kernel finds the chunks that may be among the best from what each block of postings can score at most, and
computes their scores in the order of the reference: the same operations on the same doubles. The two kernels, in
numpy and in numba where that is installed, differ only in how fast they leave the other chunks out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from arborist.corpus.posting_sidecar import PostingSidecar
from arborist.policy import RankingPolicy
from arborist.retrieval.bm25 import Statistics
from arborist.retrieval.fts5_candidates import ScoredChunk
from arborist.retrieval.terms import Term

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scored = tuple[NDArray[np.int64], NDArray[np.float64]]

LEAST_WEIGHT = 1e-9
"""Below this a chunk that holds a term might score nothing, and would not be told from one that does not."""
POSTINGS_WORTH_NUMBA = 20_000_000
"""Reading so many postings in numpy takes as long as importing numba."""

_postings_asked_for = 0


@dataclass(frozen=True, slots=True)
class PostingQuery:
    """A query's terms as far as one sidecar holds them, in the order in which scores are summed.

    `numbers` are places in the vocabulary, `weights` and `idfs` belong to them. `norms` is what BM25 adds to a
    frequency under the line, for each chunk. The `limit` best chunks are wanted, of those that reach `least`.
    """

    numbers: "NDArray[np.int64]"
    weights: "NDArray[np.float64]"
    idfs: "NDArray[np.float64]"
    norms: "NDArray[np.float64]"
    average: float
    limit: int
    least: float
    policy: RankingPolicy


Kernel = Callable[[PostingSidecar, PostingQuery], "Scored"]


def postings_can_rank(terms: Sequence[Term], policy: RankingPolicy) -> bool:
    """Whether every chunk that holds a term scores more than nothing, which is what postings are read for."""
    return min(policy.title_weight, policy.text_weight, *(term.weight for term in terms)) >= LEAST_WEIGHT


def best_by_postings(
    postings: PostingSidecar,
    terms: Sequence[Term],
    statistics: Statistics,
    policy: RankingPolicy,
    limit: int,
    least: float = 0.0,
    kernel: Kernel | None = None,
) -> list[ScoredChunk]:
    """The `limit` best chunks that hold a term and reach `least`, ties cut by (document root, chunk index).

    The kernel is the one that pays, unless one is given; all give the same.
    """
    import numpy as np

    held = [(number, term) for term in terms if (number := postings.term_number(term.stem)) is not None]
    if not held:
        return []
    query = PostingQuery(
        numbers=np.array([number for number, _ in held], dtype=np.int64),
        weights=np.array([term.weight for _, term in held]),
        idfs=np.array([statistics.idf(term.stem) for _, term in held]),
        norms=_norms(postings, statistics.average, policy),
        average=statistics.average,
        limit=min(limit, postings.chunks),
        least=least,
        policy=policy,
    )
    chunks, scores = (kernel or _kernel_that_pays(postings, query))(postings, query)
    best = np.lexsort((postings.tie_order[chunks], -scores))[:limit]
    return [
        ScoredChunk(chunk + 1, score)
        for chunk, score in zip(chunks[best].tolist(), scores[best].tolist(), strict=True)
    ]


def _kernel_that_pays(postings: PostingSidecar, query: PostingQuery) -> Kernel:
    """The numba kernel where numba is there and the process has read enough to be worth importing it."""
    global _postings_asked_for
    _postings_asked_for += int(
        (postings.posting_starts[query.numbers + 1] - postings.posting_starts[query.numbers]).sum()
    )
    if _postings_asked_for >= POSTINGS_WORTH_NUMBA and _numba_is_installed():
        from arborist.retrieval.posting_kernel_numba import best_chunks as compiled

        return compiled
    from arborist.retrieval.posting_kernel_numpy import best_chunks

    return best_chunks


@cache
def _numba_is_installed() -> bool:
    return find_spec("numba") is not None


def _norms(postings: PostingSidecar, average: float, policy: RankingPolicy) -> "NDArray[np.float64]":
    """For each chunk what BM25 adds to a frequency under the line; kept until the statistics are others."""
    key = (average, policy.bm25_k1, policy.bm25_b)
    if key not in postings.derived:
        postings.derived.clear()
        postings.derived[key] = length_norms(postings.lengths, average, policy)
    norms: NDArray[np.float64] = postings.derived[key]
    return norms


def length_norms(lengths: "NDArray[np.int32]", average: float, policy: RankingPolicy) -> "NDArray[np.float64]":
    """`k1 * (1 - b + b * length / average)`, in the order in which `bm25` reckons it."""
    k1, b = policy.bm25_k1, policy.bm25_b
    return k1 * (1.0 - b + b * lengths.astype("f8") / average)
