"""Whether a shard's postings give what FTS5 gives, asked with words of the shard's own chunks."""

import random
from collections.abc import Iterator

from arborist.corpus.shard import Shard, ShardFault
from arborist.corpus.tokenizer import TOKENIZER
from arborist.policy import RankingPolicy
from arborist.retrieval.bm25 import fts5_statistics
from arborist.retrieval.fts5_candidates import ScoredChunk, best_by_fts5
from arborist.retrieval.postings import best_by_postings
from arborist.retrieval.terms import WORDS, query_terms, tokenizer

SAMPLED_QUERIES = 12
WORDS_A_QUERY = 6
LIMIT = 10


def postings_faults(shard: Shard) -> Iterator[ShardFault]:
    """Queries of a sample that postings and FTS5 answer differently, and postings that are missing.

    The sample follows from the shard's root, so that a check that failed fails again.
    """
    postings = shard.postings
    if postings is None:
        yield ShardFault(shard.meta.shard, "postings", "missing, or not of this content (FTS5 answers instead)")
        return
    policy, stems = RankingPolicy(stopwords="none"), tokenizer(shard.connection, TOKENIZER)
    for query in _sampled_queries(shard):
        terms = query_terms(query, (), policy, tokenizer(shard.connection, WORDS), stems)
        if not terms:
            continue
        statistics = fts5_statistics(shard, [term.stem for term in terms])
        with shard.reading():
            expected = best_by_fts5(shard, terms, statistics, policy, stems, LIMIT)
            found = best_by_postings(postings, terms, statistics, policy, LIMIT)
        if _scores(found) != _scores(expected):
            yield ShardFault(shard.meta.shard, f"postings, query {query!r}", "not the scores that FTS5 gives")


def _sampled_queries(shard: Shard) -> Iterator[str]:
    generator = random.Random(shard.meta.shard_root)
    if shard.meta.chunks:
        ids = [generator.randint(1, shard.meta.chunks) for _ in range(SAMPLED_QUERIES)]
        for chunk in shard.chunks(ids):
            words = f"{chunk.title} {chunk.text}".split()
            yield " ".join(generator.sample(words, min(WORDS_A_QUERY, len(words))))


def _scores(chunks: list[ScoredChunk]) -> list[str]:
    return [score.hex() for score in sorted((item.score for item in chunks), reverse=True)][:LIMIT]
