"""Exact BM25 over any number of shards, as if they were one index.

Each shard offers candidates by its own BM25. Scores of shards with statistics of their own are not comparable
(`performance.md`, Shards), so candidates are scored again with statistics summed over all searched shards.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from arborist.corpus.shard import INDEX_VERSION, TOKENIZER, Shard, StoredChunk
from arborist.errors import CorpusError
from arborist.policy import PROVIDENCE_SOURCE, SELF_REFERENCE, RankingPolicy
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.promoted import promoted_cache_key
from arborist.retrieval.self_reference import ranked
from arborist.retrieval.terms import WORDS, Term, Tokenize, match_expression, query_terms, tokenizer

SMALLEST_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 needs to know of the searched chunks: their number, their tokens, and how many hold each stem."""

    chunks: int
    tokens: int
    holding: dict[str, int]

    def idf(self, stem: str) -> float:
        """FTS5's inverse document frequency (its source, `fts5_aux.c`): always more than nothing."""
        holding = self.holding[stem]
        idf = math.log((self.chunks - holding + 0.5) / (holding + 0.5))
        return idf if idf > 0.0 else SMALLEST_IDF


def summed_statistics(shards: Sequence[Shard], stems: Sequence[str]) -> Statistics:
    """The statistics of all shards together."""
    chunks = tokens = 0
    holding = dict.fromkeys(stems, 0)
    for shard in shards:
        shard_chunks, *columns = _averages(shard)
        chunks += shard_chunks
        tokens += sum(columns)
        for stem in stems:
            holding[stem] += _chunks_holding(shard, stem)
    return Statistics(chunks, tokens, holding)


def _averages(shard: Shard) -> list[int]:
    """FTS5's averages record: the number of rows, then the tokens of each column, as SQLite varints.

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
    return values


def _chunks_holding(shard: Shard, stem: str) -> int:
    shard.rows("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, chunks_fts, row)")
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
    average = statistics.tokens / statistics.chunks
    k1, b = policy.bm25_k1, policy.bm25_b
    score = 0.0
    for term in terms:
        frequency = policy.title_weight * title[term.stem] + policy.text_weight * text[term.stem]
        if not frequency:
            continue
        saturated = (frequency * (k1 + 1.0)) / (frequency + k1 * (1.0 - b + b * length / average))
        score += term.weight * (statistics.idf(term.stem) * saturated)
    return score


def candidates(shard: Shard, terms: Sequence[Term], over_fetch: int, policy: RankingPolicy) -> list[StoredChunk]:
    """The shard's own best chunks, at most `over_fetch`, ties cut by row id."""
    # FTS5 reads no exponents in a rank function, so the weights are written out.
    rank = f"bm25({policy.title_weight:.20f}, {policy.text_weight:.20f})"
    rows = shard.rows(
        "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND rank MATCH ? ORDER BY rank, rowid LIMIT ?",
        (match_expression(terms), rank, over_fetch),
    )
    return shard.chunks([chunk_id for (chunk_id,) in rows])


def search(
    shards: Sequence[Shard],
    question: str,
    keywords: Sequence[str],
    *,
    over_fetch: int,
    policy: RankingPolicy,
) -> list[RetrievedSource]:
    """All candidates of all shards, best first; ties stand in the order of (document root, chunk index)."""
    if not shards:
        return []
    _refuse_other_indexes(shards)
    words = tokenizer(shards[0].connection, WORDS)
    stems = tokenizer(shards[0].connection, TOKENIZER)
    terms = query_terms(question, keywords, policy, words, stems)
    if not terms:
        return []
    statistics = summed_statistics(_weighing(shards, policy), [term.stem for term in terms])
    found: list[RetrievedSource] = []
    for shard in shards:
        with shard.reading():
            found += [
                _scored(shard, chunk, bm25(chunk, terms, statistics, policy, stems), policy)
                for chunk in candidates(shard, terms, over_fetch, policy)
            ]
    return ranked(found)


def _weighing(shards: Sequence[Shard], policy: RankingPolicy) -> Sequence[Shard]:
    """The shards whose statistics weigh the terms.

    Where promoted answers only supplement, their words must not shift the weights that primary evidence is ranked
    by: they repeat the very words that are asked about.
    """
    if policy.self_reference_mode == "weighted":
        return shards
    others = [shard for shard in shards if shard.meta.source != PROVIDENCE_SOURCE and shard.meta.chunks]
    return others or shards


def _refuse_other_indexes(shards: Sequence[Shard]) -> None:
    """Raises CorpusError for a shard of another index version, whose words would not be found."""
    for shard in shards:
        if shard.meta.index_version != INDEX_VERSION:
            found = f"indexed as {shard.meta.index_version}, not {INDEX_VERSION}"
            raise CorpusError(f"{shard.path}: {found} (run `arborist build`)")


def _scored(shard: Shard, chunk: StoredChunk, score: float, policy: RankingPolicy) -> RetrievedSource:
    promoted = promoted_cache_key(chunk.uri) is not None
    role = SELF_REFERENCE if promoted else policy.role(shard.meta.source)
    return RetrievedSource(
        shard=shard.meta.shard,
        document_root=chunk.document_root,
        chunk_index=chunk.chunk_index,
        leaf_hash=chunk.leaf_hash,
        role=role,
        score=score * policy.rank_weight(role),
        uri=chunk.uri,
        title=chunk.title,
        text=chunk.text,
        chunking_version=shard.meta.chunking_version,
    )
