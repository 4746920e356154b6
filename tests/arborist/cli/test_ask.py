"""`arborist ask`: what people read, what machines read, and what is left when it is killed."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arborist.clock import SystemClock
from arborist.hashing import question_hash
from arborist.policy import RankingPolicy
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger, RecordFilter
from arborist.workspace import Workspace
from tests.arborist.cli.conftest import Arborist
from tests.conftest import ROOT
from tests.corpora import WHEN_ALDER

SPECIFIED = {
    "question_hash",
    "cache_key",
    "run_dag_root",
    "retrieval_plan_hash",
    "context_root",
    "audit_mode",
    "cache_hit",
    "answer",
    "claims",
    "sources",
}


def asked(arborist: Arborist, *arguments: str) -> dict[str, Any]:
    result = arborist("ask", "--json", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    reply: dict[str, Any] = json.loads(result.stdout)
    return reply


def test_machines_read_one_object_with_the_names_of_the_specification(arborist: Arborist, here: list[str]) -> None:
    reply = asked(arborist, WHEN_ALDER, *here)
    assert set(reply) >= SPECIFIED
    assert reply["question_hash"] == question_hash(WHEN_ALDER)
    assert (reply["audit_mode"], reply["cache_hit"]) == ("STRICT", False)
    assert reply["answer"] == "The Alder Bridge opened in 1932. [E1]"
    assert [(claim["text"], claim["citations"]) for claim in reply["claims"]] == [
        ("The Alder Bridge opened in 1932.", [1])
    ]
    assert reply["sources"][0]["uri"] == "bridges/alder"


def test_people_read_answer_verdict_evidence_and_digests(arborist: Arborist, here: list[str]) -> None:
    text = arborist("ask", WHEN_ALDER, *here).stdout
    reply = asked(arborist, WHEN_ALDER, *here)
    assert text.startswith("The Alder Bridge opened in 1932. [E1]\n")
    assert "STRICT" in text
    assert "*[E1] Alder Bridge  bridges/alder  chunk 0" in text
    assert "from the cache" not in text
    for name in ("cache_key", "run_dag_root", "retrieval_plan_hash", "context_root"):
        assert reply[name] in text
    assert "from the cache" in arborist("ask", WHEN_ALDER, *here).stdout


def test_the_second_ask_is_a_hit_and_burning_asks_anew(arborist: Arborist, here: list[str]) -> None:
    first, second = asked(arborist, WHEN_ALDER, *here), asked(arborist, WHEN_ALDER, *here)
    burned, after = asked(arborist, WHEN_ALDER, "--burn", *here), asked(arborist, WHEN_ALDER, *here)
    assert [reply["cache_hit"] for reply in (first, second, burned, after)] == [False, True, False, True]
    assert len({reply["cache_key"] for reply in (first, second, burned, after)}) == 1


def test_keywords_change_the_run_and_neither_question_nor_key(arborist: Arborist, here: list[str]) -> None:
    plain, hinted = asked(arborist, WHEN_ALDER, *here), asked(arborist, WHEN_ALDER, "-k", "Alder", *here)
    assert hinted["cache_hit"]
    assert hinted["run_dag_root"] != plain["run_dag_root"] == hinted["record_run_dag_root"]
    assert (hinted["question_hash"], hinted["cache_key"]) == (plain["question_hash"], plain["cache_key"])
    text = arborist("ask", WHEN_ALDER, "-k", "Alder", *here).stdout
    assert hinted["run_dag_root"] in text
    assert hinted["record_run_dag_root"] in text


def test_options_reach_the_plan(arborist: Arborist, here: list[str]) -> None:
    options = ["--top-k", "3", "--over-fetch", "5", "--max-context-chars", "90", "--source", "land"]
    reply = asked(arborist, "river Lowfield", *options, "--source-type", "jsonl", *here)
    record = json.loads(arborist("inspect", reply["cache_key"], "--json", *here[:2]).stdout)
    plan = next(node["payload"] for node in record["run_dag"] if node["stage"] == "retrieval_plan")
    assert (plan["top_k"], plan["over_fetch"], plan["max_context_chars"]) == (3, 5, 90)
    assert plan["filters"] == {"sources": ["land"], "source_types": ["jsonl"]}
    ranking = RankingPolicy(background_sources=("people",))
    assert plan["ranking_policy_hash"] == ranking.digest()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "gpt-4", WHEN_ALDER], "no endpoint serves the model 'gpt-4'"),
        (["--source", "nowhere", WHEN_ALDER], "no shard has the source 'nowhere' (there are: land, people)"),
        (["--source-type", "pdf", WHEN_ALDER], "no shard has the source type 'pdf'"),
        (["--over-fetch", str(2**70), WHEN_ALDER], f"over_fetch is {2**70}"),
        (["--top-k", str(2**53), WHEN_ALDER], f"top_k is {2**53}"),
        ([" "], "the question is empty"),
        (["-k", "", WHEN_ALDER], "a keyword is empty"),
    ],
)
def test_what_cannot_be_asked_is_told_and_leaves_no_record(
    arborist: Arborist, workspace: Workspace, here: list[str], arguments: list[str], told: str
) -> None:
    result = arborist("ask", *arguments, *here)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {told}")
    if workspace.home.ledger_file.exists():
        with Ledger.open_readonly(workspace.home.root, SystemClock()) as ledger:
            assert list(ledger.records()) == []


def test_a_falsified_answer_is_shown_with_its_refusal(
    arborist: Arborist, workspace: Workspace, here: list[str]
) -> None:
    key = asked(arborist, WHEN_ALDER, *here)["cache_key"]
    with Ledger.open(workspace.home.root, SystemClock()) as ledger:
        ledger.set_state(key, "failed", "it was wrong")
    text = arborist("ask", WHEN_ALDER, *here).stdout
    assert "UNGROUNDED" in text
    assert "refused" in text
    burned = arborist("ask", WHEN_ALDER, "--burn", *here)
    assert burned.returncode == 2
    assert "failed" in burned.stderr


def test_the_home_and_the_configuration_may_stand_in_the_environment(
    arborist: Arborist, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARBORIST_HOME", str(workspace.home.root))
    monkeypatch.setenv("ARBORIST_CONFIG", str(workspace.config.path))
    assert asked(arborist, WHEN_ALDER)["audit_mode"] == "STRICT"


def test_by_default_home_and_configuration_lie_in_the_current_folder(
    arborist: Arborist, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARBORIST_HOME", raising=False)
    monkeypatch.delenv("ARBORIST_CONFIG", raising=False)
    monkeypatch.chdir(workspace.config.path.parent)
    assert asked(arborist, WHEN_ALDER)["audit_mode"] == "STRICT"


ASK_ON_AND_ON = """
import sys
from arborist.cli.main import main

