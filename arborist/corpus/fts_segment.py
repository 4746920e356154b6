"""The postings of an FTS5 index, read out of its one segment as arrays.

Reading what FTS5 has written costs a fraction of tokenizing again, and cannot disagree with it. The format is that
of SQLite's `fts5_index.c`: leaf pages of terms with their doclists; a doclist is row ids as differences, each with
the size of its position list; a position list is the positions in the first column, then 0x01, the number of the
other column, and the positions there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from arborist.errors import CorpusError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SLICE_BYTES = 4 * 1024 * 1024
PADDING = 16
PAGE_HEADER_BYTES = 4
# The row id of a page is its segment, one bit for doclist indexes, five of height, 31 of page number.
FIRST_SEGMENT = 1 << 37
NOT_A_LEAF = (1 << 37) - (1 << 31)


@dataclass(frozen=True, slots=True)
class PostingSlice:
    """Some of an index's postings, in the order of terms, then rows.

    `terms` are those that begin in the slice. `holding` says how many of the slice's rows hold the last term of
    the slice before, which may go on here, and then how many hold each of `terms`. The frequencies say how often
    the term stands in each of the two columns of a row.
    """

    terms: tuple[bytes, ...]
    holding: "NDArray[np.int64]"
    rows: "NDArray[np.int64]"
    title_frequencies: "NDArray[np.int32]"
    text_frequencies: "NDArray[np.int32]"


@dataclass(frozen=True, slots=True)
class RunPostings:
    """The postings of several runs, one run after the other; `counts` says how many each run has."""

    counts: "NDArray[np.int64]"
    rows: "NDArray[np.int64]"
    title_frequencies: "NDArray[np.int32]"
    text_frequencies: "NDArray[np.int32]"


class RunReader(Protocol):
    """Reads runs: stretches of a doclist whose first row id is a whole one and no difference."""

    def run_postings(
        self, stream: "NDArray[np.uint8]", starts: "NDArray[np.int64]", ends: "NDArray[np.int64]"
    ) -> RunPostings:
        """The postings of the runs `stream[start:end]`; the stream goes on for some bytes behind the last.

        Raises IndexError where a run is not of the form.
        """


@dataclass(frozen=True, slots=True)
class _Pages:
    """Neighbouring pages laid end to end with some bytes behind them, and places among them by page.

    Of the first page what comes before `content_starts` is left out, of the last what comes behind `content_ends`.
    `continuing` is where a page's first row id stands if no term of the page comes before it, else 0.
    """

    data: bytes
    content_starts: "NDArray[np.int64]"
    content_ends: "NDArray[np.int64]"
    continuing: "NDArray[np.int64]"


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms that begin on some pages: page, place of the entry, and place of the doclist behind it."""

    terms: tuple[bytes, ...]
    pages: "NDArray[np.int64]"
    entries: "NDArray[np.int64]"
    doclists: "NDArray[np.int64]"


def posting_slices(pages: Iterable[bytes], reader: RunReader) -> Iterator[PostingSlice]:
    """The postings on the leaf pages of an optimized index of two columns, a bounded number at a time.

    Raises CorpusError for pages of another form.
    """
    held: list[bytes] = []
    size, start = 0, PAGE_HEADER_BYTES
    try:
        for page in pages:
            cut = _first_row_or_term(page)
            if size >= SLICE_BYTES and cut:
                yield _decoded([*held, page], start, cut, reader)
                held, size, start = [], 0, cut
            held.append(page)
            size += len(page)
        if held:
            yield _decoded(held, start, 0, reader)
    except (IndexError, ValueError) as error:
        raise CorpusError("the full-text index is not of the form that its postings can be read from") from error


def _first_row_or_term(page: bytes) -> int:
    """Where the page's first row id or term stands, whichever comes first; 0 where there is neither."""
    content_end, first_row = int.from_bytes(page[2:4], "big"), int.from_bytes(page[:2], "big")
    first_term, at = 0, content_end
    while at < len(page):
        first_term = first_term << 7 | page[at] & 0x7F
        if page[at] < 0x80:
            break
        at += 1
    return min(first_row or first_term, first_term or first_row)


