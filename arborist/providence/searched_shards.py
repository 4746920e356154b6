"""Shards as they were when they were searched: published ones, and past ones of promoted answers.

A shard of promoted answers moves with every promotion, but the log says what was promoted when, and records do not
change: so what it held at any root can be had again, and old answers stay provable.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arborist.corpus.chunking import Chunker
from arborist.corpus.document_chunks import ChunkedDocument, chunked
from arborist.errors import CorpusError, ProofError
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import PROVIDENCE_SOURCE
from arborist.providence.ledger import Ledger
from arborist.providence.promoted_document import promoted_document
from arborist.providence.promoted_shards import ordered_by_uri, shard_index, shard_name
from arborist.providence.promotions import PROMOTION_EVENTS, Promotion, promotions_changed
from arborist.providence.proof import PublishedShards, ShardReader


@dataclass(frozen=True)
class SearchedShards:
    """Where a proof has its shards from; `chunker` is that under which the answers were promoted."""

    published: PublishedShards
    ledger: Ledger
    chunker: Chunker

    def at(self, shard: str, root: str) -> ShardReader:
        """The shard of that name at that root. Raises ProofError where it cannot be had."""
        try:
            return self.published.at(shard, root)
        except ProofError:
            for promotions in self._past(shard):
                if _root_of(promotions) == root:
                    return PastShard(promotions, self.ledger, self.chunker)
            raise

    def _past(self, shard: str) -> Iterator[list[Promotion]]:
        """What the shard of promoted answers held after each time that something was promoted or retired."""
        if not shard.startswith(f"{PROVIDENCE_SOURCE}-"):
            return
        known: dict[str, Promotion] = {}
        previous = 0
        for event in self.ledger.events(types=PROMOTION_EVENTS):
            # A pass writes many events one after the other, and publishes the shard after the last.
            if event.seq != previous + 1 and known:
                yield _in_use(known, shard)
            for promotion in promotions_changed(known, len(known), event):
                known[promotion.document_root] = promotion
            previous = event.seq
        yield _in_use(known, shard)


@dataclass(frozen=True)
class PastShard:
    """A shard of promoted answers as it was; documents are made of their records when they are asked for."""

    promotions: Sequence[Promotion]
    ledger: Ledger
    chunker: Chunker

    def document_roots(self) -> list[bytes]:
        return [bytes.fromhex(promotion.document_root) for promotion in self.promotions]

    def header(self, document_root: str) -> dict[str, Any]:
        return self._document(document_root).document.header(self.chunker.version)

    def leaves(self, document_root: str) -> list[bytes]:
        return list(self._document(document_root).leaves)

    def chunk_text(self, document_root: str, chunk_index: int) -> str:
        return self._document(document_root).chunks[chunk_index].text

    def _document(self, document_root: str) -> ChunkedDocument:
        for promotion in self.promotions:
            if promotion.document_root == document_root:
                record = self.ledger.record_numbered(promotion.record_id)
                made = chunked(promoted_document(record, self.ledger.sources(record.record_id)), self.chunker)
                if made.root.hex() != document_root:
                    raise ProofError(
                        f"the promoted answer {promotion.cache_key[:16]} was chunked otherwise than today"
                    )
                return made
        raise CorpusError(f"no promoted answer has the document root {document_root}")


def _in_use(known: Mapping[str, Promotion], shard: str) -> list[Promotion]:
    return ordered_by_uri(
        promotion
        for promotion in known.values()
        if promotion.retired_seq is None and shard_name(shard_index(promotion.number)) == shard
    )


def _root_of(promotions: Sequence[Promotion]) -> str:
    return tree_root([leaf_hash(bytes.fromhex(promotion.document_root)) for promotion in promotions]).hex()
