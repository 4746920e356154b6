"""Exact BM25 over any number of shards, as if they were one index.

The candidates are, of each source, the `over_fetch` best chunks by the statistics of all shards, so that it does
not matter how a source is cut into shards. Each shard is searched by its posting sidecar or, where it has none, by
FTS5; both give the same chunks with the same scores, to the last bit.
"""

from collections.abc import Sequence
from itertools import groupby

from arborist.corpus.shard import Shard, StoredChunk
from arborist.corpus.tokenizer import INDEX_VERSION, TOKENIZER
from arborist.errors import CorpusError
from arborist.policy import PROVIDENCE_SOURCE, SELF_REFERENCE, RankingPolicy
from arborist.retrieval.bm25 import Statistics, summed_statistics
from arborist.retrieval.fts5_candidates import ScoredChunk, best_by_fts5
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.posting_choice import load_numpy_where_it_pays, postings_of
from arborist.retrieval.postings import best_by_postings, postings_can_rank
from arborist.retrieval.promoted import promoted_cache_key
from arborist.retrieval.self_reference import ranked
from arborist.retrieval.terms import WORDS, Term, Tokenize, query_terms, tokenizer


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
    load_numpy_where_it_pays(shards)
    statistics = summed_statistics(_weighing(shards, policy), [term.stem for term in terms])
    found: list[RetrievedSource] = []
    by_source = sorted(shards, key=lambda shard: shard.meta.source)
    for _, of_source in groupby(by_source, key=lambda shard: shard.meta.source):
        for shard, chunk, score in candidates(list(of_source), terms, statistics, policy, stems, over_fetch):
            found.append(_scored(shard, chunk, score, policy))
    return ranked(found)


def candidates(
    shards: Sequence[Shard],
    terms: Sequence[Term],
    statistics: Statistics,
    policy: RankingPolicy,
    stems: Tokenize,
    over_fetch: int,
) -> list[tuple[Shard, StoredChunk, float]]:
    """The `over_fetch` best chunks of these shards with their scores, ties cut by (document root, chunk index)."""
    found: list[tuple[Shard, ScoredChunk]] = []
    least = 0.0
    for shard in shards:
        with shard.reading():
            best = _best_of_shard(shard, terms, statistics, policy, stems, over_fetch, least)
        found += [(shard, item) for item in best]
        least = _reached([item.score for _, item in found], over_fetch)
    chunks = [
        (shard, chunk, item.score)
        for shard in shards
        for item, chunk in _with_chunks(
            shard, [item for owner, item in found if owner is shard and item.score >= least]
        )
    ]
    return sorted(chunks, key=lambda item: (-item[2], item[1].document_root, item[1].chunk_index))[:over_fetch]


def _best_of_shard(
    shard: Shard,
    terms: Sequence[Term],
    statistics: Statistics,
    policy: RankingPolicy,
    stems: Tokenize,
    limit: int,
    least: float,
) -> list[ScoredChunk]:
    postings = postings_of(shard)
    if postings is not None and postings_can_rank(terms, policy):
        return best_by_postings(postings, terms, statistics, policy, limit, least)
    return best_by_fts5(shard, terms, statistics, policy, stems, limit)


def _reached(scores: list[float], limit: int) -> float:
    """What the `limit` best of these scores reach; nothing where they are fewer."""
    return sorted(scores, reverse=True)[limit - 1] if len(scores) >= limit else 0.0


def _with_chunks(shard: Shard, items: Sequence[ScoredChunk]) -> list[tuple[ScoredChunk, StoredChunk]]:
    return list(zip(items, shard.chunks([item.chunk_id for item in items]), strict=True))


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