def _decoded(held: Sequence[bytes], start: int, cut: int, reader: RunReader) -> PostingSlice:
    """The postings from `start` in the first page on, to `cut` in the last or to its end."""
    import numpy as np

    sizes = np.array([len(page) for page in held], dtype=np.int64)
    page_starts = np.cumsum(sizes) - sizes
    data = b"".join([*held, bytes(PADDING)])
    laid = np.frombuffer(data, dtype=np.uint8)
    content_ends = page_starts + _big_endian(laid, page_starts + 2)
    footers = content_ends.copy()
    first_rows = _big_endian(laid, page_starts)
    if cut:
        # What comes behind the cut is the next slice's.
        content_ends[-1], footers[-1], first_rows[-1] = page_starts[-1] + cut, page_starts[-1] + sizes[-1], 0
    content_starts = page_starts + PAGE_HEADER_BYTES
    content_starts[0] = start
    terms = _terms(data, page_starts, footers, page_starts + sizes)
    first_terms = np.full(len(held), len(data), dtype=np.int64)
    first_terms[terms.pages[::-1]] = terms.entries[::-1]
    continuing = np.where((first_rows > 0) & (page_starts + first_rows < first_terms), page_starts + first_rows, 0)
    return _read(_Pages(data, content_starts, content_ends, continuing), terms, reader)


def _big_endian(data: "NDArray[np.uint8]", places: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """The integers of two bytes at these places."""
    import numpy as np

    return data[places].astype(np.int64) << 8 | data[places + 1]


def _terms(
    data: bytes, page_starts: "NDArray[np.int64]", footers: "NDArray[np.int64]", page_ends: "NDArray[np.int64]"
) -> _Terms:
    """A page's footer holds the offset of its first term and then differences; each term but the first of a page
    leaves out a prefix that it shares with the one before.
    """
    import numpy as np

    laid = np.frombuffer(data, dtype=np.uint8)
    lengths = page_ends - footers
    places = np.repeat(footers - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    begins = np.ones(len(places), dtype=np.bool_)
    begins[1:] = laid[places[:-1]] < 0x80
    pages = np.repeat(np.arange(len(lengths)), lengths)[begins]
    steps, _ = varints(laid, places[begins])
    first = np.ones(len(pages), dtype=np.bool_)
    first[1:] = pages[1:] != pages[:-1]
    totals = np.cumsum(steps)
    before = (totals - steps)[first]
    entries = totals - before[np.cumsum(first) - 1] + page_starts[pages]
    shared, at = np.zeros(len(entries), dtype=np.int64), entries.copy()
    shared[~first], at[~first] = varints(laid, entries[~first])
    size, at = varints(laid, at)
    terms, term = [], b""
    for kept, begin, end in zip(shared.tolist(), at.tolist(), (at + size).tolist(), strict=True):
        term = term[:kept] + data[begin:end]
        # The first byte says which index the term is in, the main one or one of prefixes.
        terms.append(term[1:])
    return _Terms(tuple(terms), pages, entries, at + size)


def _read(pages: _Pages, terms: _Terms, reader: RunReader) -> PostingSlice:
    """The postings, run by run; contents are laid end to end, since a position list may go over a page's end."""
    import numpy as np

    spans = list(zip(pages.content_starts.tolist(), pages.content_ends.tolist(), strict=True))
    stream = b"".join([*(pages.data[start:end] for start, end in spans), bytes(PADDING)])
    lengths = pages.content_ends - pages.content_starts
    shifts = np.cumsum(lengths) - lengths - pages.content_starts
    (continued,) = np.nonzero(pages.continuing)
    continuing = (pages.continuing + shifts)[continued]
    starts = np.concatenate((continuing, terms.doclists + shifts[terms.pages]))
    boundaries = np.concatenate((continuing, terms.entries + shifts[terms.pages]))
    # Where a page ends behind a term's entry, its doclist begins on the next, and the term has an empty run here.
    order = np.argsort(boundaries)
    ends = np.append(boundaries[order][1:], len(stream) - PADDING)
    run_terms = np.cumsum(order >= len(continuing))
    read = reader.run_postings(np.frombuffer(stream, dtype=np.uint8), starts[order], ends)
    holding = np.zeros(len(terms.terms) + 1, dtype=np.int64)
    np.add.at(holding, run_terms, read.counts)
    return PostingSlice(terms.terms, holding, read.rows, read.title_frequencies, read.text_frequencies)


def varints(data: "NDArray[np.uint8]", at: "NDArray[np.int64]") -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """The SQLite varints at these places, and where they end; none here is longer than eight bytes."""
    import numpy as np

    bytes_here = data[at]
    values, at = (bytes_here & 0x7F).astype(np.int64), at + 1
    longer = np.flatnonzero(bytes_here >= 0x80)
    while len(longer):
        bytes_here = data[at[longer]]
        values[longer] = values[longer] << 7 | bytes_here & 0x7F
        at[longer] += 1
        longer = longer[bytes_here >= 0x80]
    return values, at
