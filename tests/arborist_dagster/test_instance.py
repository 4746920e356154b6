"""The local instance: made once, also when many want it at once, and never over what somebody changed."""

import subprocess
import sys
from pathlib import Path

from arborist.home import Home
from arborist_dagster.instance import open_instance, prepare_instance
from arborist_dagster.settings import PROJECT

OPEN = (
    "import sys, pathlib; from arborist.home import Home; from arborist_dagster.instance import open_instance\n"
    "with open_instance(Home(pathlib.Path(sys.argv[1]))) as instance: print(instance.get_runs_count())"
)


def test_the_instance_is_the_projects_own(tmp_path: Path) -> None:
    with open_instance(Home(tmp_path)) as instance:
        assert not instance.telemetry_enabled
        assert instance.root_directory == str(tmp_path / "dagster")
        assert not instance.nux_enabled
    assert (tmp_path / "dagster" / "dagster.yaml").read_text() == (PROJECT / "dagster.yaml").read_text()


def test_a_dagster_yaml_that_was_changed_is_kept(tmp_path: Path) -> None:
    folder = prepare_instance(Home(tmp_path))
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert prepare_instance(Home(tmp_path)) == folder
    assert (folder / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"


def test_a_new_home_may_be_used_by_many_processes_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(tmp_path)]
    processes = [
        subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    told = [process.communicate() for process in processes]
    assert told == [(b"0\n", b"")] * 4
    assert [process.returncode for process in processes] == [0] * 4
