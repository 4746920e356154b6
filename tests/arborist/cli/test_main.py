"""What holds for every command: where errors go, what it exits with, and what it loads."""

import ctypes
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arborist.cli.main import COMMANDS
from arborist.workspace import Workspace
from tests.arborist.cli.conftest import PROGRAM, Arborist, Result
from tests.conftest import ROOT
from tests.corpora import WHEN_ALDER

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]

READING = [
    ["ask", WHEN_ALDER],
    ["search", WHEN_ALDER],
    ["corpus", "status"],
    ["providence", "list"],
    ["providence", "show", "0123456789"],
    ["inspect", "0123456789"],
]
NEEDING_CONFIG = READING[:4]


def is_plain_error(result: Result, code: int = 2) -> None:
    assert result.returncode == code
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith(("Error: ", "Usage: "))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(arborist: Arborist, name: str) -> None:
    result = arborist(name, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: arborist {name}")


def test_the_help_lists_every_command_with_a_line_on_it(arborist: Arborist) -> None:
    result = arborist("--help")
    assert result.returncode == 0
    listed = {line.split()[0]: line.split()[1:] for line in result.stdout.split("Commands:\n")[1].splitlines()}
    assert set(COMMANDS) | {"build"} <= set(listed)
    assert all(listed.values())


def test_the_version_is_told(arborist: Arborist) -> None:
    assert arborist("--version").stdout.startswith("arborist, version ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["ask"],
        ["ask", "a", "b"],
        ["ask", "--top-k", "0", "a"],
        ["ask", "--top-k", "many", "a"],
        ["ask", "--nonsense", "a"],
        ["providence", "list", "--state", "dead"],
        ["providence", "list", "--limit", "0"],
    ],
)
def test_a_wrong_call_is_told_on_stderr_with_2(arborist: Arborist, arguments: list[str]) -> None:
    is_plain_error(arborist(*arguments))


@pytest.mark.parametrize("command", NEEDING_CONFIG)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "there is no such file"),
        ("", "table `sources`: no source is configured"),
        ("[sources", "not valid TOML"),
        ("[sources.land]\nkind = 'jsonl'", "table [sources.land], key `path`: missing"),
        ("[sources.land]\nkind = 'pdf'", "table [sources.land], key `kind`: `pdf` is not allowed"),
        ("[policy.ranking]\nbm25_b = 2.0\n[sources.land]\nkind = 'python-topics'", "[policy.ranking] bm25_b"),
        ("[model]\nkind = 'gpt'\n[sources.land]\nkind = 'python-topics'", "table [model], key `kind`"),
    ],
)
def test_a_bad_configuration_is_told_with_file_and_place(
    arborist: Arborist, workspace: Workspace, here: list[str], command: list[str], text: str | None, told: str
) -> None:
    path = workspace.config.path
    path.unlink() if text is None else path.write_text(text)
    result = arborist(*command, *here)
    is_plain_error(result)
    assert result.stderr.startswith(f"Error: {path}: ")
    assert told in result.stderr


def test_a_configuration_that_is_not_utf_8_is_told(
    arborist: Arborist, workspace: Workspace, here: list[str]
) -> None:
    workspace.config.path.write_bytes(b"# caf\xe9\n")
    is_plain_error(arborist("ask", WHEN_ALDER, *here))


@pytest.mark.parametrize("command", READING)
def test_a_home_that_is_a_file_is_told(arborist: Arborist, workspace: Workspace, command: list[str]) -> None:
    config = ["--config", str(workspace.config.path)] if command in NEEDING_CONFIG else []
    is_plain_error(arborist(*command, "--home", str(workspace.config.path), *config))


