"""The posting sidecar of a shard: its full-text index as sorted integers in one memory-mapped file beside it.

It holds integers only, so that the statistics of all searched shards enter at query time (`performance.md`, f).
It is derived from the shard and bound to it by the digest of its content and index; where it is missing or belongs
to another one, FTS5 answers until it is made anew. The file is arrays laid end to end, then a directory of them in
JSON, the directory's length in eight bytes, and the name of the format.
"""

import json
import mmap
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Protocol

from arborist.corpus.fts_segment import FIRST_SEGMENT, NOT_A_LEAF, RunReader, posting_slices, varints
from arborist.corpus.posting_blocks import BlockCorners, BlockPostings, CornerFinder
from arborist.errors import CorpusError
from arborist.files import replacing
from arborist.hashing import canonical_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from arborist.corpus.shard import Shard

FORMAT = b"arborist-postings-3\n"
BLOCK = 128
"""Postings a block: what a block can score at most is known without reading it. Terms with no more have none."""
ALIGNMENT = 64
SPOOL_ITEMS = 1 << 20
BLOCKS_AT_ONCE = 4096
MOST_LOOKED_UP = 10_000
CHUNKS_WORTH_NUMBA = 30_000
"""Reading the postings of so many chunks in numpy takes as long as importing numba."""


@dataclass(frozen=True, slots=True)
class PostingSidecar:
    """The arrays of a sidecar, mapped into memory. Chunks are counted from 0, one less than their row ids.

    lengths: tokens of each chunk, title and text together. tie_order: rank of each chunk by (document root, chunk
    index). vocabulary, term_starts: the terms in the order of their bytes, laid end to end. posting_starts: where
    each term's postings begin. posting_chunks: the chunks that hold a term, ascending. title_frequencies,
    text_frequencies: how often, by column. block_starts: where each term's blocks begin. corner_starts: where each
    block's corners begin, its postings that no other of it beats in length and both frequencies; corner_lengths,
    corner_titles, corner_texts: these three. Whatever the weights, a block's best score is one of its corners'.
    """

    chunks: int
    tokens: int
    vocabulary: mmap.mmap | bytes
    vocabulary_start: int
    term_starts: "NDArray[np.int64]"
    posting_starts: "NDArray[np.int64]"
    posting_chunks: "NDArray[np.int32]"
    title_frequencies: "NDArray[Any]"
    text_frequencies: "NDArray[Any]"
    lengths: "NDArray[np.int32]"
    tie_order: "NDArray[np.int32]"
    block_starts: "NDArray[np.int64]"
    corner_starts: "NDArray[np.int64]"
    corner_lengths: "NDArray[np.int32]"
    corner_titles: "NDArray[Any]"
    corner_texts: "NDArray[Any]"
    derived: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """A place for what a search derives from the arrays and can use again."""
    looked_up: dict[str, int | None] = field(default_factory=dict)

    def term_number(self, stem: str) -> int | None:
        """The place of a term in the vocabulary; None where no chunk holds it."""
        if stem not in self.looked_up:
            if len(self.looked_up) >= MOST_LOOKED_UP:
                self.looked_up.clear()
            self.looked_up[stem] = self._found(stem.encode())
        return self.looked_up[stem]

    def _found(self, wanted: bytes) -> int | None:
        number = bisect_left(range(len(self.term_starts) - 1), wanted, key=self._term)
        return number if number < len(self.term_starts) - 1 and self._term(number) == wanted else None

    def term(self, number: int) -> str:
        """The term at a place in the vocabulary."""
        return self._term(number).decode("utf-8", "replace")

    def _term(self, number: int) -> bytes:
        start, end = self.term_starts[number : number + 2].tolist()
        return self.vocabulary[self.vocabulary_start + start : self.vocabulary_start + end]

    def holding(self, stem: str) -> int:
        """How many chunks hold the term."""
        number = self.term_number(stem)
        if number is None:
            return 0
        return int(self.posting_starts[number + 1] - self.posting_starts[number])


