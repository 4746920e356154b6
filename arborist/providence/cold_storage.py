"""Cold storage: a shard's texts in a Parquet file beside it, and back (`self-providence.md`, Housekeeping).

An evicted shard keeps its documents, leaf hashes and roots, so that its place in the corpus stays provable. It is
not searched until it is rehydrated, and every text that comes back is held against the leaf hash that stayed.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apsw

from arborist.corpus import tables
from arborist.corpus.document_chunks import ShardChunks, chunks_footer
from arborist.corpus.fts_index import build_shard_file, write_missing_postings
from arborist.corpus.posting_sidecar import sidecar_file
from arborist.corpus.shard import Shard, ShardMeta
from arborist.corpus.store import Corpus
from arborist.errors import CorpusError, InputError
from arborist.files import replacing
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import PROVIDENCE_SOURCE
from arborist.providence.audit_events import EventType, NewEvent
from arborist.providence.ledger import Ledger
from arborist.providence.record import LIVE, cited_items

QUARANTINED = "quarantined"
COLD_COLUMNS = ("document_root", "chunk_index", "uri", "text")


@dataclass(frozen=True, slots=True)
class Eviction:
    """A shard that goes cold: how many chunks it has, and the bytes of its file before."""

    shard: str
    shard_root: str
    chunks: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A chunk whose text is not what its leaf hash says, or is gone."""

    document_root: str
    uri: str
    chunk_index: int
    leaf_hash: str
    problem: str


@dataclass(frozen=True, slots=True)
class Rehydration:
    """A shard that comes back, unless there are mismatches; then `quarantined` has the keys of what cites them."""

    shard: str
    shard_root: str
    chunks: int
    mismatches: tuple[Mismatch, ...]
    quarantined: tuple[str, ...]


@dataclass(frozen=True)
class ColdStorage:
    """The evicted shards of a home."""

    corpus: Corpus
    ledger: Ledger

    def shards(self) -> list[str]:
        """The names of the shards that are cold now, in the order of the configuration."""
        return [name for name in self.corpus.config.shard_names if self.corpus.cold_meta(name) is not None]

    def eviction(self, shard: str) -> Eviction:
        """What evicting the shard would move.

        Raises InputError for a shard that is not published or follows from the ledger, CorpusError for one whose
        texts do not give its roots: it must be built anew first.
        """
        if shard.startswith(f"{PROVIDENCE_SOURCE}-"):
            raise InputError(f"{shard}: promoted answers follow from the ledger and are not evicted")
        path = self.corpus.home.shard_file(shard)
        if not path.is_file():
            published = ", ".join(self.corpus.published_shards())
            raise InputError(f"{shard}: no such shard is published (there are: {published or 'none'})")
        with Shard(path) as opened:
            fault = next(opened.content_faults(), None)
            if fault is not None:
                remedy = "delete it and run `arborist build` before it is evicted"
                raise CorpusError(f"{path}: {fault.place}: {fault.problem} ({remedy})")
            return Eviction(shard, opened.meta.shard_root, opened.meta.chunks, path.stat().st_size)

    def evict(self, shard: str) -> Eviction:
        """Move the shard's texts to their file and take it out of what is searched. Raises as `eviction` does."""
        eviction = self.eviction(shard)
        home = self.corpus.home
        with Shard(home.shard_file(shard)) as opened, replacing(home.cold_text_file(shard)) as partial:
            labels = _chunks_of(opened.meta).labels()
            tables.write_table(partial, tables.CHUNK_COLUMNS, _chunk_rows(opened), labels)
        with replacing(home.cold_shard_file(shard)) as partial:
            shutil.copyfile(home.shard_file(shard), partial)
            _strip(apsw.Connection(str(partial)))
        home.shard_file(shard).unlink()
        sidecar_file(home.shard_file(shard)).unlink(missing_ok=True)
        self.ledger.append_event(NewEvent(EventType.SHARD_EVICTED, _payload(shard, eviction.shard_root)))
        return eviction

    def rehydration(self, shard: str) -> Rehydration:
        """What rehydrating the shard would find; nothing is written.

        Raises InputError for a shard that is not cold, CorpusError where its files cannot be read.
        """
        home = self.corpus.home
        if self.corpus.cold_meta(shard) is None:
            raise InputError(f"{shard}: not in cold storage (there are: {', '.join(self.shards()) or 'none'})")
        with Shard(home.cold_shard_file(shard)) as kept:
            mismatches = tuple(_mismatches(kept, tables.read_rows(home.cold_text_file(shard), COLD_COLUMNS)))
            keys = {key for item in mismatches for key in self._citing(item)}
            return Rehydration(shard, kept.meta.shard_root, kept.meta.chunks, mismatches, tuple(sorted(keys)))

    def rehydrate(self, shard: str) -> Rehydration:
        """Bring the shard back if every text gives its leaf; else leave it cold and quarantine what cites it."""
        found = self.rehydration(shard)
        home = self.corpus.home
        if found.mismatches:
            for key in found.quarantined:
                self.ledger.set_state(key, QUARANTINED, f"a text of {shard} that it cites came back changed")
            return found
        footer = chunks_footer(home.cold_text_file(shard))
        if footer is None:
            raise tables.unreadable(home.cold_text_file(shard))
        with replacing(home.shard_file(shard)) as partial:
            build_shard_file(partial, home.cold_text_file(shard), footer)
        write_missing_postings(home, shard)
        home.cold_shard_file(shard).unlink()
        home.cold_text_file(shard).unlink()
        self.ledger.append_event(NewEvent(EventType.SHARD_REHYDRATED, _payload(shard, found.shard_root)))
        return found

    def _citing(self, mismatch: Mismatch) -> list[str]:
        """The keys of the live records that cite the chunk."""
        found = []
        for key in self.ledger.citing(mismatch.document_root):
            record = self.ledger.record(key)
            if record is None or record.falsification_state != LIVE:
                continue
            cited = {(item["document_root"], item["leaf_hash"]) for item in cited_items(record.dag)}
            if (mismatch.document_root, mismatch.leaf_hash) in cited:
                found.append(key)
        return found


