"""Burning the kindergarten: what never matured goes, and everything that has a say stays."""

from dataclasses import replace
from pathlib import Path

import pytest

from arborist.answering.run_dag import cache_key, retrieval_nodes, run_dag
from arborist.clock import FixedClock
from arborist.errors import InputError
from arborist.policy import SELF_REFERENCE, ProvenancePolicy
from arborist.providence.fsck import fsck
from arborist.providence.kindergarten import burn_kindergarten, immature_records
from arborist.providence.ledger import Ledger
from arborist.providence.record import NewRecord, ProvidenceRecord
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.arborist.providence.runs import answered, evidence, new_record, retrieval

DAY = 24 * HOUR


def judged(ledger: Ledger, question: str, audit_mode: str) -> ProvidenceRecord:
    """A record of that verdict."""
    dag = run_dag(retrieval_nodes(retrieval(question)), replace(answered(), audit_mode=audit_mode))
    new = NewRecord.of_run(dag, cache_key(dag.cache_key_parts()), (evidence(),), (), ProvenancePolicy())
    return ledger.append_record(new)


def test_only_what_is_old_and_never_matured_burns_and_the_log_keeps_its_digests(
    ledger: Ledger, clock: FixedClock
) -> None:
    old = [judged(ledger, f"Old {mode}?", mode) for mode in ("HYBRID", "UNGROUNDED", "STRICT")]
    cited = judged(ledger, "Cited?", "HYBRID")
    uri = f"arborist://providence/{cited.cache_key}"
    ledger.append_record(new_record("Citing?", (), [evidence(uri=uri, role=SELF_REFERENCE)]))
    fallen = judged(ledger, "Fallen?", "HYBRID")
    ledger.set_state(fallen.cache_key, "failed", "wrong")
    clock.advance(DAY)
    judged(ledger, "Young?", "HYBRID")
    clock.advance(1)
    planned = immature_records(ledger, clock.now(), DAY)
    burnt = burn_kindergarten(ledger, clock.now(), DAY)
    assert planned == burnt
    assert [item.cache_key for item in burnt] == [record.cache_key for record in old[:2]]
    assert {record.question for record in ledger.records()} == {
        "Old STRICT?",
        "Cited?",
        "Citing?",
        "Fallen?",
        "Young?",
    }
    assert ledger.event(old[0].record_id).value["run_dag_root"] == old[0].run_dag_root
    assert fsck(ledger.path.parent).faults == ()
    assert burn_kindergarten(ledger, clock.now(), DAY) == []


def test_a_record_of_exactly_that_age_stays(ledger: Ledger, clock: FixedClock) -> None:
    judged(ledger, "Old?", "HYBRID")
    clock.advance(DAY)
    assert immature_records(ledger, clock.now(), DAY) == []


def test_a_promoted_record_never_burns(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        home.ask("How long is the river Wenn?")
        home.ask("Who conducts the orchestra of Samarkand?")
        home.promote()
        home.clock.advance(DAY)
        burnt = burn_kindergarten(home.ledger, home.clock.now(), 0)
        assert [item.audit_mode for item in burnt] == ["UNGROUNDED"]
        assert home.promote().unchanged == 1
        assert fsck(home.workspace.home.root).faults == ()


def test_an_age_below_zero_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="0 or more"):
        immature_records(ledger, 0.0, -1)
