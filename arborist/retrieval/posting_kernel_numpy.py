"""The best chunks from postings, in numpy: rarest terms first, until the others cannot bring up a new chunk."""

from typing import TYPE_CHECKING

import numpy as np

from arborist.corpus.posting_sidecar import PostingSidecar
from arborist.retrieval.postings import PostingQuery, length_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARGIN = 1.0 - 1e-9
"""Sums of the same doubles in another order differ by far less than this."""


def best_chunks(postings: PostingSidecar, query: PostingQuery) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """Chunks and their scores, among them the `limit` best of those that reach `least`, and all ties with them."""
    bounds = np.array([_bound(postings, query, place) for place in range(len(query.numbers))])
    rarest_first = np.argsort(-bounds, kind="stable")
    sums = np.zeros(postings.chunks)
    least, rest = query.least, float(bounds.sum())
    read = 0
    for place in rarest_first:
        if read and rest < least * MARGIN:
            break
        chunks, shares = _shares(postings, query, place)
        sums[chunks] += shares
        rest -= float(bounds[place])
        read += 1
        least = max(least, _reached(sums[chunks], query.limit))
    found = _found(postings, query, rarest_first[:read], sums, least - rest)
    partial = sums[found]
    for place in rarest_first[read:]:
        partial += _shares_of(postings, query, place, found)
        rest -= float(bounds[place])
        least = max(least, _reached(partial, query.limit))
        kept = partial + rest >= least * MARGIN
        found, partial = found[kept], partial[kept]
    found = found[partial >= least * MARGIN]
    scores = np.zeros(len(found))
    for place in range(len(query.numbers)):
        scores += _shares_of(postings, query, place, found)
    return found, scores


def _bound(postings: PostingSidecar, query: PostingQuery, place: int) -> float:
    """The most that the term can add to a score: of its blocks' corners, or of its postings if it has none."""
    number = query.numbers[place]
    first, last = postings.block_starts[number : number + 2].tolist()
    if first == last:
        return float(_shares(postings, query, place)[1].max())
    corners = slice(*postings.corner_starts[[first, last]].tolist())
    frequencies = _frequencies(query, postings.corner_titles[corners], postings.corner_texts[corners])
    norms = length_norms(postings.corner_lengths[corners], query.average, query.policy)
    return float(_contributions(query, place, frequencies, norms).max())


def _frequencies(
    query: PostingQuery, titles: "NDArray[np.unsignedinteger]", texts: "NDArray[np.unsignedinteger]"
) -> "NDArray[np.float64]":
    policy = query.policy
    return policy.title_weight * titles.astype(np.float64) + policy.text_weight * texts.astype(np.float64)


def _contributions(
    query: PostingQuery, place: int, frequencies: "NDArray[np.float64]", norms: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    saturated = (frequencies * (query.policy.bm25_k1 + 1.0)) / (frequencies + norms)
    shares: NDArray[np.float64] = query.weights[place] * (query.idfs[place] * saturated)
    return shares


def _postings(postings: PostingSidecar, query: PostingQuery, place: int) -> slice:
    return slice(*postings.posting_starts[query.numbers[place] : query.numbers[place] + 2].tolist())


def _shares(
    postings: PostingSidecar, query: PostingQuery, place: int
) -> "tuple[NDArray[np.int32], NDArray[np.float64]]":
    """All chunks that hold the term, and what it adds to each one's score."""
    span = _postings(postings, query, place)
    chunks = postings.posting_chunks[span]
    frequencies = _frequencies(query, postings.title_frequencies[span], postings.text_frequencies[span])
    return chunks, _contributions(query, place, frequencies, query.norms[chunks])


def _shares_of(
    postings: PostingSidecar, query: PostingQuery, place: int, chunks: "NDArray[np.int64]"
) -> "NDArray[np.float64]":
    """What the term adds to the scores of these chunks."""
    span = _postings(postings, query, place)
    holding = postings.posting_chunks[span]
    at = np.minimum(np.searchsorted(holding, chunks.astype(np.int32)), len(holding) - 1)
    held = np.flatnonzero(holding[at] == chunks)
    places = at[held] + span.start
    frequencies = _frequencies(query, postings.title_frequencies[places], postings.text_frequencies[places])
    shares = np.zeros(len(chunks))
    shares[held] = _contributions(query, place, frequencies, query.norms[chunks[held]])
    return shares


def _reached(sums: "NDArray[np.float64]", limit: int) -> float:
    """What the `limit` best of these sums reach; nothing where they are fewer."""
    if len(sums) < limit:
        return 0.0
    return float(np.partition(sums, len(sums) - limit)[len(sums) - limit])


def _found(
    postings: PostingSidecar,
    query: PostingQuery,
    places: "NDArray[np.int64]",
    sums: "NDArray[np.float64]",
    least: float,
) -> "NDArray[np.int64]":
    """The chunks that hold one of these terms and whose sums reach `least`, ascending."""
    parts = []
    for place in places:
        chunks = postings.posting_chunks[_postings(postings, query, place)]
        parts.append(chunks[sums[chunks] >= least * MARGIN])
    found = np.sort(np.concatenate(parts)).astype(np.int64)
    # Not `np.unique`, which imports masked arrays for nothing.
    return found[np.concatenate(([True], found[1:] != found[:-1]))[: len(found)]]
