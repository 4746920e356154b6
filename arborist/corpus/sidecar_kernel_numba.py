"""What a posting sidecar is computed with, compiled: the postings of runs, and the corners of blocks."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arborist.corpus.fts_segment import RunPostings
from arborist.corpus.posting_blocks import BlockCorners, BlockPostings

SMALLEST_POSTING = 3
"""Bytes: the difference of the row, the size of the list, and one position."""

compiled: Any = njit(cache=True, nogil=True, error_model="numpy")


def run_postings(stream: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> RunPostings:
    """As `RunReader` says."""
    most = len(stream) // SMALLEST_POSTING + 1
    rows, counts = np.empty(most, dtype=np.int64), np.empty(len(starts), dtype=np.int64)
    titles, texts = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    count = _read_runs(stream, starts, ends, counts, rows, titles, texts)
    if count < 0:
        raise IndexError
    return RunPostings(counts, rows[:count], titles[:count], texts[:count])


@compiled
def _varint(stream, at, end):  # type: ignore[no-untyped-def]
    """The varint at `at` and where it ends; behind `end` where it is not whole before that."""
    value = np.int64(0)
    while at < end and stream[at] >= 0x80:
        value = value << 7 | stream[at] & 0x7F
        at += 1
    return (value << 7 | stream[at], at + 1) if at < end else (value, end + 1)


@compiled
def _read_runs(stream, starts, ends, counts, rows, titles, texts):  # type: ignore[no-untyped-def]
    """Fill the columns; how many postings there are, -1 where a run is not of the form."""
    count = 0
    for run in range(len(starts)):
        first, at, end, row = count, starts[run], ends[run], np.int64(0)
        if at < 0 or end > len(stream):
            return -1
        while at < end:
            step, at = _varint(stream, at, end)
            size, at = _varint(stream, at, end)
            list_end = at + (size >> 1)
            if list_end > end or list_end < at or count >= len(rows):
                return -1
            row += step
            rows[count] = row
            titles[count], texts[count] = _frequencies(stream, at, list_end)
            count += 1
            at = list_end
        counts[run] = count - first
    return count


@compiled
def _frequencies(stream, at, end):  # type: ignore[no-untyped-def]
    """How many positions a list has in the first column and in the second.

    A position is stored plus two, so that a varint of value one can only be a column mark, or the column's
    number behind it, which is one as well.
    """
    titles, texts, whole = 0, 0, True
    while at < end and not (whole and stream[at] == 1):
        whole = stream[at] < 0x80
        titles += whole
        at += 1
    for place in range(at + 2, end):
        texts += stream[place] < 0x80
    return titles, texts


def block_corners(blocks: BlockPostings) -> BlockCorners:
    """As `CornerFinder` says."""
    most_text, most_length = int(blocks.texts.max(initial=0)), int(blocks.lengths.max(initial=0))
    found = np.empty((3, len(blocks.texts)), dtype=np.int64)
    counts = np.empty(len(blocks.sizes), dtype=np.int64)
    total = _find_corners(
        blocks.sizes, blocks.lengths, blocks.titles, blocks.texts, most_length, most_text, counts, found
    )
    lengths, titles, texts = found[:, :total].copy()
    return BlockCorners(counts, lengths, titles, texts)


@compiled
def _find_corners(sizes, lengths, titles, texts, most_length, most_text, counts, found):  # type: ignore[no-untyped-def]
    """Fill the columns of corners; how many there are."""
    total, start = 0, 0
    packed = np.empty(sizes.max() if len(sizes) else 0, dtype=np.int64)
    for block in range(len(sizes)):
        size, first = sizes[block], total
        for place in range(size):
            at = start + place
            key = np.int64(titles[at]) * (1 + most_length) + lengths[at]
            packed[place] = key * (1 + most_text) + (most_text - texts[at])
        last_title, most = -1, -1
        for value in np.sort(packed[:size]):
            key, text = value // (1 + most_text), most_text - value % (1 + most_text)
            title = key // (1 + most_length)
            if title != last_title or text > most:
                found[0, total], found[1, total], found[2, total] = key % (1 + most_length), title, text
                last_title, most = title, text
                total += 1
        counts[block] = total - first
        start += size
    return total
