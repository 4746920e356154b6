"""Shards of promoted answers as they were: what makes an old answer provable after many new ones."""

import pytest

from arborist.corpus.chunking import Chunker
from arborist.corpus.document_chunks import chunked
from arborist.corpus.shard import Shard
from arborist.errors import CorpusError, ProofError
from arborist.providence.audit_log import AuditLog
from arborist.providence.bundle_verifier import verify_bundle
from arborist.providence.promoted_document import promoted_document
from arborist.providence.promoted_shards import PromotedShards
from arborist.providence.promotions import NewPromotion, Retirement, write_promotions
from arborist.providence.proof import PublishedShards, prove
from arborist.providence.record import ProvidenceRecord
from arborist.providence.searched_shards import SearchedShards
from arborist.workspace import Workspace
from tests.arborist.providence.proven import ProvenHome

SHARD = "providence-000"


def promoted(home: ProvenHome, record: ProvidenceRecord) -> NewPromotion:
    """Promote the record and publish the shard, as a pass does."""
    workspace = Workspace.open(home.path, home.path / "corpus.toml")
    document = promoted_document(record, home.ledger.sources(record.record_id))
    new = NewPromotion(
        document_root=chunked(document, workspace.corpus.chunker).root.hex(),
        cache_key=record.cache_key,
        record_id=record.record_id,
        run_dag_root=record.run_dag_root,
        question_hash=record.question_hash,
        conversation_hash=record.conversation_hash,
        kindergarten_seconds=3600,
    )
    write_promotions(home.ledger, [new], [])
    PromotedShards(workspace.corpus, home.ledger).publish(0)
    if SHARD not in home.shards:
        home.shards.append(SHARD)
    return new


def proof_of(home: ProvenHome, record: ProvidenceRecord) -> bytes:
    home.sign()
    with PublishedShards(home.path) as published:
        shards = SearchedShards(published, home.ledger, Chunker(200))
        return prove(home.ledger, AuditLog.of(home.ledger), shards, record)


def test_an_answer_from_an_answer_stays_provable_while_others_are_promoted_and_retired(
    proven_home: ProvenHome,
) -> None:
    first = proven_home.recorded("Who is at war?")
    document = promoted(proven_home, first)
    second = proven_home.recorded_from("Since when?", SHARD)
    assert verify_bundle(proof_of(proven_home, second)).records == 2
    for number in range(3):
        promoted(proven_home, proven_home.recorded(f"Question {number}?"))
    third = proven_home.recorded_from("And before?", SHARD)
    assert verify_bundle(proof_of(proven_home, second)).records == 2
    write_promotions(proven_home.ledger, [], [Retirement(document.document_root, first.cache_key, "fallen")])
    workspace = Workspace.open(proven_home.path, proven_home.path / "corpus.toml")
    PromotedShards(workspace.corpus, proven_home.ledger).publish(0)
    assert verify_bundle(proof_of(proven_home, second)).records == 2
    assert verify_bundle(proof_of(proven_home, third)).records >= 2


def test_a_past_shard_reads_as_the_published_one_did(proven_home: ProvenHome) -> None:
    new = promoted(proven_home, proven_home.recorded("Who is at war?"))
    with Shard(proven_home.path / "shards" / f"{SHARD}.db") as was:
        root, roots = was.meta.shard_root, was.document_roots()
        header, leaves = was.header(new.document_root), was.leaves(new.document_root)
        text = was.chunk_text(new.document_root, 0)
    promoted(proven_home, proven_home.recorded("Who is not?"))
    with PublishedShards(proven_home.path) as published:
        past = SearchedShards(published, proven_home.ledger, Chunker(200)).at(SHARD, root)
        assert not isinstance(past, Shard)
        assert past.document_roots() == roots
        assert past.header(new.document_root) == header
        assert past.leaves(new.document_root) == leaves
        assert past.chunk_text(new.document_root, 0) == text
        with pytest.raises(CorpusError):
            past.header("0" * 64)


def test_a_root_that_never_was_is_not_had(proven_home: ProvenHome) -> None:
    promoted(proven_home, proven_home.recorded("Who is at war?"))
    with PublishedShards(proven_home.path) as published:
        shards = SearchedShards(published, proven_home.ledger, Chunker(200))
        for shard in (SHARD, "news-000"):
            with pytest.raises(ProofError, match="has moved"):
                shards.at(shard, "0" * 64)
        with pytest.raises(ProofError, match="no such shard"):
            shards.at("none-000", "0" * 64)
