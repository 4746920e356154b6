"""A shard file is read as it is, and whatever in it is not what its roots say is found and named."""

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from arborist.corpus.chunking import Chunker
from arborist.corpus.document_chunks import chunked
from arborist.corpus.shard import Shard, ShardFault, read_shard_meta
from arborist.errors import CorpusError
from arborist.home import Home
from arborist.merkle import inclusion_proof, leaf_hash, verify_inclusion
from arborist.policy import RankingPolicy
from arborist.retrieval.search import search
from tests.corpora import document, published

DOCUMENTS = [
    document("a", "The first sentence. The second sentence. The third one."),
    document("b", "Rain falls in spring.", "Weather", ["Climate", 'The "sky"']),
    document("c", "Wind and rain."),
]
CHUNKER = Chunker(25)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shard file that nobody may change."""
    return published(Home(tmp_path_factory.mktemp("pristine")), DOCUMENTS, max_characters=25)[0]


@pytest.fixture
def path(pristine: Path, tmp_path: Path) -> Path:
    """A shard file of its own for each test."""
    copy = tmp_path / pristine.name
    shutil.copyfile(pristine, copy)
    return copy


def tamper(path: Path, sql: str, parameters: Sequence[Any] = ()) -> None:
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute(sql, parameters)
    assert connection.total_changes() > 0
    connection.close()


def faults(path: Path) -> list[ShardFault]:
    with Shard(path) as shard:
        return [*shard.content_faults(), *shard.index_faults()]


def test_a_shard_as_it_was_published_has_no_faults(path: Path) -> None:
    assert faults(path) == []


def test_documents_and_chunks_are_read_back(path: Path) -> None:
    trees = [chunked(item, CHUNKER) for item in DOCUMENTS]
    with Shard(path) as shard:
        assert shard.document_roots() == [tree.root for tree in trees]
        for item, tree in zip(DOCUMENTS, trees, strict=True):
            root = tree.root.hex()
            assert shard.header(root) == item.header(CHUNKER.version)
            assert shard.leaves(root) == list(tree.leaves)
            texts = [shard.chunk_text(root, index) for index in range(len(tree.chunks))]
            assert texts == [chunk.text for chunk in tree.chunks]


def test_a_chunk_is_proven_from_the_shard_alone(path: Path) -> None:
    with Shard(path) as shard:
        roots = shard.document_roots()
        leaves = shard.leaves(roots[0].hex())
        text = shard.chunk_text(roots[0].hex(), 1)
        leaf_of_document = [leaf_hash(root) for root in roots]
        in_shard = inclusion_proof(leaf_of_document, 0)
        assert verify_inclusion(leaf_hash(text.encode()), 2, len(leaves), inclusion_proof(leaves, 2), roots[0])
        shard_root = bytes.fromhex(shard.meta.shard_root)
        assert verify_inclusion(leaf_of_document[0], 0, len(roots), in_shard, shard_root)


def test_chunks_are_given_in_the_order_they_are_asked_for_however_many(path: Path) -> None:
    with Shard(path) as shard:
        asked = [3, 1, 2] * 20_000
        assert [chunk.chunk_id for chunk in shard.chunks(asked)] == asked
        assert shard.chunks([]) == []


def test_what_the_shard_does_not_hold_is_an_error_that_names_it(path: Path) -> None:
    with Shard(path) as shard:
        root = shard.document_roots()[0].hex()
        with pytest.raises(CorpusError, match=f"{path}: document {root} has no chunk 9"):
            shard.chunk_text(root, 9)
        with pytest.raises(CorpusError, match=f"{path}: no document with root 00"):
            shard.leaves("00")


def test_the_digest_is_of_content_and_index_together(path: Path) -> None:
    with Shard(path) as shard:
        before = shard.meta
    tamper(path, "UPDATE meta SET value = 'other' WHERE key = 'index_version'")
    with Shard(path) as shard:
        assert shard.meta.digest != before.digest
        assert shard.meta.shard_root == before.shard_root


def test_reading_never_changes_the_file_nor_puts_one_beside_it(path: Path) -> None:
    before = path.read_bytes()
    with Shard(path) as shard:
        search([shard], "rain", ("wind",), over_fetch=9, policy=RankingPolicy())
        list(shard.index_faults())
        with pytest.raises(CorpusError):
            shard.rows("DELETE FROM chunks")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("UPDATE chunks SET text = text || ' more' WHERE id = 2", "a chunk 1"),
        ("UPDATE chunks SET text = CAST(text AS BLOB) WHERE id = 2", "a chunk 1"),
        ("UPDATE chunks SET text = 'Wind and hail.', leaf_hash = '{hail}' WHERE text = 'Wind and rain.'", "c"),
        ("UPDATE chunks SET leaf_hash = upper(leaf_hash) WHERE id = 2", "a chunk 1"),
        ("UPDATE chunks SET leaf_hash = '' WHERE id = 2", "a chunk 1"),
        ("UPDATE chunks SET chunk_index = 7 WHERE id = 3", "a chunk 7"),
        ("UPDATE chunks SET chunk_index = 2 - chunk_index WHERE document_id = 1", "a"),
        ("UPDATE chunks SET start = start + 1 WHERE id = 2", "a chunk 1"),
        ("UPDATE chunks SET start = 0, end = end - start WHERE id = 2", "a chunk 1"),
        ("UPDATE chunks SET document_id = 2 WHERE id = 3", "a"),
        ("UPDATE chunks SET document_id = 99 WHERE id = 3", "a"),
        ("DELETE FROM chunks WHERE id = 3", "a"),
        ("INSERT INTO chunks VALUES (99, 99, 0, 0, 4, 'text', '')", "chunks"),
        ("UPDATE documents SET title = 'Other' WHERE id = 2", "b"),
        ("UPDATE documents SET source_revision = '' WHERE id = 2", "b"),
        ("UPDATE documents SET aliases = '[]' WHERE id = 2", "b"),
        ("UPDATE documents SET aliases = 'no JSON' WHERE id = 2", "b"),
        ("UPDATE documents SET aliases = '7' WHERE id = 2", "b"),
        ("UPDATE documents SET title = CAST(title AS BLOB) WHERE id = 2", "b"),
        ("UPDATE documents SET uri = 'bb' WHERE id = 2", "bb"),
        ("UPDATE documents SET document_root = '{hail}' WHERE id = 2", "b"),
        ("DELETE FROM documents WHERE id = 2", "shard root"),
        ("UPDATE meta SET value = '{hail}' WHERE key = 'shard_root'", "shard root"),
        ("UPDATE meta SET value = 'other' WHERE key = 'chunking_version'", "a"),
        ("UPDATE meta SET value = '4' WHERE key = 'documents'", "documents"),
        ("UPDATE meta SET value = '4' WHERE key = 'chunks'", "chunks"),
        ("UPDATE meta SET value = '[\"code\"]' WHERE key = 'source_types'", "source types"),
        ("DELETE FROM chunks_fts_docsize WHERE id = 2", "index"),
        ("INSERT INTO chunks_fts_docsize VALUES (99, x'0102')", "index"),
        ("UPDATE chunks_fts_docsize SET sz = x'0909' WHERE id = 2", "index"),
        ("UPDATE chunks_fts_data SET block = x'030101' WHERE id = 1", "index"),
        ("DELETE FROM chunks_fts_data WHERE id = 1", "index"),
        ("DELETE FROM chunks_fts_data WHERE id > 10", "index"),
        ("INSERT INTO chunks_fts (chunks_fts, rowid, title, text) VALUES ('delete', 5, 'c', 'Wind')", "index"),
        ("UPDATE chunks_fts SET text = 'other' WHERE rowid = 2", "index"),
    ],
)
def test_a_change_of_any_row_is_found_and_its_place_named(path: Path, sql: str, place: str) -> None:
    tamper(path, sql.replace("{hail}", leaf_hash(b"Wind and hail.").hex()))
    assert place in [fault.place for fault in faults(path)]
    assert {fault.shard for fault in faults(path)} == {"s-000"}


def readers(path: Path) -> dict[str, Callable[[], object]]:
    """Everything that reads a shard."""
    policy = RankingPolicy()

    def read_all() -> list[object]:
        with Shard(path) as shard:
            roots = shard.document_roots()
            return [[shard.header(root.hex()), shard.leaves(root.hex())] for root in roots]

    def searched() -> object:
        with Shard(path) as shard:
            return search([shard], "rain sentence wind", ("climate",), over_fetch=9, policy=policy)

    return {"read": read_all, "search": searched, "check": lambda: faults(path)}


@pytest.mark.parametrize("data", [b"", b"garbage", b"SQLite format 3\x00", bytes(4096)])
def test_a_file_that_is_no_shard_is_an_error_with_a_remedy(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    for reader in readers(path).values():
        with pytest.raises(CorpusError, match=r"s-000\.db: .*arborist build"):
            reader()


def test_another_database_is_no_shard(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    tamper(path, "CREATE TABLE meta (key, value); INSERT INTO meta VALUES ('shard', 's-000')")
    with pytest.raises(CorpusError, match=r"other\.db: .*arborist build"):
        Shard(path)


@pytest.mark.parametrize("key", ["shard", "source_types", "chunks", "index_version"])
@pytest.mark.parametrize("sql", ["DELETE FROM meta WHERE key = ?", "UPDATE meta SET value = x'ff' WHERE key = ?"])
def test_a_shard_that_does_not_say_what_it_is_is_refused(path: Path, sql: str, key: str) -> None:
    tamper(path, sql, (key,))
    with pytest.raises(CorpusError, match=r"s-000\.db: .*arborist build"):
        Shard(path)


def test_a_missing_shard_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"s-000\.db: no such shard.*arborist build"):
        Shard(tmp_path / "s-000.db")
    assert read_shard_meta(Home(tmp_path), "s-000") is None


def test_a_folder_is_no_shard(tmp_path: Path) -> None:
    with pytest.raises(CorpusError):
        Shard(tmp_path)


def only_our_errors(path: Path) -> None:
    for reader in readers(path).values():
        try:
            reader()
        except CorpusError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_bytes_are_broken_nothing_but_a_corpus_error_comes_out(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 5, 50])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    only_our_errors(path)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_cut_file_gives_nothing_but_a_corpus_error(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    only_our_errors(path)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE chunks_fts_data SET block = x'000000' WHERE id = 1",
        "UPDATE chunks_fts_data SET block = x'' WHERE id = 1",
        "UPDATE chunks_fts_data SET block = x'01' WHERE id = 1",
        "DELETE FROM chunks_fts_data WHERE id = 1",
        "DELETE FROM chunks WHERE id > 1",
        "DELETE FROM documents",
    ],
)
def test_an_index_at_odds_with_its_chunks_gives_nothing_but_a_corpus_error(path: Path, sql: str) -> None:
    tamper(path, sql)
    only_our_errors(path)
