"""Postings that do not give what FTS5 gives are found and named."""

from pathlib import Path

import pytest

from arborist.corpus.posting_sidecar import sidecar_file
from arborist.corpus.shard import Shard, ShardFault
from arborist.home import Home
from arborist.retrieval.postings_check import postings_faults
from tests.corpora import document, published

DOCUMENTS = [
    document(f"d{number}", f"Rain fell on day {number} and wind. " * (number % 5 + 1)) for number in range(90)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return published(Home(tmp_path), DOCUMENTS)[0]


def faults(path: Path) -> list[ShardFault]:
    with Shard(path) as shard:
        return list(postings_faults(shard))


def test_postings_as_they_were_written_have_no_faults(path: Path) -> None:
    assert faults(path) == []


def test_missing_postings_are_a_fault(path: Path) -> None:
    sidecar_file(path).unlink()
    (fault,) = faults(path)
    assert (fault.shard, fault.place) == ("s-000", "postings")


@pytest.mark.parametrize("array", ["lengths", "text_frequencies"])
def test_postings_that_were_altered_are_a_fault(path: Path, array: str) -> None:
    with Shard(path) as shard:
        assert shard.postings is not None
        altered = getattr(shard.postings, array)
    data = sidecar_file(path).read_bytes()
    place = data.index(altered.tobytes())
    changed = (altered + 1).astype(altered.dtype).tobytes()
    sidecar_file(path).write_bytes(data[:place] + changed + data[place + len(changed) :])
    problems = [fault.problem for fault in faults(path)]
    assert any("not the scores that FTS5 gives" in problem for problem in problems)


def test_a_term_that_is_counted_once_too_often_is_a_fault_whatever_is_sampled(path: Path) -> None:
    with Shard(path) as shard:
        assert shard.postings is not None
        number = shard.postings.term_number("77")
        assert number is not None
        at = int(shard.postings.posting_starts[number])
        frequencies = shard.postings.text_frequencies
    data = bytearray(sidecar_file(path).read_bytes())
    data[data.index(frequencies.tobytes()) + at * frequencies.itemsize] += 1
    sidecar_file(path).write_bytes(data)
    assert [fault.problem for fault in faults(path) if "'77'" in fault.place] == [
        "1 chunks and 4 times, where the index counts 1 and 3"
    ]


def test_an_empty_shard_has_nothing_to_ask(tmp_path: Path) -> None:
    for path in published(Home(tmp_path), [document("a", "Rain.")], shards=3):
        assert faults(path) == []
