"""From text to terms: what a question says counts, how it is written does not."""

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus.tokenizer import TOKENIZER
from arborist.policy import RankingPolicy
from arborist.retrieval.stopwords import ENGLISH_V1
from arborist.retrieval.terms import WORDS, Term, match_expression, query_terms, tokenizer

CONNECTION = apsw.Connection(":memory:")
CONNECTION.execute(f'CREATE VIRTUAL TABLE texts USING fts5(text, tokenize="{" ".join(TOKENIZER)}")')
CONNECTION.execute("INSERT INTO texts VALUES ('the bridge was opened')")
words, stems = tokenizer(CONNECTION, WORDS), tokenizer(CONNECTION, TOKENIZER)

ANY_TEXT = st.text(st.one_of(st.characters(), st.sampled_from(" \x00\"'*:^()-+{}[].,AEé\U0001f333\u0301")))


def terms(question: str, *keywords: str, policy: RankingPolicy | None = None) -> list[Term]:
    return query_terms(question, keywords, policy or RankingPolicy(), words, stems)


def shown(found: list[Term]) -> Iterator[str]:
    return (term.stem for term in found)


def test_stopwords_go_and_words_are_stemmed_and_sorted() -> None:
    assert list(shown(terms("When was the Bridge OPENED, and by whom?"))) == ["bridg", "open"]


def test_a_question_of_stopwords_alone_keeps_them() -> None:
    assert list(shown(terms("Who are you?"))) == ["ar", "who", "you"]


def test_stopwords_go_where_a_keyword_says_more() -> None:
    assert list(shown(terms("Who are you?", "bridge"))) == ["bridg"]


def test_stopwords_stay_where_the_policy_says_so() -> None:
    kept = terms("the bridge", policy=RankingPolicy(stopwords="none"))
    assert list(shown(kept)) == ["bridg", "the"]


def test_the_words_left_out_are_words_as_the_tokenizer_gives_them() -> None:
    assert all(words(word) == [word] for word in ENGLISH_V1)


def test_a_word_asked_twice_counts_once() -> None:
    assert terms("bridge Bridges BRIDGING") == terms("bridge")


def test_keywords_add_their_weight_to_what_the_question_asks() -> None:
    policy = RankingPolicy(keyword_weight=0.5)
    weights = {term.stem: term.weight for term in terms("the bridge opened", "bridge river", policy=policy)}
    assert weights == {"bridg": 1.5, "open": 1.0, "river": 0.5}


def test_keywords_without_weight_are_not_searched_for() -> None:
    assert terms("the bridge", "river", policy=RankingPolicy(keyword_weight=0.0)) == terms("the bridge")


def test_the_order_of_words_does_not_count() -> None:
    assert terms("river bridge open", "field") == terms("open river bridge", "field")


def test_accents_and_case_do_not_count() -> None:
    assert list(shown(terms("CAFÉ"))) == list(shown(terms("cafe"))) == ["cafe"]


@pytest.mark.parametrize("text", ["", " ", "?!", "\x00", "\U0001f333", '"*"', "()^{}"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    assert terms(text) == []


@given(ANY_TEXT)
def test_a_quoted_question_is_the_question(text: str) -> None:
    quoted = " ".join(f'"{word}"' for word in text.split())
    assert terms(quoted) == terms(text)


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=2))
def test_any_text_gives_terms_that_fts5_understands_as_words(question: str, keywords: list[str]) -> None:
    found = terms(question, *keywords)
    assert list(shown(found)) == sorted({term.stem for term in found})
    for term in found:
        assert stems(term.word) == [term.stem]
    if found:
        list(CONNECTION.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (match_expression(found),)))


@given(ANY_TEXT.filter(lambda text: bool(words(text.encode("utf-8", "replace").decode()))))
def test_what_is_indexed_is_found_by_its_own_text(text: str) -> None:
    policy = RankingPolicy(stopwords="none")
    index = apsw.Connection(":memory:")
    index.execute(f'CREATE VIRTUAL TABLE texts USING fts5(text, tokenize="{" ".join(TOKENIZER)}")')
    index.execute("INSERT INTO texts VALUES (?)", (text.encode("utf-8", "replace").decode(),))
    for term in terms(text, policy=policy):
        assert list(index.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (match_expression([term]),)))


@pytest.mark.parametrize("operator", ["AND", "OR", "NOT", "NEAR"])
def test_an_operator_is_a_word_like_any_other(operator: str) -> None:
    policy = RankingPolicy(stopwords="none")
    assert list(shown(terms(f"bridge {operator} river", policy=policy))) == sorted(
        ["bridg", "river", *stems(operator)]
    )
