"""Chunks are pieces of a document that give it back."""

from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus.chunking import Chunker

LIMITS = st.integers(1, 40)
TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\t.\u3000\u200d\u0301👨👩é")), max_size=200
)


@given(TEXTS, LIMITS)
def test_a_chunk_is_the_text_between_its_offsets(text: str, limit: int) -> None:
    for chunk in Chunker(limit).chunks(text):
        assert chunk.text == text[chunk.start : chunk.end]


@given(TEXTS, LIMITS)
def test_chunks_and_what_lies_between_them_give_the_text_back(text: str, limit: int) -> None:
    joined, position = "", 0
    for chunk in Chunker(limit).chunks(text):
        between = text[position : chunk.start]
        assert chunk.start >= position
        assert not between.strip()
        joined += between + chunk.text
        position = chunk.end
    assert not text[position:].strip()
    assert joined + text[position:] == text


@given(TEXTS, LIMITS)
def test_no_chunk_is_empty_or_longer_than_the_limit(text: str, limit: int) -> None:
    assert all(0 < len(chunk.text) <= limit for chunk in Chunker(limit).chunks(text))


@given(TEXTS.filter(bool), LIMITS)
def test_a_text_that_is_not_empty_has_a_chunk(text: str, limit: int) -> None:
    assert Chunker(limit).chunks(text)


@pytest.mark.parametrize("text", [" ", "\n\n", "\u3000" * 35])
def test_a_text_of_white_space_is_kept_whole_in_its_chunks(text: str) -> None:
    chunks = Chunker(10).chunks(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(len(chunk.text) <= 10 for chunk in chunks)


def test_an_empty_text_has_no_chunk() -> None:
    assert Chunker(10).chunks("") == []


def test_the_same_text_is_cut_the_same_way_every_time() -> None:
    text = "One sentence. Another one, longer than the first.\n\nA paragraph.\n" * 50
    assert Chunker(60).chunks(text) == Chunker(60).chunks(text)


def test_a_chunk_ends_where_a_sentence_does_if_one_fits() -> None:
    chunks = Chunker(30).chunks("The first one is short. The second is not much longer.")
    assert [chunk.text for chunk in chunks] == ["The first one is short.", "The second is not much longer."]


def test_the_label_tells_splitter_version_and_parameters_apart() -> None:
    label = Chunker(700).version
    assert label == f"semantic-text-splitter/{version('semantic-text-splitter')}/characters/max=700"
    assert Chunker(701).version != label


def test_an_upgrade_of_the_library_changes_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Chunker(700).version
    monkeypatch.setattr("arborist.corpus.chunking.version", lambda name: "999.0")
    assert Chunker(700).version != before