def _payload(shard: str, shard_root: str) -> dict[str, Any]:
    return {"shard": shard, "shard_root": shard_root}


def _chunks_of(meta: ShardMeta) -> ShardChunks:
    return ShardChunks(**{name: getattr(meta, name) for name in ShardChunks.__slots__})


def _chunk_rows(shard: Shard) -> Iterator[tuple[Any, ...]]:
    """The shard's chunks as the rows of a chunk file, in its order; it does not know its documents' digests."""
    query = (
        "SELECT uri, title, source_type, source_revision, aliases, '', document_root, chunk_index, start, end, "
        "text, leaf_hash FROM chunks JOIN documents ON documents.id = document_id ORDER BY chunks.id"
    )
    for *header, aliases, digest, root, index, start, end, text, leaf in shard.connection.execute(query):
        yield (*header, json.loads(str(aliases)), digest, root, index, start, end, text, leaf)


def _strip(connection: apsw.Connection) -> None:
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("DROP TABLE chunks_fts; UPDATE chunks SET text = ''; VACUUM")
    finally:
        connection.close()


def _mismatches(kept: Shard, rows: Iterator[tuple[str, int, str, str]]) -> Iterator[Mismatch]:
    """Chunks that do not come back as they went, and documents whose kept leaves do not give their roots."""
    leaves: dict[tuple[str, int], tuple[str, str]] = {}
    for root, uri, index, leaf in kept.rows(
        "SELECT document_root, uri, chunk_index, leaf_hash FROM chunks "
        "JOIN documents ON documents.id = document_id ORDER BY chunks.id"
    ):
        leaves[root, index] = leaf, uri
    for root in dict.fromkeys(root for root, _ in leaves):
        if tree_root(kept.leaves(root)).hex() != root:
            leaf, uri = leaves[root, 0]
            yield Mismatch(root, uri, 0, leaf, "the leaves that were kept do not give its document root")
    for root, index, stored_uri, text in rows:
        leaf, uri = leaves.pop((root, index), ("", stored_uri))
        if leaf_hash(text.encode()).hex() != leaf:
            yield Mismatch(root, uri, index, leaf, "its text does not give its leaf")
    for (root, index), (leaf, uri) in leaves.items():
        yield Mismatch(root, uri, index, leaf, "its text is gone")
