"""A plan binds everything that decides what is found; a result binds what was."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.errors import InputError
from arborist.hashing import canonical_json, question_hash
from arborist.policy import RankingPolicy
from arborist.retrieval.plan import Filters, Frame, RetrievalPlan, RetrievalResult, RetrievedSource, ShardId

PLAN = RetrievalPlan(
    question_hash=question_hash("When did the Alder Bridge open?"),
    retrieval_keywords=("bridge", "opening"),
    retrieval_mode="fts5+keywords",
    top_k=8,
    over_fetch=32,
    max_context_chars=12_000,
    filters=Filters(("land",), ("jsonl",)),
    shard_ids=(ShardId("land-000", "a" * 64), ShardId("land-001", "b" * 64)),
    ranking_policy_hash=RankingPolicy().digest(),
)
SOURCE = RetrievedSource("land-000", "c" * 64, 3, "d" * 64, "primary", 1.5, "u", "t", "text", "v")

CHANGES: dict[str, list[Any]] = {
    "question_hash": [question_hash("When did it close?")],
    "retrieval_keywords": [("opening", "bridge"), ("bridge",), ("bridge opening",), ("Bridge", "opening"), ()],
    "retrieval_mode": ["fts5"],
    "top_k": [9],
    "over_fetch": [33],
    "max_context_chars": [12_001],
    "filters": [Filters(), Filters(("land",)), Filters(("people",), ("jsonl",)), Filters(("jsonl",), ("land",))],
    "shard_ids": [PLAN.shard_ids[:1], PLAN.shard_ids[::-1], (PLAN.shard_ids[0], ShardId("land-001", "c" * 64))],
    "ranking_policy_hash": [RankingPolicy(title_weight=2.0).digest()],
}


def test_every_part_of_a_plan_is_tried_below() -> None:
    assert set(CHANGES) == {item.name for item in fields(RetrievalPlan)}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in CHANGES for value in CHANGES[name]])
def test_whatever_changes_in_a_plan_changes_its_hash(name: str, value: Any) -> None:
    assert replace(PLAN, **{name: value}).digest() != PLAN.digest()


def test_the_same_plan_has_the_same_hash_and_filters_are_sets() -> None:
    assert replace(PLAN, filters=Filters(("land", "land"), ("jsonl",))).digest() == PLAN.digest()
    two = Filters(("land", "people"))
    assert replace(PLAN, filters=two).digest() == replace(PLAN, filters=Filters(two.sources[::-1])).digest()


def test_a_plan_comes_back_from_its_stored_form() -> None:
    stored = json.loads(canonical_json(PLAN.canonical()))
    assert RetrievalPlan.from_canonical(stored) == PLAN


@pytest.mark.parametrize("name", [item.name for item in fields(RetrievalPlan)])
@pytest.mark.parametrize("value", [None, 7, -1, "x", [], [7], {}, {"sources": 1}, [[1, 2, 3]]])
def test_a_stored_form_of_another_shape_is_refused_or_read_without_failing(name: str, value: Any) -> None:
    stored = PLAN.canonical() | {name: value}
    try:
        RetrievalPlan.from_canonical(stored)
    except InputError as error:
        assert str(error)


@pytest.mark.parametrize("name", [item.name for item in fields(RetrievalPlan)])
def test_a_stored_form_without_one_of_its_parts_is_refused(name: str) -> None:
    stored = {key: value for key, value in PLAN.canonical().items() if key != name}
    with pytest.raises(InputError, match="not a stored retrieval plan"):
        RetrievalPlan.from_canonical(stored)


@pytest.mark.parametrize("name", ["top_k", "over_fetch", "max_context_chars"])
@pytest.mark.parametrize("value", [0, -1, 2**53, 2**70])
def test_a_limit_that_cannot_be_kept_is_refused_by_its_name(name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"^{name} is {value}"):
        replace(PLAN, **{name: value})


def test_the_mode_says_whether_there_were_keywords() -> None:
    assert Frame.choose(()).retrieval_mode == "fts5"
    assert Frame.choose(("bridge",)).retrieval_mode == "fts5+keywords"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_score_is_bound_as_text_that_reads_back_to_the_same_double(score: float) -> None:
    assert float(replace(SOURCE, score=score).summary()["score"]) == score


@pytest.mark.parametrize(
    "change",
    [{"document_root": "e" * 64}, {"chunk_index": 4}, {"leaf_hash": "e" * 64}, {"role": "x"}, {"score": 1.25}],
)
def test_a_result_binds_where_each_source_stands_its_role_and_its_score(change: dict[str, Any]) -> None:
    result = RetrievalResult((SOURCE, replace(SOURCE, chunk_index=9)), "f" * 64)
    assert replace(result, sources=(replace(SOURCE, **change), *result.sources[1:])).digest() != result.digest()


def test_a_result_binds_the_order_and_the_context() -> None:
    result = RetrievalResult((SOURCE, replace(SOURCE, chunk_index=9)), "f" * 64)
    assert replace(result, sources=result.sources[::-1]).digest() != result.digest()
    assert replace(result, context_root="0" * 64).digest() != result.digest()
