"""The shards of promoted answers: what the ledger says is promoted, as files made by the ordinary pipeline.

Documents fill shards in the order of their first promotion, so that a new one changes the last shard alone and the
cost of a promotion does not grow with all that was promoted before. What is in the files follows from the ledger.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arborist.corpus.document import Document
from arborist.corpus.document_chunks import write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.corpus.shard import ShardMeta, read_shard_meta
from arborist.corpus.snapshot import CorpusSnapshot
from arborist.corpus.source_documents import write_shard_documents
from arborist.corpus.store import Corpus
from arborist.corpus.tokenizer import INDEX_VERSION
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import PROVIDENCE_SOURCE
from arborist.providence.ledger import Ledger
from arborist.providence.promoted_document import promoted_document
from arborist.providence.promotions import Promotion, promotions_in_use

DOCUMENTS_PER_SHARD = 5_000
MOST_SHARDS = 1_000


def shard_index(number: int) -> int:
    """Which shard holds the promotion of that number; the last that a name allows takes all further ones."""
    return min((number - 1) // DOCUMENTS_PER_SHARD, MOST_SHARDS - 1)


def shard_name(index: int) -> str:
    return f"{PROVIDENCE_SOURCE}-{index:03d}"


def ordered_by_uri(promotions: Iterable[Promotion]) -> list[Promotion]:
    """The promotions in the order of their documents' uris, which differ in the cache key alone."""
    return sorted(promotions, key=lambda promotion: promotion.cache_key)


@dataclass(frozen=True)
class PromotedShards:
    """The shard files of one home, held against its ledger."""

    corpus: Corpus
    ledger: Ledger

    def promotions(self, index: int) -> list[Promotion]:
        """The promotions in use that belong into a shard, in the order of its tree."""
        first = index * DOCUMENTS_PER_SHARD + 1
        last = 2**62 if index == MOST_SHARDS - 1 else first + DOCUMENTS_PER_SHARD - 1
        return ordered_by_uri(promotions_in_use(self.ledger, first, last))

    def indexes(self) -> list[int]:
        """The shards that have a document in use."""
        ((last,),) = self.ledger.rows("SELECT coalesce(max(number), 0) FROM promotions")
        count = shard_index(last) + 1 if last else 0
        return [index for index in range(count) if next(self._in_use(index), None) is not None]

    def _in_use(self, index: int) -> Iterator[Promotion]:
        first = index * DOCUMENTS_PER_SHARD + 1
        return promotions_in_use(self.ledger, first, first + DOCUMENTS_PER_SHARD - 1)

    def published(self) -> list[str]:
        """The names of the shards that can be searched now, in order."""
        files = self.corpus.home.shards_folder.glob(f"{PROVIDENCE_SOURCE}-???.db")
        return sorted(path.stem for path in files)

    def is_whole(self, index: int) -> bool:
        """Whether the shard's file is there, under today's index and chunking; what it holds is not looked at."""
        meta = read_shard_meta(self.corpus.home, shard_name(index))
        return (
            meta is not None
            and meta.index_version == INDEX_VERSION
            and meta.chunking_version == self.corpus.chunker.version
        )

    def is_current(self, index: int) -> bool:
        """Whether the shard's file holds what the ledger says."""
        meta = read_shard_meta(self.corpus.home, shard_name(index))
        promotions = self.promotions(index)
        if meta is None or not promotions:
            return meta is None and not promotions
        root = tree_root([leaf_hash(bytes.fromhex(item.document_root)) for item in promotions]).hex()
        return self.is_whole(index) and meta.shard_root == root

    def publish(self, index: int) -> ShardMeta | None:
        """Build the shard anew, or take its files away where nothing in it is in use any more."""
        home, shard = self.corpus.home, shard_name(index)
        promotions = self.promotions(index)
        if not promotions:
            # The shard file first: what is searched must not outlive what is promoted.
            for path in (
                home.shard_file(shard),
                *home.shards_folder.glob(f"{shard}.*"),
                home.chunks_file(shard),
                home.documents_file(PROVIDENCE_SOURCE, shard),
            ):
                path.unlink(missing_ok=True)
            return None
        home.documents_folder(PROVIDENCE_SOURCE).mkdir(parents=True, exist_ok=True)
        documents = (self.document(promotion) for promotion in promotions)
        write_shard_documents(home, PROVIDENCE_SOURCE, shard, documents)
        write_document_chunks(home, PROVIDENCE_SOURCE, shard, self.corpus.chunker)
        return write_fts_index(home, shard)

    def document(self, promotion: Promotion) -> Document:
        """The document that was promoted."""
        record = self.ledger.record_numbered(promotion.record_id)
        return promoted_document(record, self.ledger.sources(promotion.record_id))

    def metas(self) -> list[ShardMeta]:
        """What the published shard files say of themselves."""
        found = (read_shard_meta(self.corpus.home, shard) for shard in self.published())
        return [meta for meta in found if meta is not None]

    def snapshot(self) -> CorpusSnapshot:
        """The published shards of promoted answers, each at its root."""
        return CorpusSnapshot.of([(meta.shard, meta.shard_root) for meta in self.metas()])
