"""The best chunks from postings, compiled: stretches of chunks, the most promising first, until none is left.

For each stretch of chunks each term has a bound from its blocks of postings. A stretch whose bounds together stay
below what the wanted number of chunks have reached is left out, and with it all that follow. Inside a stretch,
terms that together cannot bring up a chunk (MaxScore; Turtle and Flood 1995) are only looked up for chunks that
the others have brought up.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from arborist.corpus.posting_sidecar import BLOCK, PostingSidecar
from arborist.retrieval.postings import PostingQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRETCH_BITS = 10
STRETCH = 1 << STRETCH_BITS
MARGIN = 1.0 - 1e-9
"""Sums of the same doubles in another order differ by far less than this."""

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")


def best_chunks(postings: PostingSidecar, query: PostingQuery) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """The `limit` best chunks of those that reach `least`, and their scores; in no order."""
    policy, numbers = query.policy, query.numbers
    parameters = np.array([policy.title_weight, policy.text_weight, policy.bm25_k1, policy.bm25_b, query.average])
    ranges = np.empty((len(numbers), 3), dtype=np.int64)
    ranges[:, 0], ranges[:, 1] = postings.posting_starts[numbers], postings.posting_starts[numbers + 1]
    ranges[:, 2] = postings.block_starts[numbers]
    found = _best(
        ranges,
        np.column_stack((query.weights, query.idfs)),
        parameters,
        postings.posting_chunks,
        postings.title_frequencies,
        postings.text_frequencies,
        postings.block_lengths,
        postings.block_titles,
        postings.block_texts,
        query.norms,
        postings.tie_order,
        query.limit,
        query.least,
    )
    return found[0], found[1]


@compiled
def _share(weight, idf, title, text, norm, parameters):  # type: ignore[no-untyped-def]
    """What a term adds to a score, reckoned in the order of `bm25`."""
    frequency = parameters[0] * title + parameters[1] * text
    return weight * (idf * ((frequency * (parameters[2] + 1.0)) / (frequency + norm)))


@compiled
def _bounds(  # type: ignore[no-untyped-def]
    ranges, factors, parameters, chunks, titles, texts, block_lengths, block_titles, block_texts, norms
):
    """What each term adds at most in each stretch."""
    stretches = (len(norms) + STRETCH - 1) >> STRETCH_BITS
    bounds = np.zeros((len(ranges), stretches))
    k1, b, average = parameters[2], parameters[3], parameters[4]
    for term in range(len(ranges)):
        start, end, block = ranges[term]
        weight, idf = factors[term]
        if end - start <= stretches:
            for at in range(start, end):
                chunk = chunks[at]
                share = _share(weight, idf, titles[at], texts[at], norms[chunk], parameters)
                bounds[term, chunk >> STRETCH_BITS] = max(bounds[term, chunk >> STRETCH_BITS], share)
            continue
        for first in range(start, end, BLOCK):
            last = min(first + BLOCK, end) - 1
            norm = k1 * (1.0 - b + b * block_lengths[block] / average)
            share = _share(weight, idf, block_titles[block], block_texts[block], norm, parameters) / MARGIN
            for stretch in range(chunks[first] >> STRETCH_BITS, (chunks[last] >> STRETCH_BITS) + 1):
                bounds[term, stretch] = max(bounds[term, stretch], share)
            block += 1
    return bounds


@compiled
def _place(chunks, low, high, wanted):  # type: ignore[no-untyped-def]
    """Where `wanted` stands in the ascending `chunks[low:high]`, or would."""
    while low < high:
        middle = (low + high) >> 1
        if chunks[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _worse(scores, ties, left, right):  # type: ignore[no-untyped-def]
    return scores[left] < scores[right] or (scores[left] == scores[right] and ties[left] > ties[right])


@compiled
def _sift_up(heap_scores, heap_ties, heap_chunks, place):  # type: ignore[no-untyped-def]
    while place and _worse(heap_scores, heap_ties, place, (place - 1) >> 1):
        _swap(heap_scores, heap_ties, heap_chunks, place, (place - 1) >> 1)
        place = (place - 1) >> 1


@compiled
def _sift_down(heap_scores, heap_ties, heap_chunks, size):  # type: ignore[no-untyped-def]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _worse(heap_scores, heap_ties, child + 1, child):
            child += 1
        if not _worse(heap_scores, heap_ties, child, place):
            return
        _swap(heap_scores, heap_ties, heap_chunks, place, child)
        place = child


@compiled
def _swap(heap_scores, heap_ties, heap_chunks, left, right):  # type: ignore[no-untyped-def]
    heap_scores[left], heap_scores[right] = heap_scores[right], heap_scores[left]
    heap_ties[left], heap_ties[right] = heap_ties[right], heap_ties[left]
    heap_chunks[left], heap_chunks[right] = heap_chunks[right], heap_chunks[left]


@compiled
def _offer(heap_scores, heap_ties, heap_chunks, size, score, tie, chunk):  # type: ignore[no-untyped-def]
    """Put a chunk among the best if it belongs there; how many are held then."""
    if size < len(heap_scores):
        heap_scores[size], heap_ties[size], heap_chunks[size] = score, tie, chunk
        _sift_up(heap_scores, heap_ties, heap_chunks, size)
        return size + 1
    if score > heap_scores[0] or (score == heap_scores[0] and tie < heap_ties[0]):
        heap_scores[0], heap_ties[0], heap_chunks[0] = score, tie, chunk
        _sift_down(heap_scores, heap_ties, heap_chunks, size)
    return size


@compiled
def _score(chunk, spans, factors, parameters, chunks, titles, texts, norms):  # type: ignore[no-untyped-def]
    """The score of a chunk, its terms summed in order."""
    score = 0.0
    for term in range(len(spans)):
        at = _place(chunks, spans[term, 0], spans[term, 1], chunk)
        if at < spans[term, 1] and chunks[at] == chunk:
            score += _share(factors[term, 0], factors[term, 1], titles[at], texts[at], norms[chunk], parameters)
    return score


@compiled
def _fill(base, spans, essential, factors, parameters, chunks, titles, texts, norms, sums):  # type: ignore[no-untyped-def]
    """Sum up the essential terms' shares in a stretch that begins at chunk `base`."""
    sums[:] = 0.0
    for term in essential:
        for at in range(spans[term, 0], spans[term, 1]):
            chunk = chunks[at]
            sums[chunk - base] += _share(
                factors[term, 0], factors[term, 1], titles[at], texts[at], norms[chunk], parameters
            )


