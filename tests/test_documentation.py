"""Every example in the documentation runs, in the order it stands, in an empty folder of its own.

A code block whose info string names a file (```toml corpus.toml) is written to that file. A `console` block is
run: lines that begin with `$ ` are commands, what follows is their output, where `...` stands for anything.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<kind>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output it is shown to have."""
    command, output = "", ""
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:].strip(), ""
        else:
            output += line
    if command:
        yield command, output


def run(command: str, folder: Path) -> str:
    """What the command prints, standard output first; `> FILE` at its end sends the latter to a file."""
    command, _, output = command.partition(" > ")
    arguments = shlex.split(command)
    assert arguments[0] in ("arborist", "python"), f"the documentation runs {arguments[0]}"
    program = [sys.executable, "-m", "arborist"] if arguments[0] == "arborist" else [sys.executable]
    done = subprocess.run(
        program + arguments[1:],
        cwd=folder,
        env=os.environ | {"ARBORIST_HOME": str(folder / "var"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    if output:
        (folder / output).write_text(done.stdout, "utf-8")
        return done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for block in BLOCK.finditer(page.read_text("utf-8")):
        if block["file"]:
            path = tmp_path / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"], "utf-8")
        elif block["kind"] == "console":
            for command, expected in commands(block["text"]):
                got = run(command, tmp_path)
                assert not expected.strip() or checker.check_output(expected, got, flags), (
                    f"{page.name}: $ {command}\nexpected:\n{expected}\ngot:\n{got}"
                )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text("utf-8")):
        assert (page.parent / link["target"]).exists(), f"{page.name} links to {link['target']}"


def test_every_command_is_in_the_readme() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "arborist", "--help"], capture_output=True, text=True, check=True
    )
    names = re.findall(r"^  ([a-z][a-z-]+)  ", listed.stdout.partition("Commands:")[2], re.MULTILINE)
    readme = PAGES[0].read_text("utf-8")
    assert names
    assert [name for name in names if f"`{name}" not in readme] == []
