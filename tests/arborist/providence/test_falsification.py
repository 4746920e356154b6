"""Falsifying says what it reaches; reviving takes a reason and leaves an event."""

from pathlib import Path

import pytest

from arborist.errors import InputError, LedgerError
from arborist.providence.audit_events import EventType
from arborist.providence.falsification import falsify, revive
from arborist.providence.ledger import Ledger
from tests.arborist.providence.answers import ANY_GENERATION, AnswersHome
from tests.arborist.providence.runs import new_record


def test_falsifying_lists_everything_that_leans_on_the_record(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path, ANY_GENERATION) as home:
        first, second, third = (reply.record for reply in home.generations(3))
        done = falsify(home.ledger, first.cache_key, "failed", "the bridge opened later")
    assert done.record.falsification_state == "failed"
    assert [(item.cache_key, item.promoted) for item in done.blast_radius] == sorted(
        [(second.cache_key, True), (third.cache_key, False)]
    )


def test_each_change_is_an_event_with_its_reason(ledger: Ledger) -> None:
    key = ledger.append_record(new_record("Who is at war?")).cache_key
    falsify(ledger, key, "quarantined", " the source was forged ")
    assert revive(ledger, key, "it was not").record.falsification_state == "live"
    events = list(ledger.events(types=[EventType.RECORD_FALSIFIED, EventType.RECORD_REVIVED]))
    assert [(event.type, event.value["reason"]) for event in events] == [
        ("record_falsified", "the source was forged"),
        ("record_revived", "it was not"),
    ]


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_no_reason_no_change(ledger: Ledger, reason: str) -> None:
    key = ledger.append_record(new_record("Who is at war?")).cache_key
    head = ledger.head()
    with pytest.raises(InputError, match="reason"):
        falsify(ledger, key, "failed", reason)
    falsify(ledger, key, "failed", "wrong")
    with pytest.raises(InputError, match="reason"):
        revive(ledger, key, reason)
    assert ledger.head()[0] == head[0] + 1


@pytest.mark.parametrize("state", ["live", "wrong", ""])
def test_a_state_that_does_not_falsify_is_refused(ledger: Ledger, state: str) -> None:
    key = ledger.append_record(new_record("Who is at war?")).cache_key
    with pytest.raises(InputError, match="failed, stale, quarantined"):
        falsify(ledger, key, state, "because")


def test_a_live_record_cannot_be_revived_and_a_missing_one_neither(ledger: Ledger) -> None:
    key = ledger.append_record(new_record("Who is at war?")).cache_key
    with pytest.raises(InputError, match="nothing to revive"):
        revive(ledger, key, "why not")
    with pytest.raises(LedgerError, match="no record"):
        revive(ledger, "0" * 64, "why not")
