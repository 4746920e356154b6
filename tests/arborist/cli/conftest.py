"""The command line as tests call it: in this process, or as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arborist.cli.main import main
from arborist.workspace import Workspace

PROGRAM = (sys.executable, "-c", "from arborist.cli.main import main; main()")


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Arborist = Callable[..., Result]


@pytest.fixture
def arborist(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Arborist:
    """Run the command line in this process, which is faster than a process each."""

    def command(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["arborist", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        printed = capsys.readouterr()
        code = exited.value.code
        assert isinstance(code, int)
        return Result(code, printed.out, printed.err)

    return command


@pytest.fixture
def arborist_process() -> Callable[..., "subprocess.CompletedProcess[bytes]"]:
    """Run the command line as a process of its own; what it prints is bytes."""

    def command(
        *arguments: str | bytes | Path, env: Mapping[str, str] | None = None, **options: Any
    ) -> "subprocess.CompletedProcess[bytes]":
        given = [argument if isinstance(argument, bytes) else os.fsencode(argument) for argument in arguments]
        environment = os.environ | (env or {})
        return subprocess.run([*PROGRAM, *given], capture_output=True, env=environment, **options)

    return command


@pytest.fixture
def here(workspace: Workspace) -> list[str]:
    """The options that lead to a workspace with a built corpus."""
    return ["--home", str(workspace.home.root), "--config", str(workspace.config.path)]
