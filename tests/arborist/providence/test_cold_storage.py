"""Cold storage: a shard goes without its texts and comes back whole, or says what is not as it was."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from arborist.corpus import tables
from arborist.corpus.shard import Shard
from arborist.errors import CorpusError, InputError
from arborist.files import replacing
from arborist.merkle import leaf_hash
from arborist.providence.audit_events import EventType
from arborist.providence.cold_storage import ColdStorage
from arborist.providence.fsck import fsck
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.corpora import WHEN_ALDER


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        yield made


def storage(home: AnswersHome) -> ColdStorage:
    return ColdStorage(home.workspace.corpus, home.ledger)


def alder_shard(home: AnswersHome) -> str:
    with home.workspace.corpus.opened() as shards:
        return next(
            shard.meta.shard
            for shard in shards
            if shard.rows("SELECT 1 FROM documents WHERE uri = 'bridges/alder'")
        )


def rewritten(path: Path, old: str, new: str) -> None:
    """The cold texts with one of them changed."""
    labels = tables.read_labels(path)
    assert labels is not None
    place = list(tables.CHUNK_COLUMNS).index("text")
    rows = [
        (*row[:place], row[place].replace(old, new), *row[place + 1 :])
        for row in tables.read_rows(path, tables.CHUNK_COLUMNS)
    ]
    with replacing(path) as partial:
        tables.write_table(partial, tables.CHUNK_COLUMNS, rows, labels)


def test_an_evicted_shard_is_not_searched_and_comes_back_the_same(home: AnswersHome) -> None:
    shard, corpus = alder_shard(home), home.workspace.corpus
    before, sources = corpus.snapshot(), home.ask(WHEN_ALDER).sources
    eviction = storage(home).evict(shard)
    assert eviction.chunks > 0
    assert shard not in corpus.published_shards()
    assert storage(home).shards() == [shard]
    assert "bridges/alder" not in [source.uri for source in home.ask(WHEN_ALDER).sources]
    found = storage(home).rehydrate(shard)
    assert (found.mismatches, found.chunks) == ((), eviction.chunks)
    assert corpus.snapshot() == before
    assert home.ask(WHEN_ALDER).sources == sources
    assert storage(home).shards() == []
    types = [EventType.SHARD_EVICTED, EventType.SHARD_REHYDRATED]
    assert [event.value["shard_root"] for event in home.ledger.events(types=types)] == [eviction.shard_root] * 2
    assert fsck(home.workspace.home.root).faults == ()


def test_an_evicted_shard_keeps_its_roots_and_none_of_its_texts(home: AnswersHome) -> None:
    shard = alder_shard(home)
    root = storage(home).evict(shard).shard_root
    path = home.workspace.home.cold_shard_file(shard)
    assert b"Alder Bridge opened" not in path.read_bytes()
    with Shard(path) as kept:
        assert kept.meta.shard_root == root
        assert all(kept.leaves(found.hex()) for found in kept.document_roots())


def test_an_evicted_shard_is_cold_and_not_behind(home: AnswersHome) -> None:
    shard = alder_shard(home)
    storage(home).evict(shard)
    (status,) = [item for item in home.workspace.corpus.status() if item.shard == shard]
    assert (status.cold, status.behind, status.published) == (True, "", None)


def test_a_changed_text_keeps_the_shard_cold_and_quarantines_what_cites_it(home: AnswersHome) -> None:
    citing, other = home.ask(WHEN_ALDER).record, home.ask("When does the Ouse freeze?").record
    shard = alder_shard(home)
    storage(home).evict(shard)
    rewritten(home.workspace.home.cold_text_file(shard), "1932", "1933")
    planned = storage(home).rehydration(shard)
    assert planned.quarantined == (citing.cache_key,)
    assert home.ledger.find(citing.cache_key).falsification_state == "live"
    found = storage(home).rehydrate(shard)
    assert found == planned
    assert [(item.uri, item.chunk_index) for item in found.mismatches] == [("bridges/alder", 0)]
    assert home.ledger.find(citing.cache_key).falsification_state == "quarantined"
    assert home.ledger.find(other.cache_key).falsification_state == "live"
    assert storage(home).shards() == [shard]
    assert shard not in home.workspace.corpus.published_shards()


def test_quarantine_reaches_what_was_promoted_from_it(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.promote()
    shard = alder_shard(home)
    storage(home).evict(shard)
    rewritten(home.workspace.home.cold_text_file(shard), "1932", "1933")
    storage(home).rehydrate(shard)
    assert home.promote(after=HOUR).retired == 1


def test_a_text_that_is_gone_is_found(home: AnswersHome) -> None:
    shard = alder_shard(home)
    storage(home).evict(shard)
    path = home.workspace.home.cold_text_file(shard)
    labels, rows = tables.read_labels(path) or {}, list(tables.read_rows(path, tables.CHUNK_COLUMNS))
    with replacing(path) as partial:
        tables.write_table(partial, tables.CHUNK_COLUMNS, rows[1:], labels)
    (mismatch,) = storage(home).rehydrate(shard).mismatches
    assert (mismatch.document_root, mismatch.problem) == (
        rows[0][list(tables.CHUNK_COLUMNS).index("document_root")],
        "its text is gone",
    )


def test_leaves_that_were_changed_to_fit_a_changed_text_do_not_give_the_root(home: AnswersHome) -> None:
    shard = alder_shard(home)
    storage(home).evict(shard)
    text_file = home.workspace.home.cold_text_file(shard)
    rewritten(text_file, "1932", "1933")
    text = dict(tables.read_rows(text_file, ["uri", "text"]))["bridges/alder"]
    connection = apsw.Connection(str(home.workspace.home.cold_shard_file(shard)))
    document = "(SELECT id FROM documents WHERE uri = 'bridges/alder')"
    leaf = leaf_hash(text.encode()).hex()
    connection.execute(f"UPDATE chunks SET leaf_hash = ? WHERE document_id = {document}", (leaf,))
    connection.close()
    found = storage(home).rehydrate(shard)
    assert [item.problem for item in found.mismatches] == [
        "the leaves that were kept do not give its document root"
    ]


def test_a_dry_run_moves_nothing(home: AnswersHome) -> None:
    shard, head = alder_shard(home), home.ledger.head()
    planned = storage(home).eviction(shard)
    assert shard in home.workspace.corpus.published_shards()
    assert home.ledger.head() == head
    assert storage(home).evict(shard) == planned


def test_what_cannot_be_evicted_or_rehydrated_is_told(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.promote()
    with pytest.raises(InputError, match="follow from the ledger"):
        storage(home).evict("providence-000")
    with pytest.raises(InputError, match="no such shard"):
        storage(home).evict("nowhere-000")
    with pytest.raises(InputError, match="not in cold storage"):
        storage(home).rehydrate(alder_shard(home))


def test_a_damaged_shard_is_built_anew_before_it_is_evicted(home: AnswersHome) -> None:
    shard = alder_shard(home)
    connection = apsw.Connection(str(home.workspace.home.shard_file(shard)))
    connection.execute("UPDATE chunks SET text = replace(text, '1932', '1933')")
    connection.close()
    with pytest.raises(CorpusError, match="bridges/alder chunk 0"):
        storage(home).evict(shard)


def test_texts_that_cannot_be_read_leave_the_shard_cold(home: AnswersHome) -> None:
    shard = alder_shard(home)
    storage(home).evict(shard)
    home.workspace.home.cold_text_file(shard).write_bytes(b"not parquet")
    with pytest.raises(CorpusError, match="arborist build"):
        storage(home).rehydrate(shard)
    assert storage(home).shards() == [shard]
