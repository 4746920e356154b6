"""The postings read from FTS5's segment are those that FTS5 itself lists."""

import random
from collections.abc import Sequence
from importlib import import_module
from typing import cast

import apsw
import pytest

from arborist.corpus import fts_segment
from arborist.corpus.fts_segment import FIRST_SEGMENT, NOT_A_LEAF, RunReader, posting_slices

Posting = tuple[str, int, int, int]


def indexed(
    rows: Sequence[tuple[str, str]], hash_size: int = 64 * 1024 * 1024, page_size: int = 4050
) -> apsw.Connection:
    """An optimized index over rows of title and text, numbered from 1, on pages of so many bytes."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(title, text, tokenize='porter')")
    connection.execute("INSERT INTO f (f, rank) VALUES ('hashsize', ?)", (hash_size,))
    connection.execute("INSERT INTO f (f, rank) VALUES ('pgsz', ?)", (page_size,))
    with connection:
        connection.executemany(
            "INSERT INTO f (rowid, title, text) VALUES (?, ?, ?)",
            [(number, *row) for number, row in enumerate(rows, start=1)],
        )
    connection.execute("INSERT INTO f (f) VALUES ('optimize')")
    return connection


def listed(connection: apsw.Connection) -> list[Posting]:
    """All postings with their frequencies by column, as FTS5's own table of instances has them."""
    connection.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, f, instance)")
    return [
        (str(term), int(row), int(titles), int(texts))
        for term, row, titles, texts in connection.execute(
            "SELECT term, doc, sum(col = 'title'), sum(col = 'text') FROM temp.instances "
            "GROUP BY 1, 2 ORDER BY 1, 2"
        )
    ]


@pytest.fixture(params=["sidecar_kernel_numpy", "sidecar_kernel_numba"])
def reader(request: pytest.FixtureRequest) -> RunReader:
    """What reads runs: in numpy, and compiled where numba is there."""
    if request.param.endswith("numba"):
        pytest.importorskip("numba")
    return cast(RunReader, import_module(f"arborist.corpus.{request.param}"))


def read(connection: apsw.Connection, reader: RunReader) -> list[Posting]:
    pages = connection.execute(
        "SELECT block FROM f_data WHERE id >= ? AND id & ? = 0 ORDER BY id", (FIRST_SEGMENT, NOT_A_LEAF)
    )
    terms: list[str] = [""]
    postings: list[Posting] = []
    for part in posting_slices((page for (page,) in pages), reader):
        here = [terms[-1], *(term.decode() for term in part.terms)]
        of_rows = [term for term, count in zip(here, part.holding.tolist(), strict=True) for _ in range(count)]
        columns = (part.rows, part.title_frequencies, part.text_frequencies)
        postings += zip(of_rows, *(column.tolist() for column in columns), strict=True)
        terms += here[1:]
    return postings


def varied_rows(count: int) -> list[tuple[str, str]]:
    """Rows with common and rare words, empty columns, and a text whose positions fill pages of their own."""
    generator = random.Random(3)
    words = ["rain", "río", "\U0001f333x", *(f"w{number}" for number in range(600))]
    rows = []
    for number in range(count):
        title = " ".join(generator.choices(words[:20], k=3)) if number % 3 else ""
        length = 9_000 if number == count // 2 else generator.randrange(120)
        rows.append((title, " ".join(words[min(599, int(generator.paretovariate(0.5)))] for _ in range(length))))
    return rows


@pytest.mark.parametrize("slice_bytes", [1, 9_000, 2**23])
@pytest.mark.parametrize("hash_size", [20_000, 2**26])
def test_postings_are_those_that_fts5_lists(
    monkeypatch: pytest.MonkeyPatch, reader: RunReader, slice_bytes: int, hash_size: int
) -> None:
    monkeypatch.setattr(fts_segment, "SLICE_BYTES", slice_bytes)
    connection = indexed(varied_rows(500), hash_size)
    assert read(connection, reader) == listed(connection) != []


@pytest.mark.parametrize("page_size", [32, 33, 50, 64, 101])
def test_pages_may_end_anywhere_in_what_they_hold(
    monkeypatch: pytest.MonkeyPatch, reader: RunReader, page_size: int
) -> None:
    monkeypatch.setattr(fts_segment, "SLICE_BYTES", 10 * page_size)
    connection = indexed(varied_rows(120), page_size=page_size)
    assert read(connection, reader) == listed(connection) != []


def test_a_page_may_end_between_a_term_and_its_rows(reader: RunReader) -> None:
    for filled in range(4_020, 4_050):
        # Several segments, since pages are filled in this way when they are merged.
        connection = indexed([("", "rain " * filled + "wind"), ("", "zebra"), ("", "zinc")], hash_size=1)
        assert read(connection, reader) == listed(connection)


def test_a_term_that_stands_in_every_one_of_many_rows_is_read_over_all_its_pages(reader: RunReader) -> None:
    connection = indexed([("", "rain")] * 30_000)
    assert read(connection, reader) == [("rain", row, 0, 1) for row in range(1, 30_001)]


def test_an_index_of_nothing_has_no_postings(reader: RunReader) -> None:
    assert read(indexed([]), reader) == []
    assert read(indexed([("", ""), ("", ". ?")]), reader) == []
