"""Policies: what may be set, and which digest a change moves."""

from dataclasses import fields, replace
from typing import Any

import pytest

from arborist.errors import ConfigError
from arborist.policy import (
    BACKGROUND,
    PRIMARY,
    PROVIDENCE_SOURCE,
    SELF_REFERENCE,
    AnsweringPolicy,
    Policy,
    RankingPolicy,
)

OTHER_VALUES = {
    "background_sources": ("other",),
    "stopwords": "none",
    "self_reference_mode": "weighted",
    "allowed_roles": (PRIMARY,),
    "show_keywords_to_model": True,
}


def other(policy: Any, name: str) -> Any:
    return OTHER_VALUES.get(name, getattr(policy, name) if isinstance(getattr(policy, name), str) else 0.5)


@pytest.mark.parametrize("name", [item.name for item in fields(RankingPolicy)])
def test_every_field_of_the_ranking_policy_is_in_its_digest(name: str) -> None:
    policy = RankingPolicy()
    assert replace(policy, **{name: other(policy, name)}).digest() != policy.digest()


@pytest.mark.parametrize("name", [item.name for item in fields(AnsweringPolicy)])
def test_every_field_of_the_answering_policy_is_in_its_digest(name: str) -> None:
    policy = AnsweringPolicy()
    assert replace(policy, **{name: other(policy, name)}).digest() != policy.digest()


def test_two_policies_of_the_same_values_have_one_digest_and_two_kinds_never() -> None:
    assert RankingPolicy().digest() == RankingPolicy().digest()
    assert RankingPolicy().digest() != AnsweringPolicy().digest()


def test_a_source_has_the_role_that_the_policy_gives_it() -> None:
    policy = RankingPolicy(background_sources=("mail",))
    assert policy.role("wiki") == PRIMARY
    assert policy.role("mail") == BACKGROUND
    assert policy.role(PROVIDENCE_SOURCE) == SELF_REFERENCE


def test_tables_override_the_defaults_and_leave_the_rest() -> None:
    tables = {"retrieval": {"top_k": 3}, "ranking": {"title_weight": 2}, "provenance": {"dag_privacy": "hashes"}}
    policy = Policy.of(tables, "corpus.toml", ("mail",))
    assert policy.retrieval.top_k == 3
    assert policy.retrieval.over_fetch == Policy().retrieval.over_fetch
    assert policy.ranking == RankingPolicy(title_weight=2.0, background_sources=("mail",))
    assert policy.provenance.dag_privacy == "hashes"


def test_no_tables_give_the_defaults() -> None:
    assert Policy.of({}, "corpus.toml", ()) == Policy()


@pytest.mark.parametrize(
    ("tables", "place"),
    [
        ({"nope": {}}, "[policy.nope]"),
        ({"ranking": 1}, "[policy.ranking]"),
        ({"ranking": {"nope": 1}}, "[policy.ranking] nope"),
        ({"ranking": {"background_sources": ["a"]}}, "[policy.ranking] background_sources"),
        ({"ranking": {"bm25_k1": -0.1}}, "[policy.ranking] bm25_k1"),
        ({"ranking": {"bm25_k1": float("nan")}}, "[policy.ranking] bm25_k1"),
        ({"ranking": {"bm25_k1": float("inf")}}, "[policy.ranking] bm25_k1"),
        ({"ranking": {"bm25_k1": True}}, "[policy.ranking] bm25_k1"),
        ({"ranking": {"bm25_k1": "1.2"}}, "[policy.ranking] bm25_k1"),
        ({"ranking": {"bm25_b": 1.01}}, "[policy.ranking] bm25_b"),
        ({"ranking": {"stopwords": "french"}}, "[policy.ranking] stopwords"),
        ({"ranking": {"stopwords": ["none"]}}, "[policy.ranking] stopwords"),
        ({"retrieval": {"top_k": 0}}, "[policy.retrieval] top_k"),
        ({"retrieval": {"over_fetch": 0}}, "[policy.retrieval] over_fetch"),
        ({"retrieval": {"max_context_chars": 0}}, "[policy.retrieval] max_context_chars"),
        ({"retrieval": {"top_k": 2.5}}, "[policy.retrieval] top_k"),
        ({"retrieval": {"top_k": 2**53}}, "[policy.retrieval] top_k"),
        ({"answering": {"allowed_roles": ["secondary"]}}, "[policy.answering] allowed_roles"),
        ({"answering": {"allowed_roles": [["primary"]]}}, "[policy.answering] allowed_roles"),
        ({"answering": {"allowed_roles": "primary"}}, "[policy.answering] allowed_roles"),
        ({"answering": {"show_keywords_to_model": 1}}, "[policy.answering] show_keywords_to_model"),
        ({"provenance": {"dag_privacy": "none"}}, "[policy.provenance] dag_privacy"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_its_file_and_key(tables: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Policy.of(tables, "corpus.toml", ())
    assert str(caught.value).startswith(f"corpus.toml: {place}: ")


def test_switches_that_contradict_each_other_are_refused() -> None:
    switches = {
        "bind_keywords_in_run_dag": False,
        "keywords_affect_cache_key": True,
        "retrieval_plan_affects_cache_key": True,
    }
    for name, value in switches.items():
        Policy.of({"provenance": switches | {name: not value}}, "corpus.toml", ())
    with pytest.raises(ConfigError, match=r"^corpus\.toml: \[policy\.provenance\]: "):
        Policy.of({"provenance": switches}, "corpus.toml", ())
