"""The checks of the corpus pass on what is sound and name what is not."""

import random
from contextlib import closing
from pathlib import Path

import apsw
import dagster as dg
import pytest

from arborist.corpus.posting_sidecar import sidecar_file
from arborist.corpus.shard import Shard
from arborist.errors import CorpusError
from assets.corpus_checks import CORPUS_CHECKS
from tests.dagster_project import DagsterProject

SOUNDNESS = ("shard_roots_recompute", "index_holds_every_chunk")


def _faults(evaluation: dg.AssetCheckEvaluation) -> str:
    return str(evaluation.metadata["faults"].value)


def _tamper(path: Path, sql: str) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(sql)


def _change_byte(path: Path, old: bytes, new: bytes) -> None:
    """Change stored bytes in place, as a disk or a hex editor would: SQLite is not asked."""
    data = path.read_bytes()
    assert len(old) == len(new) and old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize("check", [*SOUNDNESS, "shards_current"])
def test_a_sound_corpus_passes_and_is_checked_whole(project: DagsterProject, check: str) -> None:
    evaluation = project.check(check)
    assert evaluation.passed
    assert evaluation.metadata["shards"].value == 3


@pytest.mark.parametrize("check", SOUNDNESS)
def test_an_altered_text_fails_naming_shard_and_document(project: DagsterProject, check: str) -> None:
    shard = project.shard_of("docs/lamp.md")
    _change_byte(project.home.shard_file(shard), b"kept in the lamp room", b"kept in the damp room")
    evaluation = project.check(check)
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.ERROR
    assert evaluation.metadata["bad_shards"].value == 1
    assert shard in _faults(evaluation)
    assert shard in (evaluation.description or "")
    if check == "shard_roots_recompute":
        assert "lamp.md chunk" in _faults(evaluation)


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("UPDATE documents SET title = 'Lamps' WHERE uri LIKE '%lamp.md'", "lamp.md"),
        ("UPDATE documents SET aliases = 'not json' WHERE uri LIKE '%lamp.md'", "lamp.md"),
        ("DELETE FROM documents WHERE uri LIKE '%lamp.md'", "shard root"),
        ("UPDATE meta SET value = '00' WHERE key = 'shard_root'", "shard root"),
        ("DROP TABLE chunks", "file"),
    ],
)
def test_whatever_part_of_a_shard_is_altered_its_roots_tell(project: DagsterProject, sql: str, place: str) -> None:
    shard = project.shard_of("docs/lamp.md")
    _tamper(project.home.shard_file(shard), sql)
    evaluation = project.check("shard_roots_recompute")
    assert not evaluation.passed
    assert shard in _faults(evaluation) and place in _faults(evaluation)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM chunks_fts WHERE rowid = 1",
        "INSERT INTO chunks_fts (chunks_fts, rowid, title, text) VALUES ('delete', 1, 'x', 'y')",
        "UPDATE documents SET title = 'Carpet' WHERE uri LIKE '%lamp.md'",
    ],
)
def test_an_index_that_is_not_that_of_the_chunks_fails(project: DagsterProject, sql: str) -> None:
    shard = project.shard_of("docs/lamp.md")
    _tamper(project.home.shard_file(shard), sql)
    evaluation = project.check("index_holds_every_chunk")
    assert not evaluation.passed
    assert shard in _faults(evaluation)


@pytest.mark.parametrize("content", [b"", b"not a shard", b"SQLite format 3\x00" + bytes(4096)])
def test_a_file_that_is_no_shard_fails_both(project: DagsterProject, content: bytes) -> None:
    project.home.shard_file("docs-001").write_bytes(content)
    for check in SOUNDNESS:
        evaluation = project.check(check)
        assert not evaluation.passed and "docs-001" in _faults(evaluation)


def test_the_remedy_that_a_failed_check_names_helps(project: DagsterProject) -> None:
    path = project.home.shard_file("docs-001")
    sound = project.corpus.snapshot()
    _tamper(path, "UPDATE chunks SET text = 'nothing'")
    told = project.check("shard_roots_recompute").description or ""
    assert "Delete shards/docs-001.db" in told and "arborist build" in told
    path.unlink()
    project.build()
    assert project.check("shard_roots_recompute").passed
    assert project.corpus.snapshot() == sound


def test_materializing_a_bad_shard_in_the_ui_helps_too(project: DagsterProject) -> None:
    _tamper(project.home.shard_file("docs-001"), "UPDATE chunks SET text = 'nothing'")
    run = project.materialize(["fts_index"], ["docs-001"])
    assert all(evaluation.passed for evaluation in run.get_asset_check_evaluations())
    assert project.check("shard_roots_recompute").passed


def test_in_a_run_only_its_own_shards_are_checked(project: DagsterProject) -> None:
    _tamper(project.home.shard_file("trees-000"), "UPDATE chunks SET text = 'nothing'")
    run = project.materialize(["fts_index"], ["docs-000", "docs-001"])
    evaluations = {item.check_name: item for item in run.get_asset_check_evaluations()}
    for check in SOUNDNESS:
        assert evaluations[check].passed
        assert evaluations[check].metadata["shards"].value == 2
    run = project.materialize(["fts_index"], ["docs-001"])
    evaluations = {item.check_name: item for item in run.get_asset_check_evaluations()}
    assert evaluations["shard_roots_recompute"].metadata["shards"].value == 1
    assert not project.check("shard_roots_recompute").passed


