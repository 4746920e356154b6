"""A posting sidecar holds what the shard's index holds, and is only read beside the shard it was made from."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from arborist.corpus.posting_sidecar import BLOCK, PostingSidecar, has_postings, sidecar_file, write_postings
from arborist.corpus.shard import Shard
from arborist.home import Home
from tests.corpora import document, published

DOCUMENTS = [
    document("a", "Rain and wind. The river floods after rain.", "Weather", ["Climate"]),
    document("b", "A bridge crosses the river."),
    *(document(f"c{number:03}", "Rain. " * (number % 7 + 1) + "Wind.") for number in range(300)),
]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(Home(tmp_path_factory.mktemp("pristine")), DOCUMENTS, max_characters=25)[0]


@pytest.fixture
def path(pristine: Path, tmp_path: Path) -> Path:
    """A shard file with its sidecar, of its own for each test."""
    for file in (pristine, sidecar_file(pristine)):
        shutil.copyfile(file, tmp_path / file.name)
    return tmp_path / pristine.name


def postings_of(path: Path) -> PostingSidecar | None:
    with Shard(path) as shard:
        return shard.postings


def whole_postings(path: Path) -> PostingSidecar:
    postings = postings_of(path)
    assert postings is not None
    return postings


def test_every_posting_of_the_index_is_in_the_sidecar_and_no_other(path: Path) -> None:
    postings = whole_postings(path)
    with Shard(path) as shard:
        shard.rows("CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, chunks_fts, instance)")
        rows = shard.rows(
            "SELECT term, doc, sum(col = 'title'), sum(col = 'text') FROM temp.instances "
            "GROUP BY 1, 2 ORDER BY 1, 2"
        )
    found = []
    for stem in sorted({row[0] for row in rows}):
        number = postings.term_number(stem)
        assert number is not None
        span = slice(*postings.posting_starts[number : number + 2].tolist())
        for chunk, titles, texts in zip(
            postings.posting_chunks[span].tolist(),
            postings.title_frequencies[span].tolist(),
            postings.text_frequencies[span].tolist(),
            strict=True,
        ):
            found.append((stem, chunk + 1, titles, texts))
    assert found == rows
    assert len(found) == len(postings.posting_chunks)


def test_no_posting_of_a_block_beats_all_of_its_corners(path: Path) -> None:
    postings = whole_postings(path)
    number = postings.term_number("rain")
    assert number is not None
    assert postings.holding("rain") > 2 * BLOCK
    start, end = postings.posting_starts[number : number + 2].tolist()
    blocks = range(*postings.block_starts[number : number + 2].tolist())
    assert len(blocks) == -(-(end - start) // BLOCK)
    for block, first in zip(blocks, range(start, end, BLOCK), strict=True):
        span = slice(first, min(first + BLOCK, end))
        corners = slice(*postings.corner_starts[block : block + 2].tolist())
        found = set(triples(postings.lengths[postings.posting_chunks[span]], postings, span))
        kept = set(
            zip(
                postings.corner_lengths[corners].tolist(),
                postings.corner_titles[corners].tolist(),
                postings.corner_texts[corners].tolist(),
                strict=True,
            )
        )
        assert kept <= found
        for length, titles, texts in found:
            assert any(a <= length and b >= titles and c >= texts for a, b, c in kept)
    assert len(postings.corner_lengths) < len(postings.posting_chunks) / 4


def triples(lengths: NDArray[Any], postings: PostingSidecar, span: slice) -> Iterator[tuple[int, int, int]]:
    titles, texts = postings.title_frequencies[span].tolist(), postings.text_frequencies[span].tolist()
    return zip(lengths.tolist(), titles, texts, strict=True)


def test_a_term_of_few_postings_has_no_blocks(path: Path) -> None:
    postings = whole_postings(path)
    number = postings.term_number("bridg")
    assert number is not None
    assert postings.block_starts[number] == postings.block_starts[number + 1]


def test_ties_are_ordered_by_document_root_and_chunk_index(path: Path) -> None:
    order = whole_postings(path).tie_order.tolist()
    with Shard(path) as shard:
        rows = shard.rows(
            "SELECT chunks.id - 1 FROM chunks JOIN documents ON documents.id = document_id "
            "ORDER BY document_root, chunk_index"
        )
    assert [order[chunk] for (chunk,) in rows] == list(range(len(order)))


def test_what_no_chunk_holds_is_not_in_the_vocabulary(path: Path) -> None:
    postings = whole_postings(path)
    assert [postings.term_number(stem) for stem in ("", "0", "rai", "rains", "zzz", "\U0001f333")] == [None] * 6
    assert postings.holding("zzz") == 0


def test_a_sidecar_is_written_the_same_every_time(path: Path) -> None:
    before = sidecar_file(path).read_bytes()
    sidecar_file(path).unlink()
    with Shard(path) as shard:
        assert shard.postings is None
        write_postings(shard)
    assert sidecar_file(path).read_bytes() == before


def test_the_sidecar_of_other_content_is_not_read(path: Path, tmp_path: Path) -> None:
    (other,) = published(Home(tmp_path / "other"), [document("a", "Rain.")])
    shutil.copyfile(sidecar_file(other), sidecar_file(path))
    assert postings_of(path) is None


@pytest.mark.parametrize("kept", [0, 1, 30, 1000, -1])
def test_a_sidecar_that_is_not_whole_is_not_read(path: Path, kept: int) -> None:
    data = sidecar_file(path).read_bytes()
    sidecar_file(path).write_bytes(data[:kept])
    assert postings_of(path) is None
    with Shard(path) as shard:
        assert not has_postings(path, shard.meta.digest)


def test_a_shard_of_no_documents_has_postings_of_nothing(tmp_path: Path) -> None:
    both = [whole_postings(path) for path in published(Home(tmp_path), [document("a", "Rain.")], shards=2)]
    assert sorted((item.chunks, item.tokens, item.holding("rain")) for item in both) == [(0, 0, 0), (1, 2, 1)]
