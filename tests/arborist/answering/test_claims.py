"""An answer splits into claims with the citations that belong to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.claims import claims_of, defused


def split(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(claim.text, claim.citations) for claim in claims_of(answer)]


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("Foo did bar [E1].", [("Foo did bar.", (1,))]),
        ("Foo did bar. [E1]", [("Foo did bar.", (1,))]),
        ("Foo did bar.[E1] Baz did qux.[E2]", [("Foo did bar.", (1,)), ("Baz did qux.", (2,))]),
        ("Foo [E1] and bar [E2, E3].", [("Foo and bar.", (1, 2, 3))]),
        ("Foo did bar. [E2][E2] [E1]", [("Foo did bar.", (2, 1))]),
        ("[E1] Foo did bar.", [("Foo did bar.", (1,))]),
        ("Foo did bar.\n[E4]", [("Foo did bar.", (4,))]),
        ("* Foo did bar [E1]\n2. Baz did qux [E2]", [("Foo did bar", (1,)), ("Baz did qux", (2,))]),
        ("Dr. Smith left at 5 p.m. on Monday. [E1]", [("Dr. Smith left at 5 p.m. on Monday.", (1,))]),
        ("Foo did bar. Baz did qux. [E1]", [("Foo did bar.", ()), ("Baz did qux.", (1,))]),
    ],
)
def test_a_citation_belongs_to_the_sentence_it_stands_in_or_follows(
    answer: str, claims: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert split(answer) == claims


@pytest.mark.parametrize("marker", ["[1]", "[E]", "[E#]", "[Ex]", "(E1)", "[E1", "[E1-E3]", "[E99999999999]"])
def test_what_is_not_a_citation_cites_nothing(marker: str) -> None:
    (claim,) = claims_of(f"Foo did bar {marker}")
    assert claim.citations == ()


@pytest.mark.parametrize("answer", ["", "  \n ", "NO ANSWER: no date is given.", "\nNO ANSWER: [E1] Foo did bar."])
def test_an_abstention_has_no_claims(answer: str) -> None:
    assert claims_of(answer) == ()


def test_a_source_text_that_looks_like_a_citation_is_defused() -> None:
    assert defused("See [E2] and [E3, E4].") == "See (E2) and (E3, E4)."
    assert claims_of(defused("See [E2].") + " [E1]")[0].citations == (1,)


@given(st.text(max_size=200))
def test_any_text_splits_without_error_and_nothing_is_added_or_moved(answer: str) -> None:
    rest = iter("x " + answer)
    assert all(letter in rest for claim in claims_of("x " + answer) for letter in claim.text)
