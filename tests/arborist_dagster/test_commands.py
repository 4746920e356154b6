"""`arborist build` as it is typed: what it prints, how it ends, and that several at once do no harm."""

import json
import os
import pty
import shutil
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.dagster_project import DagsterProject, leftovers, processes_of, roots


def test_a_second_build_says_that_there_is_nothing_to_do(project: DagsterProject) -> None:
    done = project.arborist("build")
    assert done.stdout == f"everything is up to date\ncorpus snapshot {project.corpus.snapshot().root}\n"
    assert done.stderr == ""


def test_a_build_prints_what_it_built(project: DagsterProject) -> None:
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    done = project.arborist("build")
    assert done.stderr == "", "no progress bar where nobody watches, and no warning"
    assert done.stdout.splitlines() == [
        "built source_documents: docs",
        f"built document_chunks, fts_index: {project.shard_of('docs/lamp.md')}",
        "built corpus_snapshot",
        f"corpus snapshot {project.corpus.snapshot().root}",
    ]


def test_json_has_the_steps_the_failures_and_the_root(project: DagsterProject) -> None:
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    done = json.loads(project.arborist("build", "--json").stdout)
    assert done == {
        "steps": [
            {"assets": ["source_documents"], "partitions": ["docs"]},
            {
                "assets": ["document_chunks", "fts_index"],
                "partitions": [project.shard_of("docs/lamp.md")],
            },
            {"assets": ["corpus_snapshot"], "partitions": None},
        ],
        "failures": [],
        "snapshot_root": project.corpus.snapshot().root,
    }


def test_a_failure_is_told_on_stderr_beside_what_was_built(project: DagsterProject) -> None:
    (project.root / "docs" / "lamp.md").write_bytes(b"\xff\xfe lamp")
    project.write("trees/fir.md")
    done = project.arborist("build", "--json", check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: docs: ") and "lamp.md" in done.stderr
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    assert [step["partitions"] for step in told["steps"]] == [["trees"], ["trees-000"], None]
    assert len(told["failures"]) == 1


def _no_config(project: DagsterProject) -> str:
    project.config.unlink()
    return "corpus.toml: there is no such file"


def _broken_config(project: DagsterProject) -> str:
    project.config.write_text("[sources")
    return "not valid TOML"


def _home_is_a_file(project: DagsterProject) -> str:
    shutil.rmtree(project.home.root)
    project.home.root.write_text("")
    return str(project.home.root)


def _instance_is_a_file(project: DagsterProject) -> str:
    shutil.rmtree(project.home.dagster_folder)
    project.home.dagster_folder.write_text("")
    return str(project.home.dagster_folder)


def _bad_instance_file(project: DagsterProject) -> str:
    (project.home.dagster_folder / "dagster.yaml").write_text("run_queue: [")
    return "dagster.yaml"


def _unknown_instance_key(project: DagsterProject) -> str:
    (project.home.dagster_folder / "dagster.yaml").write_text("run_kiew: {}")
    return "dagster.yaml"


def _damaged_instance(project: DagsterProject) -> str:
    (project.home.dagster_folder / "history" / "runs.db").write_text("not a database at all" * 100)
    return str(project.home.dagster_folder)


@pytest.mark.parametrize(
    "spoil",
    [
        _no_config,
        _broken_config,
        _home_is_a_file,
        _instance_is_a_file,
        _bad_instance_file,
        _unknown_instance_key,
        _damaged_instance,
    ],
)
def test_what_the_user_can_mend_is_one_error_with_exit_code_2(
    project: DagsterProject, spoil: Callable[[DagsterProject], str]
) -> None:
    place = spoil(project)
    done = project.arborist("build", check=False)
    assert done.returncode == 2
    assert place in done.stderr and done.stderr.splitlines()[-1].startswith("Error: ")
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 4
    assert done.stdout == ""


def test_options_that_do_not_exist_are_a_usage_error(new_project: DagsterProject) -> None:
    done = new_project.arborist("build", "--hurry", check=False)
    assert done.returncode == 2 and "--hurry" in done.stderr and done.stdout == ""
    assert not new_project.home.root.exists()


def test_a_terminal_is_shown_progress(new_project: DagsterProject) -> None:
    ours, theirs = pty.openpty()
    command = new_project.command("build")
    environment = new_project.environment | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = _all_of(ours)
    assert process.returncode == 0
    assert b"2/2" in shown and b"index trees-000" in shown and b"6/6" in shown


def _all_of(descriptor: int) -> bytes:
    shown = b""
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:
            data = b""
        if not data:
            os.close(descriptor)
            return shown
        shown += data


def test_two_builds_at_once_end_without_error_and_as_one_alone(
    new_project: DagsterProject, project: DagsterProject
) -> None:
    builds = [_started(new_project) for _ in range(3)]
    told = [build.communicate() for build in builds]
    assert [build.returncode for build in builds] == [0, 0, 0], told
    assert [stderr for _, stderr in told] == [""] * 3
    assert roots(new_project.corpus) == roots(project.corpus)
    steps = [step for stdout, _ in told for step in json.loads(stdout)["steps"]]
    assert len(steps) == 3, "what one has built no other builds again"
    assert leftovers(new_project.home) == []
    assert new_project.unsynced() == {}


def _started(project: DagsterProject) -> subprocess.Popen[str]:
    return subprocess.Popen(
        project.command("build", "--json"),
        env=project.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_build_that_is_interrupted_ends_soon_and_the_next_one_finishes(new_project: DagsterProject) -> None:
    for number in range(100):
        new_project.write(f"docs/more-{number}.md")
    new_project.configure({"docs": 40})
    build = _started(new_project)
    while not list(new_project.home.root.glob("chunks/*.parquet")) and build.poll() is None:
        os.sched_yield()
    # As a terminal does it: the build's own processes are told, too.
    os.killpg(build.pid, signal.SIGINT)
    stdout, stderr = build.communicate()
    assert (build.returncode, stdout, stderr.strip()) == (130, "", "Interrupted")
    assert len(list(new_project.home.root.glob("shards/*.db"))) < 40
    assert processes_of(build.pid) == []
    assert new_project.build()[1] == []
    assert len(roots(new_project.corpus)) == 40 and new_project.unsynced() == {}


def test_questions_are_answered_from_the_old_shards_while_new_ones_are_built(project: DagsterProject) -> None:
    before = roots(project.corpus)
    with project.corpus.opened() as shards:
        project.configure({"docs": 2, "trees": 1}, max_characters=40)
        project.arborist("build")
        assert {shard.meta.shard: shard.meta.shard_root for shard in shards} == before
        assert all(not list(shard.content_faults()) for shard in shards)
    assert roots(project.corpus) != before


def test_paths_may_be_given_relative(project: DagsterProject) -> None:
    done = subprocess.run(
        project.command("build", "--home", "home", "--config", "corpus.toml"),
        cwd=project.root,
        env=os.environ | {"PYTHONPATH": project.environment["PYTHONPATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "everything is up to date" in done.stdout
