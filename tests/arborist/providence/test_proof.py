"""What a proof bundle is made of, and when none can be made."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.clock import FixedClock
from arborist.errors import ProofError
from arborist.merkle import leaf_hash, node_hash, tree_root
from arborist.policy import ProvenancePolicy
from arborist.providence.audit_log import AuditLog, sign_checkpoint
from arborist.providence.bundle_verifier import verify_bundle
from arborist.providence.checkpoint import SigningKey
from arborist.providence.ledger import Ledger
from arborist.providence.proof import PublishedShards, path_steps, prove
from arborist.providence.record import ProvidenceRecord
from tests.arborist.providence.proven import ProvenHome


@given(st.integers(1, 70), st.data())
def test_a_path_leads_from_its_leaf_to_the_root(size: int, data: st.DataObject) -> None:
    leaves = [leaf_hash(bytes([number])) for number in range(size)]
    index = data.draw(st.integers(0, size - 1))
    reached = leaves[index]
    for step in path_steps(leaves, index):
        sibling = bytes.fromhex(step[1:])
        reached = node_hash(sibling, reached) if step[0] == "L" else node_hash(reached, sibling)
    assert reached == tree_root(leaves)


def proof_of(home: ProvenHome, record: ProvidenceRecord) -> bytes:
    home.sign()
    with PublishedShards(home.path) as shards:
        return prove(home.ledger, AuditLog.of(home.ledger), shards, record)


def test_an_answer_from_answers_is_proven_down_to_the_first_sources(proven_home: ProvenHome) -> None:
    first, second, third = proven_home.chain()
    report = verify_bundle(proof_of(proven_home, third))
    assert report.records == 3
    assert report.run_dag_root == third.run_dag_root
    assert report.question == third.question
    assert verify_bundle(proof_of(proven_home, first)).records == 1
    assert second.cache_key in proof_of(proven_home, third).decode()


def test_a_record_that_two_others_lean_on_is_in_the_bundle_once(proven_home: ProvenHome) -> None:
    first, second, _ = proven_home.chain()
    both = proven_home.recorded("And both?", leaning_on=[first, second])
    assert verify_bundle(proof_of(proven_home, both)).records == 3


def test_a_private_record_is_proven_without_how_it_was_searched_for(proven_home: ProvenHome) -> None:
    policy = ProvenancePolicy(dag_privacy="hashes")
    record = proven_home.recorded("What is private?", keywords=["Goldstein"], policy=policy)
    bundle = proof_of(proven_home, record)
    assert b"Goldstein" not in bundle
    assert verify_bundle(bundle).question == "What is private?"


def test_a_record_without_its_keywords_is_proven(proven_home: ProvenHome) -> None:
    policy = ProvenancePolicy(store_keywords_on_record=False)
    record = proven_home.recorded("What is unsaid?", keywords=["Goldstein"], policy=policy)
    bundle = proof_of(proven_home, record)
    assert b"Goldstein" not in bundle
    assert verify_bundle(bundle).question == "What is unsaid?"


@pytest.mark.parametrize(
    "policy",
    [ProvenancePolicy(keywords_affect_cache_key=True), ProvenancePolicy(retrieval_plan_affects_cache_key=True)],
)
def test_a_cache_key_of_another_kind_is_proven(proven_home: ProvenHome, policy: ProvenancePolicy) -> None:
    record = proven_home.recorded("Who is at war?", keywords=["Oceania"], policy=policy)
    assert verify_bundle(proof_of(proven_home, record)).cache_key == record.cache_key


def test_an_answer_without_evidence_is_proven_too(proven_home: ProvenHome) -> None:
    record = proven_home.recorded("Who knows?", chunks=0)
    assert verify_bundle(proof_of(proven_home, record)).evidence == 0


def test_a_retired_record_is_proven_still(proven_home: ProvenHome) -> None:
    record = proven_home.recorded("Who was at war?")
    proven_home.ledger.retire(record.cache_key, "asked anew")
    assert verify_bundle(proof_of(proven_home, record)).run_dag_root == record.run_dag_root


def test_a_record_that_no_checkpoint_covers_is_not_proven(proven_home: ProvenHome) -> None:
    record = proven_home.recorded("Who is at war?")
    with PublishedShards(proven_home.path) as shards, pytest.raises(ProofError, match="no checkpoint covers"):
        prove(proven_home.ledger, AuditLog.of(proven_home.ledger), shards, record)


def test_a_record_whose_shard_has_moved_names_it(proven_home: ProvenHome) -> None:
    record = proven_home.recorded("Who is at war?")
    proven_home.rebuild(["Everything is different now."])
    with pytest.raises(ProofError, match="the shard news-000 has moved"):
        proof_of(proven_home, record)


def test_a_bundle_is_made_the_same_twice(proven_home: ProvenHome) -> None:
    third = proven_home.chain()[2]
    proven_home.sign()
    with PublishedShards(proven_home.path) as shards:
        log = AuditLog.of(proven_home.ledger)
        assert prove(proven_home.ledger, log, shards, third) == prove(proven_home.ledger, log, shards, third)


def test_a_bundle_names_only_the_shards_its_evidence_is_in(proven_home: ProvenHome) -> None:
    record = proven_home.recorded("Who is at war?")
    (proof,) = json.loads(proof_of(proven_home, record))["records"]
    assert [shard["shard"] for shard in proof["shards"]] == ["news-000"]


def test_a_checkpoint_signed_later_proves_it_as_well(proven_home: ProvenHome, tmp_path: Path) -> None:
    record = proven_home.recorded("Who is at war?")
    early = verify_bundle(proof_of(proven_home, record))
    proven_home.recorded("And who is not?")
    late = verify_bundle(proof_of(proven_home, record))
    assert early.events < late.events
    assert early.run_dag_root == late.run_dag_root
    with Ledger.open(proven_home.path, FixedClock()) as ledger:
        assert sign_checkpoint(proven_home.path, ledger, SigningKey.of_home(proven_home.path)).note
