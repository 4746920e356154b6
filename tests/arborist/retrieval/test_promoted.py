"""What a promoted answer says of the chunks it rests on is read back from its text, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.retrieval.promoted import (
    cite,
    cited_leaves,
    claims_stated,
    names_promoted_answer,
    promoted_cache_key,
    promoted_uri,
    uncited,
)

LEAF = "0123456789abcdef" * 4


@pytest.mark.parametrize("spelling", ["arborist", "aborist"])
def test_a_promoted_uri_is_recognised_in_either_spelling(spelling: str) -> None:
    assert promoted_cache_key(f"{spelling}://providence/{LEAF}") == LEAF
    assert names_promoted_answer(f"As {spelling.upper()}://providence/{LEAF} says, it is so.")


@pytest.mark.parametrize("uri", ["arborist/providence/x", "https://arborist://providence/x", "", "handbook/a.md"])
def test_other_uris_are_no_promoted_answers(uri: str) -> None:
    assert promoted_cache_key(uri) is None


def test_the_newer_spelling_is_written() -> None:
    assert promoted_uri(LEAF) == f"arborist://providence/{LEAF}"


@given(st.text(), st.integers(1, 999), st.binary(min_size=32, max_size=32))
def test_a_cite_is_read_back_whatever_the_uri(uri: str, number: int, leaf: bytes) -> None:
    line = f"- It is so. {cite(number, uri, leaf.hex())}"
    assert cited_leaves(line) == {leaf.hex()[:16]}
    assert claims_stated(line) == "It is so."


@given(st.text())
def test_text_of_a_question_or_an_answer_never_reads_as_a_cite(text: str) -> None:
    assert not cited_leaves(uncited(text + cite(1, "a", LEAF)))
    assert "\n" not in uncited(text)


def test_no_control_character_gets_into_a_document() -> None:
    assert uncited("When\0 did\x1b it\n open?") == "When did it open?"


def test_what_is_stated_is_the_claims_alone() -> None:
    text = f"Q: When?\nA: In 1932.\n- It opened in 1932. {cite(1, 'a', LEAF)} {cite(2, 'b', LEAF)}\n- It is long."
    assert claims_stated(text) == "It opened in 1932.\nIt is long."


def test_a_chunk_without_claims_is_given_back() -> None:
    assert claims_stated("Q: When?\nA: In 1932.") == "Q: When?\nA: In 1932."
