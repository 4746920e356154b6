"""Audit events as values: what their hash binds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.errors import InputError
from arborist.hashing import Domain, hash_json
from arborist.merkle import leaf_hash
from arborist.providence.audit_events import GENESIS, AuditEvent, EventType, NewEvent, event_leaf, retrieval_events
from tests.arborist.providence.runs import run

TIME = "2026-01-31T12:00:00.000000Z"
EVENT = AuditEvent.following((0, GENESIS), NewEvent(EventType.SHARD_EVICTED, {"shard": "news-000", "a": 1}), TIME)


def test_an_event_is_hashed_with_its_payload_as_text() -> None:
    assert EVENT.payload == '{"a":1,"shard":"news-000"}'
    bound = {
        "seq": 1,
        "type": "shard_evicted",
        "payload": EVENT.payload,
        "time": TIME,
        "previous_hash": GENESIS,
    }
    assert EVENT.hash == EVENT.recomputed_hash() == hash_json(Domain.AUDIT_EVENT, bound)
    assert event_leaf(EVENT.hash) == leaf_hash(bytes.fromhex(EVENT.hash))


@pytest.mark.parametrize(
    "changed",
    [
        {"seq": 2},
        {"type": "shard_rehydrated"},
        {"payload": '{"a":1, "shard":"news-000"}'},
        {"time": "2026-01-31T12:00:00.000001Z"},
        {"previous_hash": "1" * 64},
    ],
)
def test_everything_else_of_an_event_is_in_its_hash(changed: dict[str, str]) -> None:
    assert replace(EVENT, **changed).recomputed_hash() != EVENT.hash  # type: ignore[arg-type]


@given(st.integers(1, 2**40), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_an_event_follows_the_last_one(seq: int, digest: str) -> None:
    event = AuditEvent.following((seq, digest), NewEvent(EventType.SHARD_EVICTED, {}), TIME)
    assert (event.seq, event.previous_hash) == (seq + 1, digest)


def test_a_payload_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(InputError):
        AuditEvent.following((0, GENESIS), NewEvent(EventType.SHARD_EVICTED, {"a": float("nan")}), TIME)


def test_a_payload_that_is_no_object_is_not_read_as_one() -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        assert replace(EVENT, payload="[]").value


def test_keywords_that_are_not_to_be_kept_leave_the_rest_of_the_plan() -> None:
    dag = run("Who is at war?", ["Goldstein"])
    built, _ = retrieval_events(dag, None)
    assert "retrieval_keywords" not in built.payload
    plan = dict(dag.node("retrieval_plan").payload)
    assert plan.pop("retrieval_keywords") == ["Goldstein"]
    assert built.payload["retrieval_plan"] == plan
