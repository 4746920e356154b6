"""Sentences are found with their places, in prose and in wrapped text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.sentences import opens_with_pronoun, sentences_of


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences_of(text)]


def test_abbreviations_and_decimals_end_no_sentence() -> None:
    assert texts("Dr. Smith paid 3.5 euros. He left.") == ["Dr. Smith paid 3.5 euros.", "He left."]


def test_a_line_break_inside_a_paragraph_is_a_blank_and_an_empty_line_an_end() -> None:
    assert texts("One\ntwo\n\nthree") == ["One two", "three"]


@pytest.mark.parametrize("sentence", ["It fell.", '"They fell."', "This one fell.", "the bridge fell."])
def test_a_sentence_that_leans_on_what_was_named_before(sentence: str) -> None:
    assert opens_with_pronoun(sentence)


@pytest.mark.parametrize("sentence", ["Rome fell.", "Italy is itself.", "", "  "])
def test_a_sentence_that_names_its_own_subject(sentence: str) -> None:
    assert not opens_with_pronoun(sentence)


@given(st.text(max_size=200))
def test_sentences_stand_where_they_say_in_order_and_hold_all_that_is_not_blank(text: str) -> None:
    sentences = sentences_of(text)
    assert all(text[item.start : item.end].replace("\n", " ") == item.text for item in sentences)
    assert all(left.end <= right.start for left, right in pairwise(sentences))
    assert "".join("".join(item.text.split()) for item in sentences) == "".join(text.split())
