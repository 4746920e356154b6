"""BM25 as FTS5 computes it, with statistics that are summed over all searched shards.

Scores of shards with statistics of their own are not comparable (`performance.md`, Shards).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from arborist.corpus.shard import Shard, StoredChunk
from arborist.policy import RankingPolicy
from arborist.retrieval.posting_choice import postings_of
from arborist.retrieval.terms import Term, Tokenize

SMALLEST_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 needs to know of the searched chunks: their number, their tokens, and how many hold each stem."""

    chunks: int
    tokens: int
    holding: dict[str, int]

    @property
    def average(self) -> float:
        """Tokens a chunk; 1 where there are none, so that it can be divided by."""
        return self.tokens / self.chunks if self.tokens else 1.0

    def idf(self, stem: str) -> float:
        """FTS5's inverse document frequency (its source, `fts5_aux.c`): always more than nothing."""
        holding = self.holding[stem]
        idf = math.log((self.chunks - holding + 0.5) / (holding + 0.5))
        return idf if idf > 0.0 else SMALLEST_IDF


def summed_statistics(shards: Sequence[Shard], stems: Sequence[str]) -> Statistics:
    """The statistics of all shards together, of the postings where a shard has them, else of FTS5."""
    chunks = tokens = 0
    holding = dict.fromkeys(stems, 0)
    for shard in shards:
        postings = postings_of(shard)
        shard_chunks, shard_tokens = _sizes(shard) if postings is None else (postings.chunks, postings.tokens)
        chunks += shard_chunks
        tokens += shard_tokens
        for stem in stems:
            holding[stem] += _chunks_holding(shard, stem) if postings is None else postings.holding(stem)
    return Statistics(chunks, tokens, holding)


def fts5_statistics(shard: Shard, stems: Sequence[str]) -> Statistics:
    """The statistics that FTS5 itself ranks the shard's chunks by."""
    return Statistics(*_sizes(shard), {stem: _chunks_holding(shard, stem) for stem in stems})


def _sizes(shard: Shard) -> tuple[int, int]:
    """Chunks and tokens, from FTS5's averages record: the number of rows, then the tokens of each column.

    It is empty where no row was ever indexed. Raises CorpusError where it does not fit the shard's chunks.
    """
    with shard.reading():
        ((block,),) = shard.rows("SELECT block FROM chunks_fts_data WHERE id = 1")
    values, value, length = [], 0, 0
    for byte in block:
        length += 1
        if length == 9:
            value, byte = value << 8 | byte, 0
        else:
            value = value << 7 | byte & 0x7F
        if byte < 0x80:
            values.append(value)
            value = length = 0
    values = values or [0]
    if values[0] != shard.meta.chunks:
        raise shard.damaged()
    return values[0], sum(values[1:])


def open_vocabulary(shard: Shard) -> None:
    """Have the table `temp.terms`: each term of the index, in how many chunks (`doc`) and how often (`cnt`)."""
    shard.rows("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, chunks_fts, row)")


def _chunks_holding(shard: Shard, stem: str) -> int:
    open_vocabulary(shard)
    rows = shard.rows("SELECT doc FROM temp.terms WHERE term = ?", (stem,))
    holding = int(rows[0][0]) if rows else 0
    if holding > shard.meta.chunks:
        raise shard.damaged()
    return holding


def bm25(
    chunk: StoredChunk, terms: Sequence[Term], statistics: Statistics, policy: RankingPolicy, stems: Tokenize
) -> float:
    """FTS5's `bm25()` of a chunk, its sign turned so that more is better, with the statistics given.

    A term's frequency is weighted by column and its share by the term's own weight; terms are summed in order.
    """
    title, text = Counter(stems(chunk.indexed_title)), Counter(stems(chunk.text))
    length = title.total() + text.total()
    k1, b = policy.bm25_k1, policy.bm25_b
    score = 0.0
    for term in terms:
        frequency = policy.title_weight * title[term.stem] + policy.text_weight * text[term.stem]
        if not frequency:
            continue
        saturated = (frequency * (k1 + 1.0)) / (frequency + k1 * (1.0 - b + b * length / statistics.average))
        score += term.weight * (statistics.idf(term.stem) * saturated)
    return score
