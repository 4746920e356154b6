"""Search engines over the same chunks and the same stems, to be timed query by query."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from arborist.corpus.shard import Shard
from arborist.corpus.tokenizer import TOKENIZER
from arborist.policy import RankingPolicy
from arborist.retrieval.bm25 import summed_statistics
from arborist.retrieval.posting_kernel_numpy import best_chunks as numpy_kernel
from arborist.retrieval.postings import Kernel, best_by_postings
from arborist.retrieval.terms import Term, match_expression, tokenizer

Hits = list[tuple[int, float]]
"""Row ids of chunks with their scores, best first."""

POLICY = RankingPolicy()


class Engine(Protocol):
    """Something that ranks the chunks of a shard."""

    name: str

    def best(self, terms: Sequence[Term], limit: int) -> Hits: ...


class Fts5Engine:
    """FTS5's own `bm25()`, asked in the way that is fastest (`performance.md`, FTS5 options)."""

    name = "FTS5 rank, rowid"

    def __init__(self, shard: Shard) -> None:
        self._connection = shard.connection

    def best(self, terms: Sequence[Term], limit: int) -> Hits:
        rows = self._connection.execute(
            "SELECT rowid, -rank FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rank, rowid LIMIT ?",
            (match_expression(terms), limit),
        )
        return [(int(row), float(score)) for row, score in rows]


class PostingsEngine:
    """The project's search over posting sidecars by one kernel, statistics included."""

    def __init__(self, shard: Shard, name: str, kernel: Kernel) -> None:
        self.name = name
        self._shard, self._kernel = shard, kernel

    def best(self, terms: Sequence[Term], limit: int) -> Hits:
        postings = self._shard.postings
        assert postings is not None
        statistics = summed_statistics([self._shard], [term.stem for term in terms])
        found = best_by_postings(postings, terms, statistics, POLICY, limit, kernel=self._kernel)
        return [(item.chunk_id, item.score) for item in found]


def own_engines(shard: Shard) -> list[Engine]:
    """FTS5 and the kernels that can run here."""
    engines: list[Engine] = [Fts5Engine(shard), PostingsEngine(shard, "postings, numpy", numpy_kernel)]
    if find_spec("numba") is not None:
        from arborist.retrieval.posting_kernel_numba import best_chunks

        engines.append(PostingsEngine(shard, "postings, numba", best_chunks))
    return engines


def stems_of_chunks(shard: Shard) -> list[list[str]]:
    """The stems of title and text of every chunk, in the order of row ids."""
    stems = tokenizer(shard.connection, TOKENIZER)
    rows = shard.connection.execute(
        "SELECT title || ' ' || aliases, text FROM chunks JOIN documents ON documents.id = document_id "
        "ORDER BY chunks.id"
    )
    return [stems(title) + stems(text) for title, text in rows]


class TantivyEngine:
    """tantivy by its Python binding, one segment, frequencies without positions."""

    name = "tantivy"

    def __init__(self, stems: Sequence[Sequence[str]], folder: Path) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        builder.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="freq")
        self._tantivy, self._schema = tantivy, builder.build()
        folder.mkdir()
        index = tantivy.Index(self._schema, path=str(folder))
        writer = index.writer(heap_size=512_000_000, num_threads=1)
        for words in stems:
            writer.add_document(tantivy.Document(body=" ".join(words)))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()
        self.segments = self._searcher.num_segments

    def best(self, terms: Sequence[Term], limit: int) -> Hits:
        tantivy = self._tantivy
        query = tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "body", term.stem, "freq"))
                for term in terms
            ]
        )
        hits = self._searcher.search(query, limit, count=False).hits
        return [(address.doc, float(score)) for score, address in hits]


class Bm25sEngine:
    """bm25s with its scores computed beforehand, in numba where that is installed, else in numpy."""

    def __init__(self, stems: Sequence[Sequence[str]]) -> None:
        import bm25s

        backend = "numba" if find_spec("numba") else "numpy"
        self.name = f"bm25s {backend}"
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in words] for words in stems]
        self._retriever: Any = bm25s.BM25(k1=POLICY.bm25_k1, b=POLICY.bm25_b, backend=backend)
        self._retriever.index((ids, vocabulary), show_progress=False)

    def best(self, terms: Sequence[Term], limit: int) -> Hits:
        words = [term.stem for term in terms]
        rows, scores = self._retriever.retrieve([words], k=limit, show_progress=False, n_threads=0)
        return [(int(row) + 1, float(score)) for row, score in zip(rows[0], scores[0], strict=True)]


def peer_engines(shard: Shard, folder: Path) -> list[Engine]:
    """The peers that are installed, each with an index of the shard's chunks of its own."""
    installed = [name for name in ("tantivy", "bm25s") if find_spec(name)]
    if not installed:
        return []
    stems = stems_of_chunks(shard)
    engines: list[Engine] = []
    if "tantivy" in installed:
        engines.append(TantivyEngine(stems, folder / "tantivy"))
    if "bm25s" in installed:
        engines.append(Bm25sEngine(stems))
    return engines
