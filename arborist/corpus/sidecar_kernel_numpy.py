"""What a posting sidecar is computed with, in numpy: the postings of runs, and the corners of blocks."""

import numpy as np
from numpy.typing import NDArray

from arborist.corpus.fts_segment import RunPostings, varints
from arborist.corpus.posting_blocks import BlockCorners, BlockPostings

COLUMN_MARK = 1


def run_postings(stream: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> RunPostings:
    """As `RunReader` says. A list's size has to be read to find the next one, so all runs are walked side by side,
    one list a step.
    """
    walked = []
    runs = np.flatnonzero(starts < ends)
    at, rows = starts[runs], np.zeros(len(runs), dtype=np.int64)
    while len(runs):
        step, at = varints(stream, at)
        size, at = varints(stream, at)
        rows = rows + step
        list_end = at + (size >> 1)
        walked.append((runs, rows, at, list_end))
        going_on = list_end < ends[runs]
        runs, at, rows = runs[going_on], list_end[going_on], rows[going_on]
    counts = np.bincount(
        np.concatenate([np.empty(0, dtype=np.int64), *(item[0] for item in walked)]), minlength=len(starts)
    )
    first = np.cumsum(counts) - counts
    columns = [np.empty(int(counts.sum()), dtype=np.int64) for _ in range(3)]
    for number, (of_run, *item) in enumerate(walked):
        places = first[of_run] + number
        for column, values in zip(columns, item, strict=True):
            column[places] = values
    return RunPostings(counts, columns[0], *_frequencies(stream, columns[1], columns[2]))


def _frequencies(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """How many positions each list has in the first column and in the second.

    A position is stored plus two, so that a varint of value one can only be a column mark, or the column's
    number behind it, which is one as well.
    """
    final = data < 0x80
    finals_before = _counts_before(final)
    marked = data == COLUMN_MARK
    marked[1:] &= final[:-1]
    marks = np.append(np.flatnonzero(marked), len(data))
    marks_before = _counts_before(marked)
    mark = marks[marks_before[starts]]
    only_first = mark >= ends
    split = np.where(only_first, ends, mark)
    titles = finals_before[split] - finals_before[starts]
    texts = np.where(only_first, 0, finals_before[ends] - finals_before[split] - 2)
    return titles, texts


def _counts_before(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    """How many flags are set before each place, and before the end."""
    counts = np.zeros(len(flags) + 1, dtype=np.int32)
    np.cumsum(flags.view(np.int8), dtype=np.int32, out=counts[1:])
    return counts


def block_corners(blocks: BlockPostings) -> BlockCorners:
    """As `CornerFinder` says."""
    block = np.repeat(np.arange(len(blocks.sizes)), blocks.sizes)
    titles, texts, lengths = blocks.titles.astype(np.int64), blocks.texts.astype(np.int64), blocks.lengths
    most_text, most_length, most_title = (int(column.max(initial=0)) for column in (texts, lengths, titles))
    group = block * (1 + most_title) + titles
    # One integer each, so that they sort without a detour over an order.
    packed = (group * (1 + most_length) + lengths) * (1 + most_text) + (most_text - texts)
    packed, texts_left = np.divmod(np.sort(packed), 1 + most_text)
    group, sorted_lengths = np.divmod(packed, 1 + most_length)
    ranked = group * (2 + most_text) + (most_text - texts_left) + 1
    corner = np.ones(len(ranked), dtype=np.bool_)
    corner[1:] = (ranked[1:] > np.maximum.accumulate(ranked)[:-1]) | (group[1:] != group[:-1])
    of_block, corner_titles = np.divmod(group[corner], 1 + most_title)
    return BlockCorners(
        counts=np.bincount(of_block, minlength=len(blocks.sizes)),
        lengths=sorted_lengths[corner],
        titles=corner_titles,
        texts=most_text - texts_left[corner],
    )
