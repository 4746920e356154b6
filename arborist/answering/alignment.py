"""Which term of a claim stands where in its evidence."""

from collections.abc import Sequence

UNALIGNED = -1


def aligned(wanted: Sequence[str], terms: Sequence[str]) -> list[int]:
    """For each of `wanted` its index in `terms`, or UNALIGNED, by a longest common subsequence.

    Of equally long ones the leftmost is taken. Time and memory are the product of the lengths.
    """
    lengths = _common_lengths(wanted, terms)
    places = [UNALIGNED] * len(wanted)
    row = column = 0
    while row < len(wanted) and column < len(terms):
        if wanted[row] == terms[column] and lengths[row][column] == lengths[row + 1][column + 1] + 1:
            places[row] = column
            row, column = row + 1, column + 1
        elif lengths[row][column] == lengths[row][column + 1]:
            column += 1
        else:
            row += 1
    return places


def _common_lengths(wanted: Sequence[str], terms: Sequence[str]) -> list[list[int]]:
    """`lengths[i][j]`: the longest common subsequence of `wanted[i:]` and `terms[j:]`."""
    below = [0] * (len(terms) + 1)
    lengths = [below]
    for key in reversed(wanted):
        row = [0] * (len(terms) + 1)
        right = 0
        for column in range(len(terms) - 1, -1, -1):
            if terms[column] == key:
                right = below[column + 1] + 1
            elif below[column] > right:
                right = below[column]
            row[column] = right
        lengths.append(row)
        below = row
    return lengths[::-1]
