"""Publishing a shard: the same chunks give the same file to read, and nobody sees half of one."""

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from arborist.corpus.chunking import Chunker
from arborist.corpus.document_chunks import write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.corpus.shard import Shard
from arborist.corpus.tokenizer import INDEX_VERSION
from arborist.errors import CorpusError
from arborist.home import Home
from arborist.policy import RankingPolicy
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.search import search
from tests.conftest import ROOT
from tests.corpora import document, published

WORDS = ("wind", "wave", "winter", "window", "water")
DOCUMENTS = [
    document(f"d{number:02d}", " ".join(WORDS[number % 5 :]) + f" number {number % 3}", f"Title {number}")
    for number in range(30)
]


def found(path: Path, question: str = "the window in winter") -> list[RetrievedSource]:
    with Shard(path) as shard:
        return search([shard], question, (), over_fetch=100, policy=RankingPolicy())


def indexed(path: Path) -> list[tuple[object, ...]]:
    with Shard(path) as shard:
        return shard.rows("SELECT * FROM chunks JOIN chunks_fts ON chunks_fts.rowid = id")


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    home = Home(tmp_path)
    published(home, DOCUMENTS)
    meta = write_fts_index(home, "s-000")
    assert (meta.shard, meta.source, meta.documents, meta.chunks) == ("s-000", "s", 30, 30)
    assert (meta.chunking_version, meta.index_version) == (Chunker(1000).version, INDEX_VERSION)
    assert meta.source_types == ("jsonl",)


def test_documents_in_another_order_give_the_same_rows_roots_and_results(tmp_path: Path) -> None:
    (forth,) = published(Home(tmp_path / "forth"), DOCUMENTS)
    (back,) = published(Home(tmp_path / "back"), DOCUMENTS[::-1])
    assert indexed(forth) == indexed(back)
    assert found(forth) == found(back) != []
    with Shard(forth) as one, Shard(back) as other:
        assert one.meta == other.meta


def test_rebuilding_gives_the_same_file_byte_for_byte(tmp_path: Path) -> None:
    (path,) = published(Home(tmp_path), DOCUMENTS)
    before = path.read_bytes()
    path.unlink()
    write_fts_index(Home(tmp_path), "s-000")
    assert path.read_bytes() == before


def test_results_are_the_same_after_a_vacuum(tmp_path: Path) -> None:
    (path,) = published(Home(tmp_path), DOCUMENTS)
    copy = tmp_path / "copy.db"
    with Shard(path) as shard:
        shard.connection.execute("VACUUM INTO ?", (str(copy),))
    assert found(copy) == found(path)


def test_whoever_has_the_old_file_open_goes_on_reading_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (path,) = published(home, DOCUMENTS)
    with Shard(path) as old:
        published(home, [document("d00", "Something else.")])
        assert len(search([old], "window", (), over_fetch=100, policy=RankingPolicy())) > 1
    assert found(path, "something") != []


def test_chunks_of_a_document_stand_in_order_under_row_ids_that_follow(tmp_path: Path) -> None:
    long = document("e", "One sentence here. Another sentence there. A third one.")
    (path,) = published(Home(tmp_path), [document("f", "Short."), long], max_characters=25)
    with Shard(path) as shard:
        rows = shard.rows(
            "SELECT chunks.id, uri, chunk_index FROM chunks JOIN documents ON documents.id = document_id "
            "ORDER BY chunks.id"
        )
    assert rows == [(1, "e", 0), (2, "e", 1), (3, "e", 2), (4, "f", 0)]


def test_indexing_before_the_chunks_are_there_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"chunks/s-000\.parquet: .*arborist build"):
        write_fts_index(Home(tmp_path), "s-000")
    assert not Home(tmp_path).shard_file("s-000").exists()


def test_damaged_chunks_leave_the_old_shard(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (path,) = published(home, DOCUMENTS)
    before = path.read_bytes()
    chunks = home.chunks_file("s-000")
    data = bytearray(chunks.read_bytes())
    data[4:200] = bytes(196)
    chunks.write_bytes(data)
    with pytest.raises(CorpusError, match=r"chunks/s-000\.parquet: .*arborist build"):
        write_fts_index(home, "s-000")
    assert path.read_bytes() == before


LIMITED_INDEXING = """
import resource, signal, sys
from pathlib import Path
from arborist.corpus.fts_index import write_fts_index
from arborist.errors import CorpusError
from arborist.home import Home

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_fts_index(Home(Path(sys.argv[1])), "s-000")
except CorpusError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_the_old_shard(tmp_path: Path) -> None:
    (path,) = published(Home(tmp_path), DOCUMENTS)
    before = path.read_bytes()
    command = [sys.executable, "-c", LIMITED_INDEXING, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert told.stderr == ""
    assert told.stdout.startswith(f"{path}: cannot be written")
    assert path.read_bytes() == before
    assert not path.with_name(".s-000.db.partial").exists()


def test_the_index_keeps_positions_since_ranking_needs_them(tmp_path: Path) -> None:
    (path,) = published(Home(tmp_path), DOCUMENTS)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    ((sql,),) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'chunks_fts'")
    connection.close()
    assert "detail=full" in sql
    assert "columnsize" not in sql


def test_editing_one_document_changes_its_shard_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    shards = published(home, DOCUMENTS, shards=4)
    before = {path: path.read_bytes() for path in shards}
    published(home, [document("d00", "An edited text."), *DOCUMENTS[1:]], shards=4)
    assert sum(path.read_bytes() != data for path, data in before.items()) == 1


def test_a_shard_without_documents_can_be_read_and_searched(tmp_path: Path) -> None:
    shards = published(Home(tmp_path), [document("d0", "text")], shards=3)
    with Shard(shards[0]) as empty:
        assert (empty.meta.documents, empty.meta.chunks, empty.meta.source_types) == (0, 0, ())
        assert [*empty.content_faults(), *empty.index_faults()] == []
        assert empty.document_roots() == []
        assert search([empty], "text", (), over_fetch=9, policy=RankingPolicy()) == []
        with Shard(shards[2]) as full:
            both = search([empty, full], "text", ("text",), over_fetch=9, policy=RankingPolicy())
            assert both == search([full], "text", ("text",), over_fetch=9, policy=RankingPolicy()) != []


def test_chunks_are_indexed_in_batches_without_losing_any(tmp_path: Path) -> None:
    (path,) = published(Home(tmp_path), [document("d", "word " * 9000)], max_characters=10)
    with Shard(path) as shard:
        assert shard.meta.chunks > 4000
        assert [*shard.content_faults(), *shard.index_faults()] == []


def test_a_new_chunking_is_published_only_after_it_is_indexed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (path,) = published(home, DOCUMENTS)
    write_document_chunks(home, "s", "s-000", Chunker(20))
    with Shard(path) as shard:
        assert shard.meta.chunking_version == Chunker(1000).version
    assert write_fts_index(home, "s-000").chunking_version == Chunker(20).version
