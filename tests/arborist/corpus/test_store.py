"""What of a corpus is current is read from its files, and only what is behind is built again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from arborist.corpus.snapshot import CorpusSnapshot
from arborist.corpus.source_documents import shard_number, write_source_documents
from arborist.corpus.sources import open_source
from arborist.errors import CorpusError, InputError
from arborist.hashing import canonical_json
from arborist.merkle import leaf_hash, tree_root
from arborist.workspace import Workspace
from tests.arborist.corpus.test_shard import tamper
from tests.corpora import BRIDGES, build, opened, write_config, write_rows

SHARDS = ["land-000", "land-001", "land-002", "people-000"]


def behind(workspace: Workspace) -> dict[str, str]:
    """The shards that are not current, with the reason, read by somebody who comes new to the home."""
    again = opened(workspace.config.path.parent)
    return {status.shard: status.behind for status in again.corpus.status() if status.behind}


def edit_alder(folder: Path) -> None:
    texts = {uri: text for uri, text in BRIDGES.items() if not uri.startswith("people/")}
    write_rows(folder / "land.jsonl", texts | {"bridges/alder": ("Alder Bridge", "It was closed in 2001.")})


def files(workspace: Workspace) -> dict[str, tuple[int, int]]:
    paths = [path for path in workspace.home.root.rglob("*") if path.suffix in (".parquet", ".db")]
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


def test_a_corpus_that_was_built_is_current(workspace: Workspace) -> None:
    assert behind(workspace) == {}
    assert workspace.corpus.stale_sources() == []
    assert [status.shard for status in workspace.corpus.status()] == SHARDS
    assert sum(status.published.documents for status in workspace.corpus.status() if status.published) == 6


def test_a_corpus_that_was_not_built_says_so(tmp_path: Path, workspace: Workspace) -> None:
    fresh = Workspace.open(tmp_path / "other", workspace.config.path)
    assert fresh.corpus.stale_sources() == ["land", "people"]
    assert {status.behind for status in fresh.corpus.status()} == {"not chunked yet"}
    assert fresh.corpus.published_shards() == []
    with pytest.raises(CorpusError, match=r"other: no shard has been built yet .*arborist build"):
        fresh.corpus.snapshot()
    assert not (tmp_path / "other").exists()


def test_an_edited_document_makes_its_source_stale_until_it_is_read(workspace: Workspace) -> None:
    edit_alder(workspace.config.path.parent)
    assert workspace.corpus.stale_sources() == ["land"]
    build(workspace)
    assert workspace.corpus.stale_sources() == []
    assert behind(workspace) == {}


def test_an_edited_document_leaves_its_shard_alone_behind(workspace: Workspace) -> None:
    edit_alder(workspace.config.path.parent)
    write_source_documents(open_source(workspace.config.source("land")), workspace.home)
    assert behind(workspace) == {f"land-{shard_number('bridges/alder', 3):03d}": "its documents have changed"}


def test_a_source_written_anew_with_the_same_content_is_not_stale(workspace: Workspace) -> None:
    texts = {uri: text for uri, text in BRIDGES.items() if not uri.startswith("people/")}
    write_rows(workspace.config.path.parent / "land.jsonl", texts)
    assert workspace.corpus.stale_sources() == []


def test_another_number_of_shards_makes_the_source_stale(workspace: Workspace) -> None:
    folder = workspace.config.path.parent
    write_config(folder, {"land": {"shards": 2}, "people": {"role": "background"}})
    assert opened(folder).corpus.stale_sources() == ["land"]
    build(opened(folder))
    assert opened(folder).corpus.published_shards() == ["land-000", "land-001", "people-000"]


def test_another_chunk_size_leaves_every_shard_behind_and_says_why(workspace: Workspace) -> None:
    folder = workspace.config.path.parent
    write_config(folder, {"land": {"shards": 3}, "people": {}}, "[chunking]\nmax_characters = 40\n")
    reasons = behind(workspace)
    assert list(reasons) == SHARDS
    assert all(
        text.endswith("max=1000, not " + opened(folder).corpus.chunker.version) for text in reasons.values()
    )
    build(opened(folder))
    assert behind(workspace) == {}


@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        (lambda home: home.chunks_file("land-001").unlink(), "not chunked yet"),
        (lambda home: home.chunks_file("land-001").write_bytes(b"PAR1"), "not chunked yet"),
        (lambda home: home.shard_file("land-001").unlink(), "not published yet"),
        (lambda home: home.shard_file("land-001").write_bytes(b"SQLite"), "not published yet"),
        (lambda home: home.documents_file("land", "land-001").unlink(), "its documents have changed"),
    ],
)
def test_what_was_lost_or_damaged_is_behind_and_comes_back_the_same(
    workspace: Workspace, lose: Callable[[object], object], reason: str
) -> None:
    root = workspace.corpus.snapshot().root
    lose(workspace.home)
    assert behind(workspace) == {"land-001": reason}
    build(workspace)
    assert behind(workspace) == {}
    assert workspace.corpus.snapshot().root == root


def test_an_index_of_another_version_is_behind(workspace: Workspace) -> None:
    tamper(workspace.home.shard_file("land-001"), "UPDATE meta SET value = 'old' WHERE key = 'index_version'")
    assert behind(workspace)["land-001"].startswith("indexed by old, not fts5/")


def test_a_missing_or_damaged_shard_is_named_when_it_is_opened(workspace: Workspace) -> None:
    workspace.home.shard_file("land-001").write_bytes(b"garbage" * 1000)
    with pytest.raises(CorpusError, match=r"land-001\.db: .*arborist build"), workspace.corpus.opened():
        pass
    workspace.home.shard_file("land-001").unlink()
    with pytest.raises(CorpusError, match=r"land-001\.db: .*arborist build"), workspace.corpus.opened(SHARDS):
        pass


def test_the_snapshot_is_over_shards_and_their_roots_by_name(workspace: Workspace) -> None:
    snapshot = workspace.corpus.snapshot()
    assert [shard for shard, _ in snapshot.shards] == SHARDS
    leaves = [leaf_hash(canonical_json([shard, root])) for shard, root in snapshot.shards]
    assert snapshot.root == tree_root(leaves).hex()
    assert CorpusSnapshot.of(snapshot.shards[::-1]) == snapshot


def test_editing_a_document_moves_the_snapshot_and_undoing_it_moves_it_back(workspace: Workspace) -> None:
    folder = workspace.config.path.parent
    before, text = workspace.corpus.snapshot().root, (folder / "land.jsonl").read_text()
    edit_alder(folder)
    build(workspace)
    assert workspace.corpus.snapshot().root != before
    (folder / "land.jsonl").write_text(text)
    build(workspace)
    assert workspace.corpus.snapshot().root == before


def test_asking_what_is_current_writes_nothing(workspace: Workspace) -> None:
    before = files(workspace)
    workspace.corpus.status()
    workspace.corpus.stale_sources()
    workspace.corpus.snapshot()
    assert files(workspace) == before


def test_a_shard_that_no_source_has_is_refused_by_name(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="no source has a shard 'land-003'"):
        workspace.corpus.chunks_behind("land-003")
