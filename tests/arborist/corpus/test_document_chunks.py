"""A document is a tree of its header and its chunks, a shard a tree of its documents."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus import tables
from arborist.corpus.chunking import Chunk, Chunker
from arborist.corpus.document import Document
from arborist.corpus.document_chunks import chunked, read_shard_chunks, write_document_chunks
from arborist.corpus.source_documents import write_source_documents
from arborist.errors import CorpusError
from arborist.hashing import canonical_json
from arborist.home import Home
from arborist.merkle import inclusion_proof, leaf_hash, tree_root, verify_inclusion
from tests.corpora import ListedSource, document, source_config

TEXT = "The first sentence. The second sentence. The third one.\n\nAnother paragraph."
DOCUMENTS = [document("b", TEXT), document("a", "Short."), document("é", TEXT * 2, aliases=["Other"])]


def written(home: Home, documents: list[Document], max_characters: int = 25) -> str:
    write_source_documents(ListedSource(documents, source_config()), home)
    return write_document_chunks(home, "s", "s-000", Chunker(max_characters)).shard_root


def test_leaf_0_is_the_header_and_the_others_are_the_chunks() -> None:
    chunker = Chunker(25)
    tree = chunked(DOCUMENTS[0], chunker)
    header = {
        "uri": "b",
        "title": "b",
        "source_type": "jsonl",
        "source_revision": DOCUMENTS[0].source_revision,
        "chunking_version": chunker.version,
    }
    assert tree.leaves[0] == leaf_hash(canonical_json(header))
    assert tree.leaves[1:] == tuple(leaf_hash(chunk.text.encode()) for chunk in chunker.chunks(TEXT))
    assert tree.root == tree_root(tree.leaves)


def test_aliases_are_in_the_header_of_a_document_that_has_any() -> None:
    plain, named = document("a", "text"), document("a", "text", aliases=["Other"])
    assert "aliases" not in plain.header("v")
    assert named.header("v")["aliases"] == ["Other"]
    assert chunked(plain, Chunker(9)).root != chunked(named, Chunker(9)).root


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), st.integers(1, 20))
def test_every_chunk_can_be_proven_under_the_document_root(text: str, limit: int) -> None:
    tree = chunked(document("a", text), Chunker(limit))
    for index in range(len(tree.leaves)):
        proof = inclusion_proof(tree.leaves, index)
        assert verify_inclusion(tree.leaves[index], index, len(tree.leaves), proof, tree.root)


def test_the_shard_root_is_over_document_roots_in_the_order_of_uris(tmp_path: Path) -> None:
    root = written(Home(tmp_path), DOCUMENTS)
    in_order = sorted(DOCUMENTS, key=lambda item: item.uri.encode())
    assert root == tree_root([leaf_hash(chunked(item, Chunker(25)).root) for item in in_order]).hex()


def test_the_same_documents_in_another_order_give_the_same_root(tmp_path: Path) -> None:
    assert written(Home(tmp_path / "forth"), DOCUMENTS) == written(Home(tmp_path / "back"), DOCUMENTS[::-1])


def test_another_chunking_gives_another_root_also_where_the_chunks_are_the_same(tmp_path: Path) -> None:
    short = [document("a", "Short.")]
    assert written(Home(tmp_path), short, 25) != written(Home(tmp_path), short, 26)


def test_rows_are_the_chunks_in_order_with_their_place_and_leaf(tmp_path: Path) -> None:
    home = Home(tmp_path)
    written(home, DOCUMENTS)
    columns = ("uri", "document_root", "chunk_index", "start", "end", "text", "leaf_hash")
    rows = [row[1:] for row in tables.read_rows(home.chunks_file("s-000"), columns) if row[0] == "b"]
    root = chunked(DOCUMENTS[0], Chunker(25)).root.hex()
    for place, (document_root, index, start, end, text, leaf) in enumerate(rows):
        assert (document_root, index, text) == (root, place, TEXT[start:end])
        assert leaf == leaf_hash(text.encode()).hex()
    assert rows


def test_the_footer_says_what_the_file_holds(tmp_path: Path) -> None:
    home = Home(tmp_path)
    root = written(home, DOCUMENTS)
    found = read_shard_chunks(home, "s-000")
    assert found is not None
    assert (found.shard, found.source, found.shard_root) == ("s-000", "s", root)
    assert found.chunking_version == Chunker(25).version
    assert found.documents == 3
    assert found.chunks == sum(len(Chunker(25).chunks(item.text)) for item in DOCUMENTS)


VERSIONS = st.dictionaries(
    st.sampled_from("abcdé"), st.text(st.sampled_from(".a \n"), min_size=1, max_size=60), min_size=1
)


@given(st.lists(VERSIONS, min_size=2, max_size=4))
def test_chunks_made_over_earlier_ones_are_those_that_are_made_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, versions: list[dict[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("versions")
    over, anew = Home(folder / "over"), Home(folder / "anew")
    for texts in versions:
        written(over, [document(uri, text) for uri, text in texts.items()])
    written(anew, [document(uri, text) for uri, text in versions[-1].items()])
    assert over.chunks_file("s-000").read_bytes() == anew.chunks_file("s-000").read_bytes()


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are cut, as they come."""
    texts: list[str] = []
    chunks = Chunker.chunks

    def noted(chunker: Chunker, text: str) -> list[Chunk]:
        texts.append(text)
        return chunks(chunker, text)

    monkeypatch.setattr(Chunker, "chunks", noted)
    return texts


