"""The best chunks from postings, compiled: stretches of chunks, the most promising first, until none is left.

For each stretch of chunks each term has a bound from its blocks of postings (block-max indexes; Ding and Suel
2011). A stretch whose bounds together stay below what the wanted number of chunks have reached is left out, and
with it all that follow. Inside a stretch, terms that together cannot bring up a chunk (MaxScore; Turtle and Flood
1995) are only looked up for chunks that the others have brought up.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from arborist.corpus.posting_sidecar import BLOCK, PostingSidecar
from arborist.retrieval.postings import PostingQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRETCH_BITS = 8
STRETCH = 1 << STRETCH_BITS
POSTINGS_WORTH_BLOCKS = 16_384
"""Reading fewer than these one by one costs less than what the looser bounds of whole blocks would let through."""
MOST_KEPT = 1_000
"""Terms; what is kept of one is sixteen bytes a stretch, that is 63 bytes a chunk for all of them."""
MARGIN = 1.0 - 1e-9
"""Sums of the same doubles in another order differ by far less than this."""

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")


def best_chunks(postings: PostingSidecar, query: PostingQuery) -> "tuple[NDArray[np.int64], NDArray[np.float64]]":
    """The `limit` best chunks of those that reach `least`, and their scores; in no order."""
    numbers, parameters = query.numbers, _parameters(query)
    kept = postings.derived.setdefault(("term bounds", parameters), _KeptBounds())
    stretches = (len(query.norms) + STRETCH - 1) >> STRETCH_BITS
    bounds = np.empty((stretches, len(numbers)))
    begins = np.empty((stretches, len(numbers)), dtype=np.int64)
    for place, number in enumerate(numbers.tolist()):
        most, first = kept.bounds(postings, query, number)
        _weigh(bounds, begins, place, most, first, query.weights[place], query.idfs[place])
    ranges = np.column_stack((postings.posting_starts[numbers], postings.posting_starts[numbers + 1]))
    factors = np.column_stack((query.weights, query.idfs))
    found = _best(
        bounds,
        begins,
        ranges,
        factors,
        parameters,
        _columns(postings),
        query.norms,
        postings.tie_order,
        query.limit,
        query.least,
    )
    return found[0], found[1]


def _parameters(query: PostingQuery) -> tuple[float, ...]:
    policy = query.policy
    return policy.title_weight, policy.text_weight, policy.bm25_k1, policy.bm25_b, query.average


def _columns(postings: PostingSidecar) -> "tuple[NDArray[Any], ...]":
    return postings.posting_chunks, postings.title_frequencies, postings.text_frequencies


class _KeptBounds:
    """What terms add at most in each stretch, without their weights; kept, since questions share their words.

    A frequent term is bounded by its blocks at first, and by its postings when it is asked for again.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
        self._met: set[int] = set()

    def bounds(
        self, postings: PostingSidecar, query: PostingQuery, number: int
    ) -> "tuple[NDArray[np.float64], NDArray[np.int64]]":
        """For each stretch what the term adds at most, and a place not behind the first of its postings there."""
        if (found := self._kept.get(number)) is not None:
            return found
        start, end = postings.posting_starts[number : number + 2].tolist()
        if end - start >= POSTINGS_WORTH_BLOCKS and number not in self._met:
            self._met.add(number)
            first, last = postings.block_starts[number : number + 2].tolist()
            corners = (
                postings.corner_starts,
                postings.corner_lengths,
                postings.corner_titles,
                postings.corner_texts,
            )
            chunks = postings.posting_chunks[start:end]
            bounds: tuple[NDArray[np.float64], NDArray[np.int64]] = _bounds_by_blocks(
                start, first, last, chunks, corners, _parameters(query), len(query.norms)
            )
            return bounds
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[number] = _bounds_by_postings(start, end, _columns(postings), _parameters(query), query.norms)
        return self._kept[number]


@compiled
def _saturated(title, text, norm, parameters):  # type: ignore[no-untyped-def]
    """A frequency as it counts, reckoned in the order of `bm25`."""
    frequency = parameters[0] * title + parameters[1] * text
    return (frequency * (parameters[2] + 1.0)) / (frequency + norm)


@compiled
def _share(weight, idf, title, text, norm, parameters):  # type: ignore[no-untyped-def]
    """What a term adds to a score, reckoned in the order of `bm25`."""
    return weight * (idf * _saturated(title, text, norm, parameters))


@compiled
def _bounds_by_postings(start, end, columns, parameters, norms):  # type: ignore[no-untyped-def]
    chunks, titles, texts = columns
    stretches = (len(norms) + STRETCH - 1) >> STRETCH_BITS
    most, first = np.zeros(stretches), np.full(stretches, end, dtype=np.int64)
    for at in range(end - 1, start - 1, -1):
        stretch = chunks[at] >> STRETCH_BITS
        most[stretch] = max(most[stretch], _saturated(titles[at], texts[at], norms[chunks[at]], parameters))
        first[stretch] = at
    return most, first


@compiled
def _bounds_by_blocks(start, first_block, last_block, chunks, corners, parameters, size):  # type: ignore[no-untyped-def]
    stretches = (size + STRETCH - 1) >> STRETCH_BITS
    most, first = np.zeros(stretches), np.full(stretches, start + len(chunks), dtype=np.int64)
    for block in range(last_block - 1, first_block - 1, -1):
        begin = (block - first_block) * BLOCK
        bound = _block_bound(block, parameters, corners)
        last = chunks[min(begin + BLOCK, len(chunks)) - 1]
        for stretch in range(chunks[begin] >> STRETCH_BITS, (last >> STRETCH_BITS) + 1):
            most[stretch] = max(most[stretch], bound)
            first[stretch] = start + begin
    return most, first


