"""Ranges of partitions: how a run is told to cover several, and which ones a run covers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

PARTITION = "dagster/partition"
RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def contiguous(names: Sequence[str], wanted: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The wanted names as runs of neighbours in `names`."""
    chosen = set(wanted)
    run: list[str] = []
    for name in names:
        if name in chosen:
            run.append(name)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def range_tags(partitions: Sequence[str]) -> dict[str, str]:
    """The tags of a run over these neighbours."""
    return {RANGE_START: partitions[0], RANGE_END: partitions[-1]}


def covered(names: Sequence[str], tags: Mapping[str, str]) -> tuple[str, ...]:
    """Those of `names` that a run with these tags is over; none where it is over others, or over none."""
    first = tags.get(RANGE_START) or tags.get(PARTITION)
    last = tags.get(RANGE_END) or first
    if first not in names or last not in names:
        return ()
    return tuple(names[names.index(first) : names.index(last) + 1])
