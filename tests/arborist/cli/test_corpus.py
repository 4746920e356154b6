"""`arborist corpus status` and `arborist search`: what there is, and what a question would bring up."""

import json
from typing import Any

import pytest

from arborist.hashing import question_hash
from arborist.workspace import Workspace
from tests.arborist.cli.conftest import Arborist
from tests.corpora import BRIDGES, WHEN_ALDER, write_rows


def printed(arborist: Arborist, *arguments: str) -> dict[str, Any]:
    result = arborist(*arguments, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_status_lists_every_shard_with_what_it_holds(
    arborist: Arborist, workspace: Workspace, here: list[str]
) -> None:
    status = printed(arborist, "corpus", "status", *here)
    assert status["sources_changed"] == []
    assert [shard["shard"] for shard in status["shards"]] == ["land-000", "land-001", "land-002", "people-000"]
    assert all(shard["current"] and shard["behind"] == "" for shard in status["shards"])
    assert sum(shard["documents"] for shard in status["shards"]) == len(BRIDGES)
    roots = dict(workspace.corpus.snapshot().shards)
    assert {shard["shard"]: shard["shard_root"] for shard in status["shards"]} == roots
    lines = arborist("corpus", "status", *here).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[shard, "current"] for shard in roots]


def test_status_says_what_is_behind_and_what_has_changed(
    arborist: Arborist, workspace: Workspace, here: list[str]
) -> None:
    workspace.home.shard_file("land-001").unlink()
    write_rows(workspace.config.path.parent / "people.jsonl", {"people/x": ("X", "Somebody new.")})
    status = printed(arborist, "corpus", "status", *here)
    assert [shard["behind"] for shard in status["shards"] if not shard["current"]] == ["not published yet"]
    assert status["sources_changed"] == ["people"]
    text = arborist("corpus", "status", *here).stdout
    assert "not published yet" in text
    assert "changed since they were read: people (run `arborist build`)" in text


def test_status_of_what_was_never_built_is_no_error(
    arborist: Arborist, workspace: Workspace, here: list[str]
) -> None:
    result = arborist("corpus", "status", "--home", str(workspace.home.root / "other"), *here[2:])
    assert result.returncode == 0
    assert result.stdout.count("not chunked yet") == 4


def test_search_shows_plan_and_sources_best_first(arborist: Arborist, here: list[str]) -> None:
    found = printed(arborist, "search", WHEN_ALDER, "-k", "river", "--top-k", "3", "--over-fetch", "7", *here)
    assert found["question_hash"] == question_hash(WHEN_ALDER)
    assert found["retrieval_plan"]["retrieval_keywords"] == ["river"]
    assert (found["retrieval_plan"]["top_k"], found["retrieval_plan"]["over_fetch"]) == (3, 7)
    assert len(found["retrieval_plan_hash"]) == 64
    assert found["sources"][0]["uri"] == "bridges/alder"
    scores = [float(source["score"]) for source in found["sources"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3


def test_search_and_ask_make_the_same_plan(arborist: Arborist, here: list[str]) -> None:
    searched = printed(arborist, "search", WHEN_ALDER, "-k", "river", *here)
    asked = printed(arborist, "ask", WHEN_ALDER, "-k", "river", *here)
    assert searched["retrieval_plan_hash"] == asked["retrieval_plan_hash"]
    shown = [(source["uri"], source["score"]) for source in searched["sources"]]
    assert shown == [(source["uri"], source["score"]) for source in asked["sources"]]


def test_search_leaves_no_ledger(arborist: Arborist, workspace: Workspace, here: list[str]) -> None:
    arborist("search", WHEN_ALDER, *here)
    assert not workspace.home.ledger_file.exists()


def test_search_for_people_gives_rank_place_and_text(arborist: Arborist, here: list[str]) -> None:
    text = arborist("search", WHEN_ALDER, *here).stdout
    first, quoted = text.splitlines()[:2]
    assert first.startswith(" 1. ")
    assert "Alder Bridge  bridges/alder  chunk 0" in first
    assert quoted.strip() == BRIDGES["bridges/alder"][1]
    assert arborist("search", "zebra", *here).stdout == "nothing found\n"


@pytest.mark.parametrize("question", ['"', "NEAR(", "title:*", "a OR", "x" * 50_000, "🌳", "\x01", "--", "-k"])
def test_search_takes_any_question(arborist: Arborist, here: list[str], question: str) -> None:
    result = arborist("search", "--json", *here, "--", question)
    assert (result.returncode, result.stderr) == (0, "")
    json.loads(result.stdout)


@pytest.mark.parametrize("command", [("ask", WHEN_ALDER), ("search", WHEN_ALDER)])
def test_a_shard_that_is_not_there_is_told_of(
    arborist: Arborist, workspace: Workspace, here: list[str], command: tuple[str, ...]
) -> None:
    gone = workspace.config.shard_names[0]
    workspace.home.shard_file(gone).unlink()
    result = arborist(*command, *here)
    assert result.returncode == 0
    assert gone in result.stderr
    assert gone not in result.stdout
