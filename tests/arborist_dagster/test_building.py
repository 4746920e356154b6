"""A build does what is behind and nothing else, and Dagster knows afterwards what there is."""

import shutil
from itertools import pairwise
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist import progress
from arborist_dagster.building import Step, contiguous
from tests.dagster_project import DagsterProject, leftovers, roots

SNAPSHOT = Step(("corpus_snapshot",), None)


def _read(*sources: str) -> Step:
    return Step(("source_documents",), sources)


def _built(*shards: str) -> Step:
    return Step(("document_chunks", "fts_index"), shards)


def _indexed(*shards: str) -> Step:
    return Step(("fts_index",), shards)


def _runs(project: DagsterProject) -> int:
    return int(project.instance.get_runs_count())


@given(st.lists(st.integers(0, 30), unique=True), st.sets(st.integers(0, 30)))
def test_contiguous_runs_cover_what_is_wanted_and_nothing_between(names: list[int], wanted: set[int]) -> None:
    order = [str(name) for name in names]
    runs = list(contiguous(order, {str(name) for name in wanted}))
    assert [name for run in runs for name in run] == [name for name in order if int(name) in wanted]
    for run in runs:
        first = order.index(run[0])
        assert order[first : first + len(run)] == list(run)
    for left, right in pairwise(runs):
        assert order.index(right[0]) > order.index(left[-1]) + 1


def test_a_second_build_runs_nothing(project: DagsterProject) -> None:
    runs = _runs(project)
    assert project.build() == ([], [])
    assert _runs(project) == runs
    assert project.unsynced() == {}


def test_a_first_build_reads_chunks_indexes_and_records_the_whole(new_project: DagsterProject) -> None:
    made, failures = new_project.build()
    assert failures == []
    assert made == [_read("docs", "trees"), _built("docs-000", "docs-001", "trees-000"), SNAPSHOT]
    assert new_project.unsynced() == {}
    assert leftovers(new_project.home) == []


def test_editing_one_document_rebuilds_its_shard_alone(project: DagsterProject) -> None:
    before = {path: path.stat().st_ino for path in project.home.root.glob("[cs]h*/*.[dp]*")}
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    edited = project.shard_of("docs/lamp.md")
    assert project.build() == ([_read("docs"), _built(edited), SNAPSHOT], [])
    replaced = {path.stem for path, inode in before.items() if path.stat().st_ino != inode}
    assert replaced == {edited}
    assert project.unsynced() == {}
    assert project.build() == ([], [])


@pytest.mark.slow
def test_adding_and_removing_a_document_rebuilds_its_shard_alone(project: DagsterProject) -> None:
    before = roots(project.corpus)
    path = project.write("docs/kettle.md")
    made, _ = project.build()
    shard = project.shard_of("docs/kettle.md")
    assert made == [_read("docs"), _built(shard), SNAPSHOT]
    path.unlink()
    assert project.build() == ([_read("docs"), _built(shard), SNAPSHOT], [])
    assert roots(project.corpus) == before
    assert project.unsynced() == {}


def test_touching_a_document_without_changing_it_rebuilds_nothing(project: DagsterProject) -> None:
    path = project.root / "docs" / "lamp.md"
    text = path.read_bytes()
    path.unlink()
    path.write_bytes(text)
    assert project.build() == ([], [])


def test_a_source_that_is_taken_out_is_searched_no_more_and_comes_back_as_it_was(project: DagsterProject) -> None:
    before = roots(project.corpus)
    project.configure({"docs": 2})
    assert project.build() == ([SNAPSHOT], [])
    assert set(roots(project.corpus)) == {"docs-000", "docs-001"}
    assert project.unsynced() == {}
    project.configure({"docs": 2, "trees": 1})
    assert project.build() == ([SNAPSHOT], [])
    assert roots(project.corpus) == before


@pytest.mark.slow
def test_fewer_shards_hold_the_same_documents(project: DagsterProject) -> None:
    def documents() -> int:
        with project.corpus.opened() as shards:
            return sum(shard.meta.documents for shard in shards)

    before = documents()
    project.configure({"docs": 1, "trees": 1})
    assert project.build() == ([_read("docs"), _built("docs-000"), SNAPSHOT], [])
    assert documents() == before
    assert set(roots(project.corpus)) == {"docs-000", "trees-000"}
    assert project.unsynced() == {}
    assert project.build() == ([], [])


