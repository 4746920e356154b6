"""The Merkle log over the audit events, and the checkpoints signed of it."""

import sqlite3

import pytest

from arborist.errors import LedgerError, ProofError
from arborist.merkle import leaf_hash, tree_root, verify_consistency, verify_inclusion
from arborist.providence.audit_events import EventType
from arborist.providence.audit_log import AuditLog, last_checkpoint, public_key_file, roots_at, sign_checkpoint
from arborist.providence.checkpoint import SigningKey, VerifierKey, open_checkpoint
from arborist.providence.ledger import Ledger
from tests.arborist.providence.runs import new_record


@pytest.fixture
def log(ledger: Ledger) -> AuditLog:
    for number in range(4):
        ledger.append_record(new_record(f"Question {number}?"))
    return AuditLog.of(ledger)


def test_leaves_are_the_hashes_of_the_events(ledger: Ledger, log: AuditLog) -> None:
    leaves = [leaf_hash(bytes.fromhex(event.hash)) for event in ledger.events()]
    assert log.leaves == tuple(leaves)
    assert log.root() == tree_root(leaves)
    assert log.root(5) == tree_root(leaves[:5])


def test_every_event_is_proven_to_be_in_the_log(log: AuditLog) -> None:
    for seq in range(1, log.size + 1):
        assert verify_inclusion(log.leaves[seq - 1], seq - 1, log.size, log.inclusion(seq), log.root())


def test_every_earlier_log_is_proven_to_be_its_beginning(log: AuditLog) -> None:
    for size in range(1, log.size + 1):
        assert verify_consistency(size, log.size, log.consistency(size), log.root(size), log.root())


def test_roots_at_several_sizes_are_had_in_one_pass(log: AuditLog) -> None:
    assert roots_at(log.leaves, [7, 1, 7, 12, 13, 0]) == {size: log.root(size) for size in (1, 7, 12)}


def test_an_empty_log_is_not_signed(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="the ledger is empty"):
        AuditLog.of(ledger)


def test_a_checkpoint_is_signed_noted_and_written(ledger: Ledger, log: AuditLog) -> None:
    home = ledger.path.parent
    signed = sign_checkpoint(home, ledger, SigningKey.of_home(home))
    assert open_checkpoint(signed.note, signed.key) == log.checkpoint()
    assert signed.path.read_text(encoding="utf-8") == signed.note
    assert VerifierKey.from_text(public_key_file(home).read_text(encoding="utf-8")) == signed.key
    (event,) = ledger.events(types=[EventType.CHECKPOINT_SIGNED])
    assert event.seq == log.size + 1
    assert event.value["root"] == log.root().hex()
    assert last_checkpoint(ledger) == (signed.note, signed.key, log.size)


def test_no_two_ledgers_have_the_same_name(ledger: Ledger, log: AuditLog) -> None:
    assert log.origin == f"arborist/ledger/{ledger.event(1).hash[:16]}"


def test_a_log_that_contradicts_its_own_checkpoint_is_not_signed(ledger: Ledger, log: AuditLog) -> None:
    home = ledger.path.parent
    sign_checkpoint(home, ledger, SigningKey.of_home(home))
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER audit_events_are_not_updated")
    connection.execute("UPDATE audit_events SET hash = ? WHERE seq = 2", ("0" * 64,))
    connection.commit()
    connection.close()
    with pytest.raises(ProofError, match="contradicts the checkpoint"):
        sign_checkpoint(home, ledger, SigningKey.of_home(home))
    assert len(list(ledger.events(types=[EventType.CHECKPOINT_SIGNED]))) == 1
