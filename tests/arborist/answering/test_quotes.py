"""A quotation stands in the cited evidence word for word, or one of three things is wrong with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.quotes import quotations_of, quote_finding, word_line

CITED = [word_line("The arch is the pride of the harbour. Nothing in the city is loved more.")]
OTHERS = [word_line("The tower will outlive all its enemies.")]


@pytest.mark.parametrize(
    ("quotation", "finding"),
    [
        ("the arch is the pride", None),
        ("The arch, is THE pride!", None),
        ("the arch ... loved more", None),
        ("harbour. Nothing in the city", None),
        ("the tower will outlive all", "quote-misattributed"),
        ("the arch is loved more", "quote-spliced"),
        ("the arch is all its enemies", "quote-spliced"),
        ("loved more ... the arch is", "quote-spliced"),
        ("the arch is the shame", "quote-invented"),
        ("the arches is the pride", "quote-invented"),
        ("pride the is arch the", "quote-invented"),
    ],
)
def test_what_is_wrong_with_a_quotation(quotation: str, finding: str | None) -> None:
    (pieces,) = quotations_of(f'He said "{quotation}".', min_words=3)
    assert quote_finding(pieces, CITED, OTHERS) == finding


@pytest.mark.parametrize(
    "text",
    ['"one two three"', "“one two three”", "said 'one two three'.", "('one two three')", "„one two three“"],
)
def test_quotation_marks_of_all_kinds_are_seen(text: str) -> None:
    assert quotations_of(text, min_words=3) == ((" one two three ",),)


@pytest.mark.parametrize(
    "text", ["the dogs' food and the cats' food", "it's what's theirs isn't", '"two words"', '"']
)
def test_apostrophes_and_short_titles_are_no_quotations(text: str) -> None:
    assert quotations_of(text, min_words=3) == ()


@given(st.lists(st.sampled_from(["arch", "pride", "is", "the"]), min_size=3, max_size=12), st.data())
def test_every_run_of_words_of_the_evidence_can_be_quoted(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 3))
    end = data.draw(st.integers(start + 3, len(words)))
    assert quote_finding((word_line(" ".join(words[start:end])),), [word_line(" ".join(words))], []) is None
