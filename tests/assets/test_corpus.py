"""The corpus assets as Dagster sees them: versions, staleness, and shards that fail alone."""

from pathlib import Path

import dagster as dg
import pytest

from arborist.corpus.document_chunks import read_shard_chunks
from arborist.corpus.shard import read_shard_meta
from arborist.corpus.source_documents import read_manifest
from tests.dagster_project import DagsterProject, roots

SHARDS = ("docs-000", "docs-001", "trees-000")


def _versions(project: DagsterProject) -> dict[str, str | None]:
    found = {f"source_documents[{name}]": project.version("source_documents", name) for name in ("docs", "trees")}
    for asset in ("document_chunks", "fts_index"):
        found |= {f"{asset}[{shard}]": project.version(asset, shard) for shard in SHARDS}
    return found | {"corpus_snapshot": project.version("corpus_snapshot")}


def test_partitions_of_a_range_are_each_at_the_root_of_their_own_content(project: DagsterProject) -> None:
    for name in ("docs", "trees"):
        manifest = read_manifest(project.home, name)
        assert manifest is not None and project.version("source_documents", name) == manifest.digest
    for shard in SHARDS:
        chunks, meta = read_shard_chunks(project.home, shard), read_shard_meta(project.home, shard)
        assert chunks is not None and project.version("document_chunks", shard) == chunks.shard_root
        assert meta is not None and project.version("fts_index", shard) == meta.digest
        assert meta.shard_root == chunks.shard_root
    assert project.version("corpus_snapshot") == project.corpus.snapshot().root
    assert len(set(_versions(project).values())) == 2 + 3 + 3 + 1


def test_a_run_reports_each_of_its_partitions_once(project: DagsterProject) -> None:
    result = project.materialize(["document_chunks", "fts_index"], ["docs-000", "trees-000"])
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION
    events = [entry.asset_materialization for entry in project.instance.all_logs(result.run_id, of_type=kind)]
    reported = sorted((event.asset_key.to_user_string(), event.partition or "") for event in events if event)
    assert reported == [(asset, shard) for asset in ("document_chunks", "fts_index") for shard in SHARDS]


def test_a_run_over_one_partition_reports_what_a_range_reports(project: DagsterProject) -> None:
    before = {asset: project.latest(asset, "docs-001") for asset in ("document_chunks", "fts_index")}
    project.materialize(["source_documents"], ["docs"])
    project.materialize(["document_chunks", "fts_index"], ["docs-001"])
    for asset, old in before.items():
        new = project.latest(asset, "docs-001")
        assert old is not None and new is not None
        assert new.metadata.keys() == old.metadata.keys()
        pointers = {key for key in new.tags or {} if key.startswith("dagster/input_event_pointer")}
        assert {key for key, value in (old.tags or {}).items() if new.tags[key] != value} <= pointers


def test_what_was_built_over_ranges_is_fresh(project: DagsterProject) -> None:
    assert project.unsynced() == {}


def test_rebuilding_unchanged_content_makes_nothing_stale(project: DagsterProject) -> None:
    before = _versions(project)
    project.materialize(["source_documents"], ["docs", "trees"])
    assert project.unsynced() == {}
    project.materialize(["document_chunks", "fts_index"], ["docs-000", "docs-001"])
    assert project.unsynced() == {}
    project.materialize(["fts_index"], ["docs-001"])
    assert project.unsynced() == {}
    assert _versions(project) == before


def test_changed_content_makes_exactly_the_dependents_stale(project: DagsterProject) -> None:
    project.write("docs/lamp.md", "The lamp went to the attic.\n")
    edited = project.shard_of("docs/lamp.md")
    project.materialize(["source_documents"], ["docs", "trees"])
    assert set(project.unsynced()) == {f"document_chunks[{shard}]" for shard in SHARDS[:2]}
    project.materialize(["document_chunks"], ["docs-000", "docs-001"])
    assert set(project.unsynced()) == {f"fts_index[{edited}]"}
    project.materialize(["fts_index"], ["docs-000", "docs-001"])
    assert set(project.unsynced()) == {"corpus_snapshot"}
    project.materialize(["corpus_snapshot"])
    assert project.unsynced() == {}