@pytest.mark.parametrize("command", [*READING[:2], *READING[3:]])
def test_a_home_where_nothing_was_made_says_what_makes_it(
    arborist: Arborist, workspace: Workspace, tmp_path: Path, command: list[str]
) -> None:
    config = ["--config", str(workspace.config.path)] if command in NEEDING_CONFIG else []
    result = arborist(*command, "--home", str(tmp_path / "nothing"), *config)
    is_plain_error(result)
    assert str(tmp_path / "nothing") in result.stderr
    assert "arborist build" in result.stderr or "arborist ask" in result.stderr


@pytest.mark.parametrize("command", [*READING[:1], *READING[3:]])
@pytest.mark.parametrize("data", [b"garbage" * 1000, b"SQLite format 3\x00" + bytes(4000)])
def test_a_ledger_that_is_none_is_told(
    arborist: Arborist, workspace: Workspace, here: list[str], command: list[str], data: bytes
) -> None:
    workspace.home.ledger_file.write_bytes(data)
    result = arborist(*command, *(here if command in NEEDING_CONFIG else here[:2]))
    is_plain_error(result)
    assert str(workspace.home.ledger_file) in result.stderr


def test_a_ledger_of_another_program_is_told(arborist: Arborist, workspace: Workspace, here: list[str]) -> None:
    connection = sqlite3.connect(workspace.home.ledger_file)
    connection.execute("CREATE TABLE providence_records (x)")
    connection.close()
    is_plain_error(arborist("ask", WHEN_ALDER, *here))


@pytest.mark.parametrize("data", [b"", b"garbage" * 1000])
@pytest.mark.parametrize("command", READING[:2])
def test_a_damaged_shard_is_told_with_its_remedy(
    arborist: Arborist, workspace: Workspace, here: list[str], command: list[str], data: bytes
) -> None:
    workspace.home.shard_file("land-001").write_bytes(data)
    result = arborist(*command, *here)
    is_plain_error(result)
    assert str(workspace.home.shard_file("land-001")) in result.stderr
    assert "arborist build" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [b"ask", b"When did caf\xe9 open?"],
        [b"ask", b"-k", b"\xff", b"When?"],
        [b"ask", b"--source", b"\xff", b"When?"],
        [b"ask", b"--model", b"\xff", b"When?"],
        [b"search", b"\xff\xfe"],
        [b"providence", b"list", b"--keyword", b"\xff"],
        [b"providence", b"list", b"--plan", b"\xff"],
        [b"providence", b"show", b"\xff"],
        [b"inspect", b"\xff"],
    ],
)
def test_arguments_that_are_no_text_are_told(
    arborist: Arborist, arborist_process: Process, here: list[str], arguments: list[bytes]
) -> None:
    assert arborist("ask", WHEN_ALDER, *here).returncode == 0
    options = here if arguments[0] in (b"ask", b"search") or b"list" in arguments else here[:2]
    done = arborist_process(*arguments, *options)
    is_plain_error(Result(done.returncode, done.stdout.decode(), done.stderr.decode()))


