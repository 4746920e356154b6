"""The best chunks of a shard by FTS5 alone: the reference, and the way where a shard has no posting sidecar.

FTS5 ranks by the shard's own statistics, which are not those that count. It is asked for ever more of its best
chunks until what it has left out is proven to score less than the last of those that are wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from arborist.corpus.shard import Shard
from arborist.policy import RankingPolicy
from arborist.retrieval.bm25 import Statistics, bm25, fts5_statistics
from arborist.retrieval.terms import Term, Tokenize, match_expression

FTS5_K1, FTS5_B = 1.2, 0.75
WIDENING = 4
MARGIN = 1.0 + 1e-9
MOST_ROWS = 2**62
SMALLEST_EXACT_WEIGHT = 1e-9
"""What FTS5 reads of a column weight is cut behind the 20th place; below this, that matters."""


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk's row id and its BM25 score; more is better."""

    chunk_id: int
    score: float


def best_by_fts5(
    shard: Shard,
    terms: Sequence[Term],
    statistics: Statistics,
    policy: RankingPolicy,
    stems: Tokenize,
    limit: int,
) -> list[ScoredChunk]:
    """Chunks that hold a term, among them the `limit` best by `statistics` and all that tie with the last."""
    ratio = _largest_ratio(fts5_statistics(shard, [term.stem for term in terms]), terms, statistics, policy)
    wanted = limit
    while True:
        rows = _best_rows(shard, terms, policy, wanted)
        chunks = shard.chunks([row for row, _ in rows])
        found = [ScoredChunk(chunk.chunk_id, bm25(chunk, terms, statistics, policy, stems)) for chunk in chunks]
        if len(rows) < wanted:
            return found
        last = sorted((item.score for item in found), reverse=True)[limit - 1]
        if rows[-1][1] * ratio * MARGIN < last:
            return found
        wanted *= WIDENING


def _best_rows(shard: Shard, terms: Sequence[Term], policy: RankingPolicy, wanted: int) -> list[tuple[int, float]]:
    """Row ids and scores by FTS5's own BM25, best first, ties cut by row id."""
    # FTS5 reads no exponents in a rank function, so the weights are written out.
    rank = f"bm25({policy.title_weight:.20f}, {policy.text_weight:.20f})"
    rows = shard.rows(
        "SELECT rowid, -rank FROM chunks_fts WHERE chunks_fts MATCH ? AND rank MATCH ? "
        "ORDER BY rank, rowid LIMIT ?",
        (match_expression(terms), rank, min(wanted, MOST_ROWS)),
    )
    return [(int(row), float(score)) for row, score in rows]


def _largest_ratio(own: Statistics, terms: Sequence[Term], statistics: Statistics, policy: RankingPolicy) -> float:
    """How many times FTS5's score of a chunk of the shard its score by `statistics` and `policy` can be.

    Term by term: the ratio of the weights, times that of the two saturations. Of those, each is the frequency
    over a sum of frequency, constant and length; a ratio of such sums is at most the largest of its parts'.
    """
    if min(policy.title_weight, policy.text_weight) < SMALLEST_EXACT_WEIGHT:
        return float("inf")
    by_term = max(term.weight * statistics.idf(term.stem) / own.idf(term.stem) for term in terms)
    k1, b = policy.bm25_k1, policy.bm25_b
    constant = _ratio(FTS5_K1 * (1.0 - FTS5_B), k1 * (1.0 - b))
    length = _ratio(FTS5_K1 * FTS5_B / own.average, k1 * b / statistics.average)
    return by_term * (k1 + 1.0) / (FTS5_K1 + 1.0) * max(1.0, constant, length)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("inf")