def test_a_new_chunk_size_makes_every_built_shard_stale_and_no_unbuilt_one(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 1, "stones": 1}, max_characters=40)
    project.write("stones/flint.md")
    behind = project.unsynced()
    for shard in SHARDS:
        assert behind.pop(f"document_chunks[{shard}]") == "STALE has a new code version"
    assert behind == {
        "source_documents[stones]": "MISSING",
        "document_chunks[stones-000]": "MISSING",
        "fts_index[stones-000]": "MISSING",
    }


@pytest.mark.slow
def test_a_new_chunk_size_leads_to_other_roots_and_back(project: DagsterProject) -> None:
    before = _versions(project)
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    project.materialize(["document_chunks", "fts_index"], ["docs-000", "trees-000"])
    assert set(project.unsynced()) == {"corpus_snapshot"}
    changed = {name for name, version in _versions(project).items() if version != before[name]}
    assert changed == {f"{asset}[{shard}]" for asset in ("document_chunks", "fts_index") for shard in SHARDS}
    project.configure({"docs": 2, "trees": 1})
    project.materialize(["document_chunks", "fts_index"], ["docs-000", "trees-000"])
    assert project.unsynced() == {}
    assert _versions(project) == before


def test_a_failing_shard_fails_alone_and_is_named(project: DagsterProject) -> None:
    before = roots(project.corpus)
    project.configure({"docs": 2, "trees": 1}, max_characters=40)
    _damage(project.home.documents_file("docs", "docs-001"))
    result = project.materialize(["document_chunks"], ["docs-000", "trees-000"], raise_on_error=False)
    (failure,) = [event for event in result.all_node_events if event.is_step_failure]
    told = failure.step_failure_data.user_failure_data
    assert told is not None and told.description.startswith("docs-001: ")
    assert not any(shard in told.description for shard in SHARDS if shard != "docs-001")
    for shard in SHARDS:
        assert (project.version("document_chunks", shard) == before[shard]) == (shard == "docs-001")


def test_a_failing_source_fails_alone_and_is_named(project: DagsterProject) -> None:
    project.write("trees/fir.md")
    (project.root / "docs" / "lamp.md").write_bytes(b"\xff\xfe lamp")
    before = _versions(project)
    result = project.materialize(["source_documents"], ["docs", "trees"], raise_on_error=False)
    (failure,) = [event for event in result.all_node_events if event.is_step_failure]
    told = failure.step_failure_data.user_failure_data
    assert told is not None and told.description.startswith("docs: ") and "lamp.md" in told.description
    changed = {name for name, version in _versions(project).items() if version != before[name]}
    assert changed == {"source_documents[trees]"}


@pytest.mark.slow
def test_a_shard_without_documents_is_a_shard(project: DagsterProject) -> None:
    project.configure({"docs": 2, "trees": 9})
    project.materialize(["source_documents"], ["trees"])
    project.materialize(["document_chunks", "fts_index"], ["trees-000", "trees-008"])
    project.materialize(["corpus_snapshot"])
    assert project.unsynced() == {}
    counts = [project.latest("fts_index", f"trees-{number:03d}") for number in range(9)]
    assert sum(event.metadata["documents"].value for event in counts if event is not None) == 3


@pytest.mark.parametrize("asset", ["document_chunks", "fts_index"])
def test_what_a_shard_reports_is_what_people_look_at(project: DagsterProject, asset: str) -> None:
    event = project.latest(asset, "docs-000")
    assert event is not None
    assert {"dagster/row_count", "shard_root", "chunking_version"} <= event.metadata.keys()
    assert all(event.metadata[figure].value > 0 for figure in ("documents", "chunks", "bytes", "seconds"))


def _damage(path: Path) -> None:
    """Spoil the rows of a Parquet file; its footer stays whole."""
    path.write_bytes(b"PAR1" + bytes(200) + path.read_bytes()[204:])
