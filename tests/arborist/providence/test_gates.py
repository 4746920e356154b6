"""The gates: each holds back what it is there for, and lets everything else through."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.clock import FixedClock, iso_time
from arborist.policy import SELF_REFERENCE, AnsweringPolicy, PromotionPolicy
from arborist.providence.audit_events import EventType, NewEvent
from arborist.providence.gates import Candidate, Gate, GatePolicy, closed_gate, cooling
from arborist.providence.ledger import Ledger
from tests.arborist.providence.runs import evidence, new_record

CHUNKING = "test-splitter 1"
POLICY = GatePolicy.of(CHUNKING, AnsweringPolicy(), PromotionPolicy())
CLAIM = '[{"text": "t", "citations": [1], "lazy_anchor_demoted": %s, "semantic_demoted": %s}]'


def candidate(ledger: Ledger, item_uri: str = "test:oceania", role: str = "primary") -> Candidate:
    record = ledger.append_record(new_record("Who is at war?", (), [evidence(uri=item_uri, role=role)]))
    return Candidate(**{name: getattr(record, name) for name in Candidate.__slots__})


def test_a_cooled_strict_live_record_of_the_first_generation_passes(ledger: Ledger) -> None:
    assert closed_gate(ledger, candidate(ledger), POLICY, cooled=True) is None


@pytest.mark.parametrize(
    ("column", "value", "gate"),
    [
        ("audit_mode", "HYBRID", Gate.AUDIT_MODE),
        ("audit_mode", "UNGROUNDED", Gate.AUDIT_MODE),
        ("falsification_state", "failed", Gate.FALSIFICATION_STATE),
        ("falsification_state", "stale", Gate.FALSIFICATION_STATE),
        ("falsification_state", "quarantined", Gate.FALSIFICATION_STATE),
        ("answer", "As arborist://providence/ab says.", Gate.FIRST_GENERATION),
        ("answer", "As Aborist://Providence/ab says.", Gate.FIRST_GENERATION),
        ("claims", CLAIM % ("true", "false"), Gate.LAZY_ANCHOR),
        ("claims", CLAIM % ("false", "true"), Gate.SEMANTIC),
        ("chunking_version", "test-splitter 2", Gate.STALE_POLICY),
        ("governance_policy_hash", "0" * 64, Gate.STALE_POLICY),
    ],
)
def test_each_gate_holds_back_what_it_is_for(ledger: Ledger, column: str, value: str, gate: Gate) -> None:
    assert closed_gate(ledger, replace(candidate(ledger), **{column: value}), POLICY, cooled=True) is gate


def test_a_record_that_has_not_cooled_waits(ledger: Ledger) -> None:
    assert closed_gate(ledger, candidate(ledger), POLICY, cooled=False) is Gate.KINDERGARTEN


def test_the_first_closed_gate_is_told(ledger: Ledger) -> None:
    worst = replace(candidate(ledger), audit_mode="HYBRID", falsification_state="failed", chunking_version="?")
    assert closed_gate(ledger, worst, POLICY, cooled=False) is Gate.AUDIT_MODE


@pytest.mark.parametrize("uri", ["arborist://providence/ab", "aborist://providence/ab"])
def test_a_paraphrase_of_a_promoted_answer_is_held_back_by_its_lineage(ledger: Ledger, uri: str) -> None:
    paraphrase = candidate(ledger, uri, SELF_REFERENCE)
    assert "providence" not in paraphrase.answer
    # The cited document is no promotion of this ledger, which gate 2 sees before gate 4.
    assert closed_gate(ledger, paraphrase, POLICY, cooled=True) is Gate.FALSIFICATION_STATE


def test_what_stood_in_the_context_and_is_not_cited_is_no_lineage(ledger: Ledger) -> None:
    seen = evidence("Another text.", "arborist://providence/ab", 2, SELF_REFERENCE)
    record = ledger.append_record(new_record("Who is at war?", (), [evidence(), seen]))
    first_only = Candidate(**{name: getattr(record, name) for name in Candidate.__slots__})
    assert closed_gate(ledger, first_only, POLICY, cooled=True) is None


@pytest.mark.parametrize(("age", "passes"), [(3599.999999, False), (3600, True), (3601, True), (-1, False)])
def test_the_window_closes_at_its_very_end(ledger: Ledger, age: float, passes: bool) -> None:
    made = candidate(ledger)
    assert cooling(ledger, FixedClock().now() + age, 3600).has_cooled(made) is passes


@given(start=st.integers(0, 4_000_000_000_000_000), seconds=st.integers(0, 10**8))
def test_equality_passes_at_any_time(start: int, seconds: int) -> None:
    created = start / 1_000_000
    assert iso_time(created + seconds - seconds) == iso_time(created)


def test_a_clock_behind_the_log_opens_nothing(ledger: Ledger) -> None:
    made = candidate(ledger)
    assert not cooling(ledger, FixedClock().now() - 1, 0).has_cooled(made)


def test_a_record_dated_too_early_by_a_clock_set_back_waits_with_those_around_it(tmp_path: Path) -> None:
    clock = FixedClock()
    with Ledger.open(tmp_path, clock) as ledger:
        ledger.append_event(NewEvent(EventType.SHARD_EVICTED, {}))
        clock.advance(-7200)
        early = candidate(ledger)
        clock.advance(7200 + 60)
        assert early.created_at < iso_time(clock.now() - 3600)
        assert not cooling(ledger, clock.now(), 3600).has_cooled(early)
        clock.advance(3540)
        assert cooling(ledger, clock.now(), 3600).has_cooled(early)


def test_a_moment_in_the_future_holds_back_itself_alone(tmp_path: Path) -> None:
    clock = FixedClock()
    with Ledger.open(tmp_path, clock) as ledger:
        clock.advance(10**8)
        ahead = ledger.append_record(new_record("What will be?"))
        clock.advance(-(10**8))
        made = candidate(ledger)
        clock.advance(3600)
        cooled = cooling(ledger, clock.now(), 3600)
        assert cooled.has_cooled(made)
        assert ahead.created_at > cooled.cutoff
