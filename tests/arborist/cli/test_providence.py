"""`arborist providence list|show` and `arborist inspect`: records as people and machines see them."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from arborist.clock import SystemClock
from arborist.providence.ledger import Ledger
from arborist.workspace import Workspace
from tests.arborist.cli.conftest import Arborist
from tests.corpora import WHEN_ALDER

ARCHITECT = "Who was the architect of the Cedar Viaduct?"
STAGES = ["question", "frame", "retrieval_plan", "retrieval_result", "context", "prompt", "answer", "verify"]


def printed(arborist: Arborist, *arguments: str) -> Any:
    result = arborist(*arguments, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


@pytest.fixture
def keys(arborist: Arborist, here: list[str]) -> list[str]:
    """Three records: one plain, one with keywords, one that found nothing."""
    asked = [
        (WHEN_ALDER,),
        (ARCHITECT, "-k", "Mona Field", "-k", "railway"),
        ("Who won the cup in 1999?",),
    ]
    return [printed(arborist, "ask", *arguments, *here)["cache_key"] for arguments in asked]


def listed(arborist: Arborist, here: list[str], *options: str) -> list[str]:
    return [record["cache_key"] for record in printed(arborist, "providence", "list", *options, *here)]


def test_records_are_listed_the_latest_first(arborist: Arborist, here: list[str], keys: list[str]) -> None:
    assert listed(arborist, here) == keys[::-1]
    lines = arborist("providence", "list", *here).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [key[:16] for key in keys[::-1]]
    assert "(keywords: Mona Field, railway)" in lines[1]
    assert listed(arborist, here, "--limit", "1") == keys[2:]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--mode", "STRICT"], [1, 0]),
        (["--mode", "UNGROUNDED"], [2]),
        (["--mode", "HYBRID"], []),
        (["--mode", "fts5+keywords"], [1]),
        (["--mode", "fts5"], [2, 0]),
        (["--keyword", "railway"], [1]),
        (["--keyword", "Mona"], []),
        (["--state", "live"], [2, 1, 0]),
        (["--state", "failed"], []),
        (["--plan", "0" * 64], []),
        (["--stale-ranking-policy"], []),
    ],
)
def test_records_are_chosen_by_what_they_say(
    arborist: Arborist, here: list[str], keys: list[str], options: list[str], wanted: list[int]
) -> None:
    assert listed(arborist, here, *options) == [keys[index] for index in wanted]


def test_a_record_is_found_by_its_plan(arborist: Arborist, here: list[str], keys: list[str]) -> None:
    plan = printed(arborist, "providence", "show", keys[1], *here[:2])["retrieval_plan_hash"]
    assert listed(arborist, here, "--plan", plan) == [keys[1]]


def test_records_of_another_ranking_are_found(
    arborist: Arborist, workspace: Workspace, here: list[str], keys: list[str]
) -> None:
    config = workspace.config.path
    config.write_text("[policy.ranking]\ntitle_weight = 2.0\n" + config.read_text())
    assert listed(arborist, here, "--stale-ranking-policy") == keys[::-1]


def test_retired_records_are_listed_where_they_are_asked_for(
    arborist: Arborist, here: list[str], keys: list[str]
) -> None:
    printed(arborist, "ask", WHEN_ALDER, "--burn", *here)
    assert sorted(listed(arborist, here)) == sorted(keys)
    assert sorted(listed(arborist, here, "--retired")) == sorted([*keys, keys[0]])


def test_nothing_listed_is_said(arborist: Arborist, here: list[str], keys: list[str]) -> None:
    assert arborist("providence", "list", "--keyword", "zebra", *here).stdout == "no records\n"


@pytest.mark.parametrize("length", [8, 16, 64])
def test_a_record_is_shown_by_the_beginning_of_its_key(
    arborist: Arborist, here: list[str], keys: list[str], length: int
) -> None:
    shown = printed(arborist, "providence", "show", keys[1][:length], *here[:2])
    assert shown["cache_key"] == keys[1]
    assert shown["retrieval_keywords"] == ["Mona Field", "railway"]
    assert (shown["question"], shown["audit_mode"]) == (ARCHITECT, "STRICT")
    text = arborist("providence", "show", keys[1][:length].upper(), *here[:2]).stdout
    assert re.search(rf"^cache_key +{keys[1]}$", text, re.MULTILINE)
    assert '["Mona Field", "railway"]' in text


@pytest.mark.parametrize("command", [["providence", "show"], ["inspect"]])
@pytest.mark.parametrize("key", ["", "0123", "0" * 64, "zzzzzzzzzz", "../../etc", "%", "'--"])
def test_a_key_that_no_record_has_is_told(
    arborist: Arborist, here: list[str], keys: list[str], command: list[str], key: str
) -> None:
    result = arborist(*command, *here[:2], "--", key)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr


def test_the_dag_is_shown_as_a_tree_with_keywords_and_plan(
    arborist: Arborist, here: list[str], keys: list[str]
) -> None:
    text = arborist("inspect", keys[1], *here[:2]).stdout
    assert "Mona Field, railway" in text
    assert "fts5+keywords, top_k 8, over_fetch 32, max_context_chars 12000" in text
    assert "land-000@" in text
    assert "  recomputes" in text
    assert "FAULT" not in text
    stages = re.findall(r"└─ (\w+)", text)
    assert stages == [*STAGES, "final_label"]


def test_the_dag_is_printed_whole_for_machines(arborist: Arborist, here: list[str], keys: list[str]) -> None:
    value = printed(arborist, "inspect", keys[0], *here[:2])
    assert [node["stage"] for node in value["run_dag"]] == [*STAGES, "final_label"]
    assert value["faults"] == []


def tampered(home: Path, column: str, value: object) -> None:
    """Change a column of every record, as somebody with an editor could."""
    connection = sqlite3.connect(home / "ledger.db")
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for (name,) in names:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(f"UPDATE providence_records SET {column} = ?", (value,))
    connection.commit()
    connection.close()


def dag_with(home: Path, old: str, new: str) -> bytes:
    with Ledger.open_readonly(home, SystemClock()) as ledger:
        record = next(ledger.records())
    assert old in record.run_dag.decode()
    return record.run_dag.decode().replace(old, new).encode()


CHANGES = [
    ("run_dag", b""),
    ("run_dag", b"[]"),
    ("run_dag", b'{"nodes": 7}'),
    ("run_dag", b'{"nodes": []}'),
    ("run_dag", b"\xff"),
    ("run_dag", "text"),
    ("run_dag", None),
    ("claims", ""),
    ("claims", "[7]"),
    ("claims", "{}"),
    ("claims", '[{"text": "x"}]'),
    ("claims", b"\xff"),
    ("retrieval_keywords", "{"),
    ("retrieval_keywords", "[7]"),
    ("retrieval_keywords", "7"),
    ("answer", b"\xff"),
    ("question", ""),
    ("private_payloads", b"{"),
    ("private_payloads", b"[]"),
    ("audit_mode", "TRUE"),
    ("created_at", ""),
]


@pytest.mark.parametrize(("column", "value"), CHANGES)
def test_a_record_that_was_changed_never_breaks_a_command(
    arborist: Arborist, workspace: Workspace, here: list[str], keys: list[str], column: str, value: object
) -> None:
    try:
        tampered(workspace.home.root, column, value)
    except sqlite3.IntegrityError:
        return
    for command in (
        ["providence", "show", keys[0], *here[:2]],
        ["providence", "show", keys[0], "--json", *here[:2]],
        ["inspect", keys[0], *here[:2]],
        ["inspect", keys[0], "--json", *here[:2]],
        ["providence", "list", *here],
        ["providence", "list", "--keyword", "railway", "--json", *here],
        ["ask", WHEN_ALDER, *here],
        ["ask", WHEN_ALDER, "--json", *here],
    ):
        result = arborist(*command)
        assert result.returncode in (0, 2), command
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"top_k":8', '"top_k":9'),
        ('"top_k":8', '"top":8'),
        ('"shard_ids":[[', '"shard_ids":[7,['),
        ('"stage":"frame"', '"stage":"farm"'),
        ('"parents":["question"]', '"parents":[["question"]]'),
        ('"audit_mode":"UNGROUNDED"', '"audit_mode":"STRICT"'),
    ],
)
def test_a_dag_that_was_changed_is_shown_with_its_faults(
    arborist: Arborist, workspace: Workspace, here: list[str], keys: list[str], old: str, new: str
) -> None:
    tampered(workspace.home.root, "run_dag", dag_with(workspace.home.root, old, new))
    result = arborist("inspect", keys[2], *here[:2])
    told = result.stdout + result.stderr
    assert "FAULT" in told or "DOES NOT RECOMPUTE" in told or result.returncode == 2
    assert "Traceback" not in told
    machines = arborist("inspect", keys[2], "--json", *here[:2])
    assert machines.returncode == 2 or json.loads(machines.stdout)["faults"]
    checked = arborist("ledger", "verify", *here[:2])
    assert checked.returncode not in (0, 2)