def test_checks_block_only_where_wrong_data_would_be_served() -> None:
    blocking = {spec.name: spec.blocking for check in CORPUS_CHECKS for spec in check.check_specs}
    assert blocking == {
        "documents_match_digest": True,
        "nothing_left_out": False,
        "chunk_roots_recompute": True,
        "shard_roots_recompute": True,
        "index_holds_every_chunk": True,
        "postings_answer_as_fts5": True,
        "shards_current": False,
        "snapshot_holds_every_shard": False,
    }


def test_shards_that_are_behind_are_listed_with_why_and_what_they_answer_from(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1, "stones": 1}, max_characters=40)
    project.write("stones/flint.md")
    evaluation = project.check("shards_current")
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.WARN
    assert evaluation.metadata["behind"].value == 4
    table = evaluation.metadata["shards_behind"]
    assert isinstance(table, dg.TableMetadataValue)
    assert str(table).count("characters/max=60, not semantic-text-splitter") == 3
    told = {"shard": "stones-000", "why": "not chunked yet", "answers from": "nothing yet"}
    assert told in [record.data for record in table.records]
    project.build()
    assert project.check("shards_current").passed


def test_an_edited_document_makes_its_shard_alone_not_current(project: DagsterProject) -> None:
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    project.materialize(["source_documents"], ["docs"])
    evaluation = project.check("shards_current")
    assert evaluation.metadata["behind"].value == 1
    assert project.shard_of("docs/lamp.md") in str(evaluation.metadata["shards_behind"].value)


def test_any_flipped_byte_is_found_or_changes_nothing_that_is_served(project: DagsterProject) -> None:
    path = project.home.shard_file("docs-000")
    sound, served = path.read_bytes(), _served(path)
    seed, in_use = random.Random(7), [place for place, byte in enumerate(sound) if byte]
    found = 0
    for _ in range(60):
        place = seed.choice(in_use)
        path.write_bytes(sound[:place] + bytes([sound[place] ^ seed.randrange(1, 256)]) + sound[place + 1 :])
        passed = not _direct_faults(path, "content_faults") and not _direct_faults(path, "index_faults")
        assert not passed or _served(path) == served, f"byte {place}"
        found += not passed
    assert found > 20


def _direct_faults(path: Path, kind: str) -> list[object]:
    try:
        with Shard(path) as shard:
            return list(getattr(shard, kind)())
    except CorpusError as error:
        return [error]


def _served(path: Path) -> list[object]:
    with Shard(path) as shard:
        rows = shard.rows(
            "SELECT uri, title, aliases, text FROM chunks JOIN documents ON documents.id = document_id"
        )
        return [shard.meta.shard_root, *sorted(rows), *shard.rows("SELECT rowid FROM chunks_fts('lamp OR clock')")]


def test_postings_that_are_not_the_shards_are_told_with_its_name(project: DagsterProject) -> None:
    assert project.check("postings_answer_as_fts5").passed
    shard = project.shard_of("docs/lamp.md")
    sidecar_file(project.home.shard_file(shard)).unlink()
    evaluation = project.check("postings_answer_as_fts5")
    assert not evaluation.passed
    assert evaluation.metadata["bad_shards"].value == 1
    assert shard in _faults(evaluation)


@pytest.mark.parametrize(
    ("check", "asset"),
    [("documents_match_digest", "source_documents"), ("chunk_roots_recompute", "document_chunks")],
)
def test_a_damaged_file_is_told_and_deleting_it_as_told_mends_it(
    project: DagsterProject, check: str, asset: str
) -> None:
    shard = project.shard_of("docs/lamp.md")
    damaged = {
        "documents_match_digest": project.home.documents_file("docs", shard),
        "chunk_roots_recompute": project.home.chunks_file(shard),
    }[check]
    assert project.check(check, asset).passed
    damaged.write_bytes(b"PAR1" + bytes(200) + damaged.read_bytes()[204:])
    evaluation = project.check(check, asset)
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.ERROR and evaluation.blocking
    assert str(damaged.relative_to(project.home.root)) in (evaluation.description or "")
    damaged.unlink()
    project.build()
    assert project.check(check, asset).passed


def test_a_source_that_leaves_entries_out_is_a_warning_that_says_where_to_look(project: DagsterProject) -> None:
    assert project.check("nothing_left_out", "source_documents").passed
    text = project.config.read_text().replace('path = "trees"', 'path = "trees"\non_error = "skip"')
    project.config.write_text(text)
    (project.root / "trees" / "fir.md").write_bytes(b"\xff\xfe fir")
    project.materialize(["source_documents"], ["trees"])
    evaluation = project.check("nothing_left_out", "source_documents")
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.WARN
    assert evaluation.metadata["skipped"].value == 1
    assert "documents/trees/skipped.jsonl" in (evaluation.description or "")


def test_shards_that_are_not_searched_are_a_warning(project: DagsterProject) -> None:
    assert project.check("snapshot_holds_every_shard", "corpus_snapshot").passed
    project.home.shard_file("docs-001").unlink()
    evaluation = project.check("snapshot_holds_every_shard", "corpus_snapshot")
    assert not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.WARN
    assert "docs-001" in str(evaluation.metadata["missing_shards"].value)
