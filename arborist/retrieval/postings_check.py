"""Whether a shard's postings give what FTS5 gives: the counts of every term, and what questions are answered."""

import random
from collections.abc import Iterator

from arborist.corpus.posting_sidecar import PostingSidecar
from arborist.corpus.shard import Shard, ShardFault
from arborist.corpus.tokenizer import TOKENIZER
from arborist.policy import RankingPolicy
from arborist.retrieval.bm25 import fts5_statistics, open_vocabulary
from arborist.retrieval.fts5_candidates import ScoredChunk, best_by_fts5
from arborist.retrieval.postings import best_by_postings
from arborist.retrieval.terms import WORDS, query_terms, tokenizer

SAMPLED_QUERIES = 5
WORDS_A_QUERY = 6
LIMIT = 10
MOST_TOLD = 20


def postings_faults(shard: Shard) -> Iterator[ShardFault]:
    """Postings that are missing, terms that FTS5 counts otherwise, queries of a sample that it answers otherwise.

    The sample follows from the shard's root, so that a check that failed fails again.
    """
    postings = shard.postings
    if postings is None:
        yield ShardFault(shard.meta.shard, "postings", "missing, or not of this content (FTS5 answers instead)")
        return
    yield from _count_faults(shard, postings)
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


def _count_faults(shard: Shard, postings: PostingSidecar) -> Iterator[ShardFault]:
    """Where the terms are not FTS5's, or stand in other numbers of chunks or other numbers of times."""
    import numpy as np

    open_vocabulary(shard)
    with shard.reading():
        counted = np.array(
            [(doc, cnt) for doc, cnt in shard.connection.execute("SELECT doc, cnt FROM temp.terms ORDER BY term")],
            dtype=np.int64,
        ).reshape(-1, 2)
    starts = postings.posting_starts
    if len(counted) != len(starts) - 1:
        problem = f"{len(starts) - 1} terms, where the index has {len(counted)}"
        yield ShardFault(shard.meta.shard, "postings", problem)
        return
    times = np.zeros(starts[-1] + 1, dtype=np.int64)
    np.cumsum(postings.title_frequencies, dtype=np.int64, out=times[1:])
    times[1:] += np.cumsum(postings.text_frequencies, dtype=np.int64)
    held = np.column_stack((np.diff(starts), np.diff(times[starts])))
    for number in np.flatnonzero((held != counted).any(axis=1))[:MOST_TOLD].tolist():
        chunks, times_counted = counted[number].tolist()
        place = f"postings, term {postings.term(number)!r}"
        found = f"{held[number, 0]} chunks and {held[number, 1]} times"
        yield ShardFault(shard.meta.shard, place, f"{found}, where the index counts {chunks} and {times_counted}")


def _sampled_queries(shard: Shard) -> Iterator[str]:
    generator = random.Random(shard.meta.shard_root)
    if shard.meta.chunks:
        ids = [generator.randint(1, shard.meta.chunks) for _ in range(SAMPLED_QUERIES)]
        for chunk in shard.chunks(ids):
            words = f"{chunk.title} {chunk.text}".split()
            yield " ".join(generator.sample(words, min(WORDS_A_QUERY, len(words))))


def _scores(chunks: list[ScoredChunk]) -> list[str]:
    return [score.hex() for score in sorted((item.score for item in chunks), reverse=True)][:LIMIT]