def run(*arguments):
    sys.argv = ["arborist", *arguments, *options]
    try:
        main()
    except SystemExit as exited:
        if exited.code:
            raise

trial, *options = sys.argv[1:]
run("ask", f"When did the Alder Bridge open, before trial {trial}?")
print("ready", flush=True)
for number in range(1000):
    run("ask", "--json", f"When did the Alder Bridge open, in trial {trial}, for the time {number}?")
"""


def recorded(home: Path) -> set[tuple[str, str]]:
    """Cache key and root of every record that the ledger holds."""
    with Ledger.open(home, SystemClock()) as ledger:
        found = ledger.records(RecordFilter(with_retired=True))
        return {(record.cache_key, record.run_dag_root) for record in found}


def told_whole(text: str) -> set[tuple[str, str]]:
    """Cache key and root of every reply in the text that is whole."""
    found = set()
    for part in text.split("\n}\n")[:-1]:
        reply = json.loads(part + "}")
        found.add((reply["cache_key"], reply["record_run_dag_root"]))
    return found


@pytest.mark.slow
def test_killed_at_any_instant_nothing_recorded_is_lost_and_the_next_ask_works(
    arborist: Arborist, workspace: Workspace, here: list[str]
) -> None:
    chance = random.Random(20)
    home = workspace.home.root
    kept, told = recorded(home), 0
    for trial in range(25):
        command = [sys.executable, "-c", ASK_ON_AND_ON, str(trial), *here]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        while process.stdout.readline() != "ready\n":
            assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(chance.random() / 4)
        process.send_signal(signal.SIGKILL)
        replies = told_whole(process.communicate()[0])
        told += len(replies)
        assert recorded(home) >= kept | replies
        assert fsck(home).faults == ()
        again = asked(arborist, f"When did the Alder Bridge open, in trial {trial}, at last?", *here)
        kept = recorded(home)
        assert (again["cache_key"], again["record_run_dag_root"]) in kept
    print("25 kills,", told, "answers told before them,", len(kept), "records kept")
    assert told > 0