def test_only_documents_that_are_others_than_they_were_are_cut_again(tmp_path: Path, cut: list[str]) -> None:
    home = Home(tmp_path)
    written(home, DOCUMENTS)
    cut.clear()
    changed = [document("b", TEXT + " "), *DOCUMENTS[1:], document("c", "New.")]
    written(home, changed)
    assert cut == [TEXT + " ", "New."]
    cut.clear()
    written(home, changed, max_characters=26)
    assert len(cut) == 4


def test_earlier_chunks_that_cannot_be_read_are_made_from_nothing(tmp_path: Path, cut: list[str]) -> None:
    home = Home(tmp_path)
    root, path = written(home, DOCUMENTS), home.chunks_file("s-000")
    whole = path.read_bytes()
    cut.clear()
    for place in range(4, len(whole) // 2, 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert written(home, DOCUMENTS) == root
    assert cut


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no parquet at all"])
def test_a_chunk_file_that_is_not_whole_counts_as_none(tmp_path: Path, data: bytes) -> None:
    home = Home(tmp_path)
    written(home, DOCUMENTS)
    whole = home.chunks_file("s-000").read_bytes()
    for broken in (data, whole[:-10], whole[: len(whole) // 2]):
        home.chunks_file("s-000").write_bytes(broken)
        assert read_shard_chunks(home, "s-000") is None


def test_chunking_before_the_documents_are_there_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"s-000\.parquet: .*arborist build"):
        write_document_chunks(Home(tmp_path), "s", "s-000", Chunker(25))
    assert not Home(tmp_path).chunks_file("s-000").exists()


def test_damaged_documents_leave_the_old_chunk_file(tmp_path: Path) -> None:
    home = Home(tmp_path)
    written(home, [document(f"d{number}", f"{number} " * 5000) for number in range(20)])
    before = home.chunks_file("s-000").read_bytes()
    path = home.documents_file("s", "s-000")
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"documents/s/s-000\.parquet: .*arborist build"):
        write_document_chunks(home, "s", "s-000", Chunker(30))
    assert home.chunks_file("s-000").read_bytes() == before


def test_a_shard_without_documents_is_chunked_to_a_root_of_its_own(tmp_path: Path) -> None:
    home, config = Home(tmp_path), source_config(3)
    write_source_documents(ListedSource([document("d0", "text")], config), home)
    empty = write_document_chunks(home, "s", "s-000", Chunker(25))
    assert (empty.documents, empty.chunks, empty.shard_root) == (0, 0, tree_root([]).hex())