@compiled
def _block_bound(block, parameters, corners):  # type: ignore[no-untyped-def]
    starts, lengths, titles, texts = corners
    k1, b, average = parameters[2], parameters[3], parameters[4]
    most = 0.0
    for corner in range(starts[block], starts[block + 1]):
        norm = k1 * (1.0 - b + b * lengths[corner] / average)
        most = max(most, _saturated(titles[corner], texts[corner], norm, parameters))
    return most


@compiled
def _weigh(bounds, begins, place, most, first, weight, idf):  # type: ignore[no-untyped-def]
    """Put a term's bounds, now with its weights, among those of the query."""
    for stretch in range(len(most)):
        bounds[stretch, place] = weight * (idf * most[stretch])
        begins[stretch, place] = first[stretch]


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
def _weakest_first(bounds, stretch, order):  # type: ignore[no-untyped-def]
    """Sort the terms in `order` by their bounds in the stretch; they are few and nearly sorted already."""
    for place in range(1, len(order)):
        term, back = order[place], place
        while back and bounds[stretch, order[back - 1]] > bounds[stretch, term]:
            order[back] = order[back - 1]
            back -= 1
        order[back] = term


@compiled
def _too_weak(bounds, stretch, order, least):  # type: ignore[no-untyped-def]
    """How many terms, the weakest first, together cannot bring up a chunk; and what they add at most."""
    count, rest = 0, 0.0
    while (rest + bounds[stretch, order[count]]) / MARGIN < least:
        rest += bounds[stretch, order[count]]
        count += 1
    return count, rest


@compiled
def _fill(  # type: ignore[no-untyped-def]
    stretch, order, weak, begins, ranges, factors, parameters, chunks, titles, texts, norms, sums, touched
):
    """Sum up the stronger terms' shares in a stretch; how many chunks were `touched`."""
    base = stretch << STRETCH_BITS
    count = 0
    for place in range(weak, len(order)):
        term = order[place]
        weight, idf, end = factors[term, 0], factors[term, 1], ranges[term, 1]
        at = _place(chunks, begins[stretch, term], min(begins[stretch, term] + BLOCK, end), base)
        while at < end and chunks[at] < base + STRETCH:
            chunk = chunks[at]
            if sums[chunk - base] == 0.0:
                touched[count] = chunk
                count += 1
            sums[chunk - base] += _share(weight, idf, titles[at], texts[at], norms[chunk], parameters)
            at += 1
    return count


@compiled
def _promising(  # type: ignore[no-untyped-def]
    stretch,
    order,
    weak,
    rest,
    bounds,
    begins,
    ranges,
    factors,
    parameters,
    chunks,
    titles,
    texts,
    norms,
    sums,
    touched,
    count,
    least,
):
    """Keep of the `touched` chunks those that reach `least` with the weaker terms' shares; how many these are."""
    base, kept = stretch << STRETCH_BITS, 0
    for number in range(count):
        chunk, left = touched[number], rest
        score, sums[chunk - base] = sums[chunk - base], 0.0
        place = weak - 1
        while place >= 0 and (score + left) / MARGIN >= least:
            term = order[place]
            left -= bounds[stretch, term]
            end = min(begins[stretch, term] + STRETCH + BLOCK, ranges[term, 1])
            at = _place(chunks, begins[stretch, term], end, chunk)
            if at < end and chunks[at] == chunk:
                score += _share(
                    factors[term, 0], factors[term, 1], titles[at], texts[at], norms[chunk], parameters
                )
            place -= 1
        if (score + max(left, 0.0)) / MARGIN >= least:
            touched[kept] = chunk
            kept += 1
    return kept


@compiled
def _score(stretch, chunk, begins, ranges, factors, parameters, chunks, titles, texts, norms):  # type: ignore[no-untyped-def]
    """The score of a chunk, its terms summed in order."""
    score = 0.0
    for term in range(len(ranges)):
        end = min(begins[stretch, term] + STRETCH + BLOCK, ranges[term, 1])
        at = _place(chunks, begins[stretch, term], end, chunk)
        if at < end and chunks[at] == chunk:
            score += _share(factors[term, 0], factors[term, 1], titles[at], texts[at], norms[chunk], parameters)
    return score


@compiled
def _best(  # type: ignore[no-untyped-def]
    bounds, begins, ranges, factors, parameters, columns, norms, tie_order, limit, least
):
    chunks, titles, texts = columns
    totals = bounds.sum(axis=1) / MARGIN
    heap_scores, heap_ties = np.empty(limit), np.empty(limit, dtype=np.int32)
    heap_chunks, size = np.empty(limit, dtype=np.int64), 0
    sums, touched, order = np.zeros(STRETCH), np.empty(STRETCH, dtype=np.int64), np.arange(len(ranges))
    for stretch in np.argsort(-totals):
        if totals[stretch] <= 0.0 or totals[stretch] < least:
            break
        _weakest_first(bounds, stretch, order)
        weak, rest = _too_weak(bounds, stretch, order, least)
        count = _fill(
            stretch, order, weak, begins, ranges, factors, parameters, chunks, titles, texts, norms, sums, touched
        )
        count = _promising(
            stretch,
            order,
            weak,
            rest,
            bounds,
            begins,
            ranges,
            factors,
            parameters,
            chunks,
            titles,
            texts,
            norms,
            sums,
            touched,
            count,
            least,
        )
        for number in range(count):
            chunk = touched[number]
            score = _score(stretch, chunk, begins, ranges, factors, parameters, chunks, titles, texts, norms)
            if score >= least:
                size = _offer(heap_scores, heap_ties, heap_chunks, size, score, tie_order[chunk], chunk)
            if size == limit:
                least = max(least, heap_scores[0])
    return heap_chunks[:size], heap_scores[:size]
