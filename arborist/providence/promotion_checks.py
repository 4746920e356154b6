"""What must hold of promoted answers at any moment, and what does not hold now."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arborist.clock import from_iso_time
from arborist.corpus.document_chunks import chunked
from arborist.corpus.shard import Shard
from arborist.corpus.store import Corpus
from arborist.errors import ArboristError, CorpusError
from arborist.merkle import leaf_hash
from arborist.policy import PROVIDENCE_SOURCE
from arborist.providence.gates import CANDIDATE_COLUMNS, Candidate, Gate, GatePolicy, closed_gate
from arborist.providence.ledger import Ledger
from arborist.providence.lineage import refusal_of_document
from arborist.providence.promoted_shards import PromotedShards
from arborist.providence.promotions import Promotion, promotions_in_use
from arborist.providence.record import RecordSource, cited_items
from arborist.retrieval.promoted import promoted_uri


@dataclass(frozen=True, slots=True)
class PromotionFault:
    """A promoted document, by its uri, and what is wrong with it.

    `moved`: nothing is wrong in itself, but the corpus has moved on from what it cites.
    """

    uri: str
    problem: str
    moved: bool = False


def gate_faults(ledger: Ledger, policy: GatePolicy) -> Iterator[PromotionFault]:
    """Promoted answers that a gate would not let through today; gate 3 is asked of the moment of promotion."""
    for promotion in promotions_in_use(ledger):
        rows = ledger.rows(
            f"SELECT {CANDIDATE_COLUMNS} FROM providence_records "
            "WHERE cache_key = ? AND run_dag_root = ? AND retired_at IS NULL",
            (promotion.cache_key, promotion.run_dag_root),
        )
        if not rows:
            yield _fault(promotion, "its record was retired")
            continue
        gate = closed_gate(ledger, Candidate(*rows[0]), policy, cooled=True)
        if gate is not None:
            yield _fault(promotion, f"the gate {gate} is closed to it")
        if not _had_cooled(ledger, promotion):
            yield _fault(promotion, f"the gate {Gate.KINDERGARTEN} was closed to it when it was promoted")


def _had_cooled(ledger: Ledger, promotion: Promotion) -> bool:
    record = ledger.record_numbered(promotion.record_id)
    age = from_iso_time(ledger.event(promotion.promoted_seq).time) - from_iso_time(record.created_at)
    # Times are whole microseconds, their difference as a float is not.
    return round(age * 1_000_000) >= promotion.kindergarten_seconds * 1_000_000


def lineage_faults(corpus: Corpus, ledger: Ledger) -> Iterator[PromotionFault]:
    """Documents that the index serves though their record, or an ancestor of it, does not stand.

    What is served is read from the shard files themselves: the index may hold what the ledger has retired.
    """
    for shard in PromotedShards(corpus, ledger).published():
        try:
            with Shard(corpus.home.shard_file(shard)) as opened:
                served = opened.rows("SELECT uri, document_root FROM documents ORDER BY uri")
        except CorpusError as error:
            yield PromotionFault(shard, str(error))
            continue
        for uri, root in served:
            refusal = refusal_of_document(ledger, root)
            if refusal:
                yield PromotionFault(uri, refusal)


def evidence_faults(corpus: Corpus, ledger: Ledger) -> Iterator[PromotionFault]:
    """Promoted answers that do not recompute: from the record's run DAG to the document, and to what it cites."""
    promoted_shards = PromotedShards(corpus, ledger)
    for index in promoted_shards.indexes():
        if not promoted_shards.is_current(index):
            name = f"{PROVIDENCE_SOURCE}-{index:03d}"
            yield PromotionFault(name, "the shard does not hold what the ledger says is promoted")
    if not corpus.published_shards():
        return
    with corpus.opened() as shards:
        chunks = _ChunkTexts(shards)
        for promotion in promotions_in_use(ledger):
            try:
                yield from _evidence_faults(promotion, promoted_shards, ledger, chunks)
            except ArboristError as error:
                yield _fault(promotion, str(error))


def _evidence_faults(
    promotion: Promotion, shards: PromotedShards, ledger: Ledger, chunks: "_ChunkTexts"
) -> Iterator[PromotionFault]:
    record = ledger.record_numbered(promotion.record_id)
    dag = record.dag
    if dag.faults() or dag.root != promotion.run_dag_root:
        yield _fault(promotion, "the run DAG of its record does not recompute")
        return
    if chunked(shards.document(promotion), shards.corpus.chunker).root.hex() != promotion.document_root:
        yield _fault(promotion, "its record does not give its document")
    sources = {source.document_root: source for source in ledger.sources(promotion.record_id)}
    for item in cited_items(dag):
        yield from chunks.faults(promotion, item, sources[item["document_root"]])


class _ChunkTexts:
    """The texts of cited chunks, wherever they are in the shards."""

    def __init__(self, shards: list[Shard]) -> None:
        self._shards = shards

    def faults(
        self, promotion: Promotion, item: Mapping[str, str], source: RecordSource
    ) -> Iterator[PromotionFault]:
        root = item["document_root"]
        for shard in self._shards:
            if not shard.rows("SELECT 1 FROM documents WHERE document_root = ?", (root,)):
                continue
            if bytes.fromhex(item["leaf_hash"]) not in shard.leaves(root)[1:]:
                yield _fault(promotion, f"{source.uri} has no chunk that it cites")
            elif not _text_gives_leaf(shard, root, item["leaf_hash"]):
                yield _fault(
                    promotion, f"the text of a chunk of {source.uri} does not give the leaf that it cites"
                )
            return
        yield PromotionFault(
            promoted_uri(promotion.cache_key), f"the corpus no longer has {source.uri} as it cites it", moved=True
        )


def _text_gives_leaf(shard: Shard, document_root: str, leaf: str) -> bool:
    texts = shard.rows(
        "SELECT text FROM chunks JOIN documents ON documents.id = document_id "
        "WHERE document_root = ? AND leaf_hash = ?",
        (document_root, leaf),
    )
    return bool(texts) and all(leaf_hash(text.encode()).hex() == leaf for (text,) in texts)


def _fault(promotion: Promotion, problem: str) -> PromotionFault:
    return PromotionFault(promoted_uri(promotion.cache_key), problem)
