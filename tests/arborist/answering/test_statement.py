"""Texts that state the same have the same terms; texts that do not have not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.statement import Kind, statement_of, stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234 metres", "1234 meters"),
        ("two hundred and fifty men", "250 man"),
        ("3.5 million dollars", "$3500000"),
        ("50%", "fifty percent"),
        ("It isn't red.", "It is not red."),
        ("cannot fly", "can't fly"),
        ("the 2nd of March", "the second of March"),
        ("“quoted” – words’", '"quoted" - words\''),
        ("He sang songs", "singing a song"),
        ("studies", "study"),
        ("Köln", "Koln"),
    ],
)
def test_the_same_said_otherwise_has_the_same_terms(one: str, other: str) -> None:
    assert sorted(statement_of(one).keys) == sorted(statement_of(other).keys)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234", "1.234"),
        ("1990", "1990s"),
        ("5 km", "5 miles"),
        ("-5 degrees", "5 degrees"),
        ("3 million", "3 billion"),
        ("It is red.", "It is not red."),
        ("without doubt", "with doubt"),
        ("happy", "unhappy"),
        ("useful", "useless"),
        ("two", "three"),
        ("second", "two"),
        ("before", "after"),
    ],
)
def test_what_states_something_else_has_other_terms(one: str, other: str) -> None:
    assert statement_of(one).keys != statement_of(other).keys


def test_a_name_is_told_by_its_capital_inside_a_sentence() -> None:
    stated = statement_of("Yesterday Anna met him. Later she left Rome.")
    kinds = dict(zip(stated.keys, stated.kinds, strict=True))
    assert [key for key, kind in kinds.items() if kind is Kind.NAME] == ["anna", "rom"]


def test_a_range_is_two_numbers_and_a_leading_minus_a_sign() -> None:
    assert statement_of("1914-1918").keys == ("#1914", "#1918")
    assert statement_of("from -5 to 5").keys == ("#-5", "#5")


@given(st.text(max_size=200))
def test_any_text_has_terms_that_start_inside_it_in_order(text: str) -> None:
    stated = statement_of(text)
    assert len(stated.keys) == len(stated.kinds) == len(stated.starts)
    assert list(stated.starts) == sorted(stated.starts)
    assert all(0 <= start <= len(text) for start in stated.starts)


@given(st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_a_stem_is_never_empty(word: str) -> None:
    assert stem(word)