def sidecar_file(shard_file: Path) -> Path:
    """Where the sidecar of a shard file lies."""
    return shard_file.with_suffix(".postings")


def read_postings(shard_file: Path, shard_digest: str) -> PostingSidecar | None:
    """The sidecar beside a shard file of this digest; None where there is no whole one."""
    try:
        with sidecar_file(shard_file).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    directory = _directory(mapped)
    if directory is None or directory["shard_digest"] != shard_digest:
        return None
    return _opened(mapped, directory)


def has_postings(shard_file: Path, shard_digest: str) -> bool:
    """Whether a whole sidecar lies beside a shard file of this digest."""
    with (
        suppress(OSError, ValueError),
        sidecar_file(shard_file).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        directory = _directory(mapped)
        return directory is not None and directory["shard_digest"] == shard_digest
    return False


def _directory(mapped: mmap.mmap) -> dict[str, Any] | None:
    end = len(mapped) - len(FORMAT) - 8
    if end < 0 or mapped[end + 8 :] != FORMAT:
        return None
    start = end - int.from_bytes(mapped[end : end + 8], "big")
    if start < 0:
        return None
    try:
        directory = json.loads(mapped[start:end])
    except ValueError:
        return None
    return directory if isinstance(directory, dict) and "shard_digest" in directory else None


def _opened(mapped: mmap.mmap, directory: Mapping[str, Any]) -> PostingSidecar:
    import numpy as np

    arrays: dict[str, Any] = {
        name: np.frombuffer(mapped, dtype=kind, count=count, offset=offset)
        for name, (kind, count, offset) in directory["arrays"].items()
    }
    del arrays["vocabulary"]
    return PostingSidecar(
        chunks=directory["chunks"],
        tokens=directory["tokens"],
        vocabulary=mapped,
        vocabulary_start=directory["arrays"]["vocabulary"][2],
        **arrays,
    )


class SidecarKernel(RunReader, CornerFinder, Protocol):
    """What a sidecar is computed with."""


class _ArrayFile:
    """Writes arrays one behind the other, each at an aligned place, and the directory at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._arrays: dict[str, tuple[str, int, int]] = {}

    def add(self, name: str, pieces: "Iterator[NDArray[Any]]", dtype: "DTypeLike") -> None:
        import numpy as np

        self._file.write(bytes(-self._file.tell() % ALIGNMENT))
        offset, count = self._file.tell(), 0
        for piece in pieces:
            self._file.write(piece.astype(dtype, copy=False).data)
            count += len(piece)
        self._arrays[name] = (np.dtype(dtype).str, count, offset)

    def finish(self, labels: Mapping[str, Any]) -> None:
        directory = canonical_json({**labels, "arrays": {name: list(item) for name, item in self._arrays.items()}})
        self._file.write(directory + len(directory).to_bytes(8, "big") + FORMAT)


class _Spool:
    """A column that grows on disk until its largest value is known."""

    def __init__(self, file: IO[bytes], dtype: "DTypeLike") -> None:
        import numpy as np

        self._file, self._dtype = file, np.dtype(dtype)
        self._most = 0

    def append(self, values: "NDArray[Any]") -> None:
        self._most = max(self._most, int(values.max(initial=0)))
        self._file.write(values.astype(self._dtype).data)

    def pieces(self, edges: Sequence[int]) -> "Iterator[NDArray[Any]]":
        """The items between each two neighbouring `edges`."""
        import numpy as np

        for start, end in pairwise(edges):
            self._file.seek(start * self._dtype.itemsize)
            yield np.frombuffer(self._file.read((end - start) * self._dtype.itemsize), dtype=self._dtype)

    @property
    def narrow(self) -> "np.dtype[Any]":
        """The smallest unsigned type that holds every value."""
        import numpy as np

        return np.min_scalar_type(self._most)


@dataclass(frozen=True, slots=True)
class _Postings:
    """The columns of all postings, and the terms that they belong to with the number of chunks that hold each."""

    chunks: _Spool
    titles: _Spool
    texts: _Spool
    terms: list[bytes]
    holding: "NDArray[np.int64]"
    kernel: "SidecarKernel"


def write_postings(shard: "Shard") -> None:
    """Write the sidecar of an open shard from its full-text index.

    Memory is bounded by the vocabulary and the number of chunks, not by the postings. Raises CorpusError for an
    index of a form that is not known, OSError where the disk refuses.
    """
    # Questions read sidecars without it.
    from tempfile import TemporaryFile

    with (
        replacing(sidecar_file(shard.path)) as partial,
        TemporaryFile(dir=partial.parent) as chunks,
        TemporaryFile(dir=partial.parent) as titles,
        TemporaryFile(dir=partial.parent) as texts,
        partial.open("wb") as file,
    ):
        postings = _spooled(shard, _Spool(chunks, "<i4"), _Spool(titles, "<u4"), _Spool(texts, "<u4"))
        _write(shard, postings, _ArrayFile(file))


def _spooled(shard: "Shard", chunks: _Spool, titles: _Spool, texts: _Spool) -> _Postings:
    import numpy as np

    rows = shard.rows("SELECT DISTINCT id >> 37 FROM chunks_fts_data WHERE id >= ?", (FIRST_SEGMENT,))
    if len(rows) > 1:
        raise CorpusError(f"{shard.path}: its full-text index is not in one segment (run `arborist build`)")
    kernel = _kernel_that_pays(shard.meta.chunks)
    terms: list[bytes] = []
    holding: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
    for part in posting_slices(_leaf_pages(shard), kernel):
        holding[-1][-1] += part.holding[0]
        if part.terms:
            holding.append(part.holding[1:])
            terms += part.terms
        chunks.append(part.rows - 1)
        titles.append(part.title_frequencies)
        texts.append(part.text_frequencies)
    return _Postings(chunks, titles, texts, terms, np.concatenate(holding)[1:], kernel)


def _kernel_that_pays(chunks: int) -> "SidecarKernel":
    """The numba kernel where numba is there and the shard is worth importing it."""
    if chunks >= CHUNKS_WORTH_NUMBA and find_spec("numba") is not None:
        from arborist.corpus import sidecar_kernel_numba

        return sidecar_kernel_numba
    from arborist.corpus import sidecar_kernel_numpy

    return sidecar_kernel_numpy


def _leaf_pages(shard: "Shard") -> Iterator[bytes]:
    for (page,) in shard.connection.execute(
        "SELECT block FROM chunks_fts_data WHERE id >= ? AND id & ? = 0 ORDER BY id", (FIRST_SEGMENT, NOT_A_LEAF)
    ):
        yield page


def _write(shard: "Shard", postings: _Postings, arrays: _ArrayFile) -> None:
    import numpy as np

    holding, lengths = postings.holding, _lengths(shard)
    posting_starts = _starts(holding)
    edges = [*range(0, int(posting_starts[-1]), SPOOL_ITEMS), int(posting_starts[-1])]
    arrays.add("posting_chunks", postings.chunks.pieces(edges), "<i4")
    arrays.add("title_frequencies", postings.titles.pieces(edges), postings.titles.narrow)
    arrays.add("text_frequencies", postings.texts.pieces(edges), postings.texts.narrow)
    arrays.add("lengths", iter([lengths]), "<i4")
    arrays.add("tie_order", iter([_tie_order(shard)]), "<i4")
    arrays.add("vocabulary", iter([np.frombuffer(b"".join(postings.terms), dtype=np.uint8)]), "u1")
    arrays.add(
        "term_starts", iter([_starts(np.array([len(term) for term in postings.terms], dtype="<i8"))]), "<i8"
    )
    arrays.add("posting_starts", iter([posting_starts]), "<i8")
    _add_blocks(arrays, postings, lengths, posting_starts)
    arrays.finish(
        {"shard_digest": shard.meta.digest, "chunks": len(lengths), "tokens": int(lengths.sum(dtype=np.int64))}
    )


def _add_blocks(
    arrays: _ArrayFile, postings: _Postings, lengths: "NDArray[np.int32]", posting_starts: "NDArray[np.int64]"
) -> None:
    import numpy as np

    blocks = np.where(postings.holding > BLOCK, -(-postings.holding // BLOCK), 0)
    block_starts = _starts(blocks)
    within = np.arange(block_starts[-1]) - np.repeat(block_starts[:-1], blocks)
    begins = np.repeat(posting_starts[:-1], blocks) + within * BLOCK
    ends = np.minimum(begins + BLOCK, np.repeat(posting_starts[1:], blocks))
    parts = [
        _corners(postings, lengths, begins[first : first + BLOCKS_AT_ONCE], ends[first : first + BLOCKS_AT_ONCE])
        for first in range(0, len(begins), BLOCKS_AT_ONCE)
    ]
    arrays.add("block_starts", iter([block_starts]), "<i8")
    counts = np.concatenate([np.empty(0, dtype=np.int64), *(part.counts for part in parts)])
    arrays.add("corner_starts", iter([_starts(counts)]), "<i8")
    arrays.add("corner_lengths", (part.lengths for part in parts), "<i4")
    arrays.add("corner_titles", (part.titles for part in parts), postings.titles.narrow)
    arrays.add("corner_texts", (part.texts for part in parts), postings.texts.narrow)


def _corners(
    postings: _Postings, lengths: "NDArray[np.int32]", begins: "NDArray[np.int64]", ends: "NDArray[np.int64]"
) -> BlockCorners:
    """The corners of blocks that begin and end there; what lies between two of them belongs to terms without."""
    import numpy as np

    edges = [int(begins[0]), int(ends[-1])]
    (chunks,), (titles,), (texts,) = (
        list(spool.pieces(edges)) for spool in (postings.chunks, postings.titles, postings.texts)
    )
    sizes = ends - begins
    inside = np.repeat(begins - edges[0] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    return postings.kernel.block_corners(
        BlockPostings(sizes, lengths[chunks[inside]], titles[inside], texts[inside])
    )


def _starts(counts: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Where each of several lists laid end to end begins, and where the last one ends."""
    import numpy as np

    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def _lengths(shard: "Shard") -> "NDArray[np.int32]":
    """The tokens of every chunk, as FTS5 has counted them: a varint for each of its two columns."""
    import numpy as np

    ((count, last),) = shard.rows("SELECT count(*), coalesce(max(id), 0) FROM chunks_fts_docsize")
    if count != last:
        raise CorpusError(f"{shard.path}: its chunks are not numbered from 1 (run `arborist build`)")
    with shard.reading():
        sizes = b"".join(
            size for (size,) in shard.connection.execute("SELECT sz FROM chunks_fts_docsize ORDER BY id")
        )
    data = np.frombuffer(sizes + bytes(1), dtype=np.uint8)
    last_bytes = np.flatnonzero(data[:-1] < 0x80)
    begins = np.concatenate(([0], last_bytes[:-1] + 1)) if len(last_bytes) else last_bytes
    lengths: NDArray[np.int32] = varints(data, begins)[0].reshape(-1, 2).sum(axis=1, dtype=np.int32)
    return lengths


def _tie_order(shard: "Shard") -> "NDArray[np.int32]":
    import numpy as np

    sql = (
        "SELECT chunks.id FROM documents JOIN chunks ON document_id = documents.id "
        "ORDER BY document_root, chunk_index"
    )
    with shard.reading():
        ids = np.fromiter((number for (number,) in shard.connection.execute(sql)), dtype=np.int64)
    order = np.empty(len(ids), dtype=np.int32)
    order[ids - 1] = np.arange(len(ids), dtype=np.int32)
    return order