@compiled
def _best(  # type: ignore[no-untyped-def]
    ranges,
    factors,
    parameters,
    chunks,
    titles,
    texts,
    block_lengths,
    block_titles,
    block_texts,
    norms,
    tie_order,
    limit,
    least,
):
    bounds = _bounds(
        ranges, factors, parameters, chunks, titles, texts, block_lengths, block_titles, block_texts, norms
    )
    totals = bounds.sum(axis=0)
    heap_scores, heap_ties = np.empty(limit), np.empty(limit, dtype=np.int32)
    heap_chunks = np.empty(limit, dtype=np.int64)
    size = 0
    spans, sums = np.empty((len(ranges), 2), dtype=np.int64), np.empty(STRETCH)
    for stretch in np.argsort(-totals):
        if totals[stretch] <= 0.0 or totals[stretch] < least * MARGIN:
            break
        base = stretch << STRETCH_BITS
        for term in range(len(ranges)):
            spans[term, 0] = _place(chunks, ranges[term, 0], ranges[term, 1], base)
            spans[term, 1] = _place(chunks, spans[term, 0], ranges[term, 1], base + STRETCH)
        weakest_first = np.argsort(bounds[:, stretch])
        left_out, rest = 0, 0.0
        while rest + bounds[weakest_first[left_out], stretch] < least * MARGIN:
            rest += bounds[weakest_first[left_out], stretch]
            left_out += 1
        _fill(base, spans, weakest_first[left_out:], factors, parameters, chunks, titles, texts, norms, sums)
        for place in range(STRETCH):
            if sums[place] <= 0.0 or sums[place] + rest < least * MARGIN:
                continue
            chunk = base + place
            score = _score(chunk, spans, factors, parameters, chunks, titles, texts, norms)
            if score < least:
                continue
            size = _offer(heap_scores, heap_ties, heap_chunks, size, score, tie_order[chunk], chunk)
            if size == limit:
                least = max(least, heap_scores[0])
    return heap_chunks[:size], heap_scores[:size]