def test_a_new_chunk_size_rebuilds_every_shard_and_reads_no_source(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    assert project.build() == ([_built("docs-000", "docs-001", "trees-000"), SNAPSHOT], [])
    assert {item.published.chunking_version.rpartition("=")[2] for item in project.corpus.status()} == {"40"}
    assert project.unsynced() == {}
    assert project.build() == ([], [])


@pytest.mark.parametrize(
    ("deleted", "made"),
    [
        ("shards/docs-001.db", [_indexed("docs-001")]),
        ("chunks/docs-001.parquet", [_built("docs-001")]),
        ("documents/docs/docs-001.parquet", [_read("docs")]),
        ("documents", [_read("docs", "trees")]),
    ],
)
def test_what_was_deleted_is_made_again_as_it_was(project: DagsterProject, deleted: str, made: list[Step]) -> None:
    before = roots(project.corpus)
    path = project.home.root / deleted
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    assert project.build() == (made, [])
    assert roots(project.corpus) == before
    assert project.unsynced() == {}


def test_a_deleted_instance_learns_again_what_there_is_without_building_it(project: DagsterProject) -> None:
    before = roots(project.corpus)
    shutil.rmtree(project.home.dagster_folder)
    assert project.build() == ([SNAPSHOT], [])
    assert project.unsynced() == {}
    assert roots(project.corpus) == before
    assert project.build() == ([], [])


def test_work_whose_record_was_lost_is_recorded(project: DagsterProject) -> None:
    """As after a kill between the two: the files are new, and Dagster's log is old."""
    log = project.root / "log"
    shutil.copytree(project.home.dagster_folder, log)
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    project.build()
    project.close()
    shutil.rmtree(project.home.dagster_folder)
    log.rename(project.home.dagster_folder)
    again = DagsterProject(project.root)
    assert again.unsynced() == {}, "Dagster believes what it last heard"
    assert again.build() == ([SNAPSHOT], [])
    for item in again.corpus.status():
        assert item.published is not None
        assert again.version("fts_index", item.shard) == item.published.digest
        assert again.version("document_chunks", item.shard) == item.published.shard_root
    assert again.unsynced() == {}
    again.close()


@pytest.mark.slow
def test_what_was_built_by_hand_in_the_ui_is_not_built_again(project: DagsterProject) -> None:
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    project.materialize(["source_documents"], ["docs"])
    project.materialize(["document_chunks", "fts_index"], ["docs-000", "docs-001"])
    assert project.build() == ([SNAPSHOT], [])
    assert project.build() == ([], [])


def test_a_failing_shard_holds_up_no_other_and_is_all_that_is_left_to_do(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    path = project.home.documents_file("docs", "docs-001")
    path.write_bytes(b"PAR1" + bytes(200) + path.read_bytes()[204:])
    made, failures = project.build()
    assert made == [
        Step(("document_chunks",), ("docs-000",)),
        Step(("document_chunks",), ("trees-000",)),
        _indexed("docs-000"),
        _indexed("trees-000"),
        SNAPSHOT,
    ]
    (failure,) = failures
    assert failure.startswith("docs-001: ") and f"{path}: " in failure and "delete it" in failure
    assert [item.shard for item in project.corpus.status() if item.behind] == ["docs-001"]
    path.unlink()
    assert project.build() == ([_read("docs"), _built("docs-001"), SNAPSHOT], [])
    assert project.unsynced() == {}


def test_a_failing_source_holds_up_no_other(project: DagsterProject) -> None:
    document = project.root / "docs" / "lamp.md"
    text = document.read_bytes()
    document.write_bytes(b"\xff\xfe lamp")
    project.write("trees/fir.md")
    made, failures = project.build()
    assert made == [Step(("source_documents",), ("trees",)), _built("trees-000"), SNAPSHOT]
    (failure,) = failures
    assert failure.startswith("docs: ") and "lamp.md" in failure
    document.write_bytes(text)
    assert project.build() == ([], []), "the documents are again what was read before"
    assert project.unsynced() == {}


def test_a_corpus_of_which_nothing_can_be_read_says_why(new_project: DagsterProject) -> None:
    for document in (new_project.root / "docs", new_project.root / "trees"):
        shutil.rmtree(document)
        document.mkdir()
    made, failures = new_project.build()
    assert made == []
    assert len(failures) == 1
    assert "docs: " in failures[0] and "trees: " in failures[0]


def test_runs_of_a_build_that_was_killed_are_not_at_work_for_ever(project: DagsterProject) -> None:
    job = project.definitions.resolve_implicit_job_def_def_for_assets([dg.AssetKey("fts_index")])
    assert job is not None
    at_work, of_build = dg.DagsterRunStatus.STARTED, {"arborist/started_by": "build"}
    run = project.instance.create_run_for_job(job, tags=of_build, status=at_work)
    other = project.instance.create_run_for_job(job, status=at_work)
    project.build()
    ended, untouched = project.instance.get_run_by_id(run.run_id), project.instance.get_run_by_id(other.run_id)
    assert ended is not None and ended.status is dg.DagsterRunStatus.FAILURE
    assert untouched is not None and untouched.status is dg.DagsterRunStatus.STARTED


@pytest.mark.slow
def test_whoever_watches_is_told_of_every_unit(new_project: DagsterProject) -> None:
    units: list[str] = []
    with progress.watched_by(units.append):
        made, _ = new_project.build()
    shards = ["docs-000", "docs-001", "trees-000"]
    wanted = ["documents docs", "documents trees"]
    wanted += [f"chunks {shard}" for shard in shards] + [f"index {shard}" for shard in shards]
    assert units == [*wanted, "corpus snapshot"]
    assert sum(step.units for step in made) == len(units)


@pytest.mark.slow
def test_many_shards_are_built_in_processes_to_the_same_roots(new_project: DagsterProject, tmp_path: Path) -> None:
    many = {"docs": 2, "trees": 3}
    new_project.configure(many)
    made, failures = new_project.build()
    assert failures == [] and sum(step.units for step in made) == 2 + 2 * 5 + 1
    other = DagsterProject.new(tmp_path / "other")
    for source, count in many.items():
        other.configure({source: count})
        other.build()
    other.configure(many)
    assert roots(new_project.corpus) == roots(other.corpus)
    other.close()