def test_a_home_whose_name_is_no_text_is_a_home(arborist_process: Process, workspace: Workspace) -> None:
    moved = workspace.home.root.rename(os.fsdecode(os.fsencode(workspace.home.root) + b"-\xff"))
    done = arborist_process("ask", WHEN_ALDER, "--json", "--home", moved, "--config", workspace.config.path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["audit_mode"] == "STRICT"


LOADED = """
import sys
from arborist.cli.main import main
try:
    main()
finally:
    print(" ".join(sys.modules), file=sys.stderr)
"""


def test_ask_loads_nothing_that_it_does_not_use(arborist: Arborist, here: list[str]) -> None:
    # The first question makes the ledger, for which sqlite-utils loads pandas where it is installed.
    assert arborist("ask", WHEN_ALDER, *here).returncode == 0
    command = [sys.executable, "-c", LOADED, "ask", WHEN_ALDER, *here]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    heavy = ("dagster", "pandas", "pyarrow", "openai", "matplotlib", "scipy", "ir_measures", "mwxml")
    assert "arborist.answering.ask" in loaded
    assert [name for name in heavy if name in loaded] == []


@pytest.mark.parametrize("command", [["search", WHEN_ALDER, "--json"], ["ask", WHEN_ALDER], ["corpus", "status"]])
def test_a_reader_who_has_seen_enough_is_no_error(here: list[str], command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*PROGRAM, *command, *here], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.stderr == b""


def test_output_that_cannot_be_written_is_an_error(here: list[str]) -> None:
    command = [*PROGRAM, "search", WHEN_ALDER, *here]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: ")


def test_output_that_the_terminal_cannot_show_is_shown_as_well_as_it_can(
    arborist_process: Process, here: list[str]
) -> None:
    done = arborist_process("ask", "Wo öffnet Ünter? \U0001f333", *here, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_is_not_an_accident(here: list[str]) -> None:
    script = "import os, signal; from arborist.cli import ask; from arborist.cli.main import main\n"
    script += "ask.Ledger.open = lambda *_: os.kill(os.getpid(), signal.SIGINT)\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, "ask", WHEN_ALDER, *here], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.strip() == "Interrupted"


CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


def as_anybody() -> None:
    """Let what is started now respect permissions although it is root's."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if os.geteuid() == 0 and libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            os._exit(77)


@pytest.mark.parametrize(
    ("arguments", "closed", "mode"),
    [
        (["ask", WHEN_ALDER], "", 0o555),
        (["ask", WHEN_ALDER], "", 0o000),
        (["ask", WHEN_ALDER], "shards", 0o000),
        (["ask", WHEN_ALDER], "shards/land-001.db", 0o000),
        (["ask", WHEN_ALDER], "../corpus.toml", 0o000),
        (["search", WHEN_ALDER], "shards", 0o000),
        (["corpus", "status"], "chunks", 0o000),
        (["corpus", "status"], "documents/land", 0o000),
        (["providence", "list"], "", 0o000),
    ],
)
def test_what_may_not_be_read_or_written_is_told(
    arborist_process: Process, workspace: Workspace, here: list[str], arguments: list[str], closed: str, mode: int
) -> None:
    path = workspace.home.root / closed
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        done = arborist_process(*arguments, *here, preexec_fn=as_anybody)
    finally:
        path.chmod(before)
    if done.returncode == 77:
        pytest.skip("root may not give up its right to pass over permissions here")
    assert b"Traceback" not in done.stderr
    if arguments[0] != "corpus":
        is_plain_error(Result(done.returncode, done.stdout.decode(), done.stderr.decode()))
        assert str(workspace.home.root.parent).encode() in done.stderr


def test_a_home_that_may_be_read_only_can_be_searched(
    arborist_process: Process, workspace: Workspace, here: list[str]
) -> None:
    paths = [workspace.home.root, *workspace.home.root.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = arborist_process("search", WHEN_ALDER, "--json", *here, preexec_fn=as_anybody)
    finally:
        for path in paths:
            path.chmod(0o755)
    if done.returncode == 77:
        pytest.skip("root may not give up its right to pass over permissions here")
    assert (done.returncode, done.stderr) == (0, b"")


def limited() -> None:
    """Let what is started now write no file of more than 20 kB, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def test_a_full_disk_is_told_and_leaves_the_ledger_as_it_was(
    arborist: Arborist, arborist_process: Process, workspace: Workspace, here: list[str]
) -> None:
    first: dict[str, Any] = json.loads(arborist("ask", WHEN_ALDER, "--json", *here).stdout)
    done = arborist_process("ask", "Who was Mona Field?", *here, preexec_fn=limited)
    is_plain_error(Result(done.returncode, done.stdout.decode(), done.stderr.decode()))
    again = json.loads(arborist("ask", WHEN_ALDER, "--json", *here).stdout)
    assert again["cache_hit"]
    assert again["cache_key"] == first["cache_key"]
    assert arborist("ledger", "fsck", "--home", str(workspace.home.root)).returncode == 0
