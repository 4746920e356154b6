"""Search ranks by BM25 as FTS5 reckons it, over any number of shards as if they were one."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arborist.corpus.document import Document
from arborist.corpus.shard import Shard
from arborist.corpus.tokenizer import TOKENIZER
from arborist.errors import CorpusError
from arborist.home import Home
from arborist.policy import BACKGROUND, RankingPolicy
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.search import search
from arborist.retrieval.terms import WORDS, match_expression, query_terms, tokenizer
from tests.arborist.corpus.test_shard import tamper
from tests.corpora import document, published

VOCABULARY = ("rain", "rains", "river", "bridge", "bridges", "flood", "wind", "the", "of", "Ümlaut", "\U0001f333")
SENTENCES = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join)
CORPORA = st.lists(st.tuples(SENTENCES, SENTENCES, st.lists(SENTENCES, max_size=2)), min_size=1, max_size=14)
PLAIN = RankingPolicy()

WEATHER = [
    document("a", "Rain and wind. The river floods after rain.", "Weather", ["Climate", "The sky"]),
    document("b", "A bridge crosses the river.", "Bridge"),
    document("c", "Wind turns the mill.", "Mill", ["Rain shadow"]),
    document("d", "Nothing of this kind. The flood was in spring.", "Flood"),
    document("e", "A bridge of wood and a bridge of stone.", "Two of them"),
]


def documents_of(corpus: Sequence[tuple[str, str, list[str]]]) -> list[Document]:
    return [document(f"d{number}", text, title, names) for number, (title, text, names) in enumerate(corpus)]


@contextmanager
def searchable(
    documents: Sequence[Document], shards: int = 1, max_characters: int = 1000
) -> Iterator[list[Shard]]:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        paths = published(Home(Path(folder)), documents, shards, max_characters)
        yield [stack.enter_context(Shard(path)) for path in paths]


def places(found: Sequence[RetrievedSource]) -> list[tuple[str, int, str]]:
    return [(source.document_root, source.chunk_index, repr(source.score)) for source in found]


def uris(found: Sequence[RetrievedSource]) -> list[str]:
    return [source.uri for source in found]


def fts5_scores(shard: Shard, question: str, policy: RankingPolicy) -> dict[tuple[str, int], float]:
    """What FTS5's own `bm25()` gives every chunk that it finds."""
    words, stems = tokenizer(shard.connection, WORDS), tokenizer(shard.connection, TOKENIZER)
    terms = query_terms(question, (), policy, words, stems)
    rows = shard.rows(
        "SELECT document_root, chunk_index, bm25(chunks_fts, ?, ?) FROM chunks_fts "
        "JOIN chunks ON chunks.id = chunks_fts.rowid JOIN documents ON documents.id = document_id "
        "WHERE chunks_fts MATCH ?",
        (policy.title_weight, policy.text_weight, match_expression(terms)),
    )
    return {(root, index): -score for root, index, score in rows}


@settings(max_examples=25, deadline=None)
@given(CORPORA, SENTENCES, st.sampled_from([(1.0, 1.0), (3.0, 1.0), (0.25, 2.0), (0.00001, 1.0)]))
def test_scores_on_one_shard_are_those_of_fts5(
    corpus: list[tuple[str, str, list[str]]], question: str, weights: tuple[float, float]
) -> None:
    policy = RankingPolicy(title_weight=weights[0], text_weight=weights[1], stopwords="none")
    with searchable(documents_of(corpus), max_characters=30) as (shard,):
        found = search([shard], question, (), over_fetch=1000, policy=policy)
        expected = fts5_scores(shard, question, policy) if any(c.isalpha() for c in question) else {}
    scores = {(source.document_root, source.chunk_index): source.score for source in found}
    assert scores == pytest.approx(expected, abs=1e-9, rel=1e-9)


@settings(max_examples=12, deadline=None)
@given(CORPORA, SENTENCES, st.lists(SENTENCES, max_size=2), st.integers(2, 5))
def test_any_number_of_shards_ranks_as_one(
    corpus: list[tuple[str, str, list[str]]], question: str, keywords: list[str], shards: int
) -> None:
    documents = documents_of(corpus)
    with searchable(documents, max_characters=30) as one, searchable(documents, shards, max_characters=30) as many:
        together = search(one, question, keywords, over_fetch=1000, policy=PLAIN)
        apart = search(many, question, keywords, over_fetch=1000, policy=PLAIN)
        turned = search(many[::-1], question, keywords, over_fetch=1000, policy=PLAIN)
    assert places(apart) == places(together) == places(turned)


def test_titles_and_aliases_are_searched_like_text() -> None:
    with searchable(WEATHER) as shards:
        assert uris(search(shards, "climate", (), over_fetch=9, policy=PLAIN)) == ["a"]
        assert set(uris(search(shards, "rain", (), over_fetch=9, policy=PLAIN))) == {"a", "c"}
        untitled = replace(PLAIN, title_weight=0.0)
        assert uris(search(shards, "bridge", (), over_fetch=9, policy=untitled))[0] == "e"


def test_equal_scores_stand_in_the_order_of_document_root_and_chunk() -> None:
    same = [document(f"d{number}", "rain. rain.", "Title") for number in range(8)]
    with searchable([*same, *WEATHER], shards=3, max_characters=5) as shards:
        found = search(shards, "rain", (), over_fetch=100, policy=PLAIN)
        best = [source for source in found if source.score == found[0].score]
    assert len(best) == 16
    order = [(source.document_root, source.chunk_index) for source in best]
    assert order == sorted(order)


def test_what_is_found_carries_its_place_and_its_text() -> None:
    with searchable(WEATHER) as (shard,):
        (found,) = search([shard], "mill", (), over_fetch=9, policy=PLAIN)
        assert (found.shard, found.uri, found.title, found.text) == ("s-000", "c", "Mill", WEATHER[2].text)
        assert found.chunking_version == shard.meta.chunking_version
        assert shard.chunk_text(found.document_root, found.chunk_index) == found.text


def test_each_source_offers_no_more_than_over_fetch_however_it_is_sharded() -> None:
    documents = [document(f"d{number}", "rain " * (number + 1)) for number in range(30)]
    with searchable(documents, shards=3) as shards, searchable(documents) as one:
        found = search(shards, "rain", (), over_fetch=2, policy=PLAIN)
        assert places(found) == places(search(one, "rain", (), over_fetch=2, policy=PLAIN))
        assert len(found) == 2
        assert len(search(shards, "rain", (), over_fetch=2**53, policy=PLAIN)) == 30


def test_keywords_widen_what_is_found() -> None:
    with searchable(WEATHER) as shards:
        plain = search(shards, "the mill", (), over_fetch=9, policy=PLAIN)
        wide = search(shards, "the mill", ("flood",), over_fetch=9, policy=PLAIN)
    assert set(uris(plain)) == {"c"}
    assert set(uris(wide)) > {"c"}


def test_keywords_focus_what_is_found() -> None:
    with searchable(WEATHER) as shards:
        assert uris(search(shards, "mill spring", (), over_fetch=9, policy=PLAIN))[0] == "c"
        focused = search(shards, "mill spring", ("spring",), over_fetch=9, policy=PLAIN)
    assert uris(focused)[0] == "d"


def test_a_role_weighs_on_the_score_of_its_sources() -> None:
    with searchable(WEATHER) as shards:
        primary = search(shards, "rain", (), over_fetch=9, policy=PLAIN)
        policy = RankingPolicy(background_sources=("s",), background_rank_weight=0.5)
        background = search(shards, "rain", (), over_fetch=9, policy=policy)
    assert {source.role for source in background} == {BACKGROUND}
    assert [source.score for source in background] == [source.score * 0.5 for source in primary]


QUESTION = "bridge over river after flood"
QUERY_TEXTS = [
    '"bridge" "over" "river" "after" "flood"',
    'bridge" over river after flood',
    "bridge' over river after flood",
    "bridge* over ^river after flood*",
    "bridge AND over river NOT after flood",
    "NEAR(bridge over river after flood, 2)",
    "bridge NEAR/2 over river after flood",
    "title:bridge over text:river after - flood",
    "{title text} : bridge over + river after flood",
    "- title : bridge over river after flood",
    "(bridge over) OR (river after flood",
    "bridge over river after flood)",
    "bridge\x00over\x00river after flood",
    "bridge \U0001f333 over river 👨‍👩‍👧 after flood",
    "bridge over river after flood; DROP TABLE chunks; --",
    "bridge over river after flood ? %s {0} \\",
    "\ufeffbridge over river after flood \udcff",
    "flood after river over bridge bridge bridge",
]


@pytest.mark.parametrize("text", QUERY_TEXTS)
def test_no_operator_in_a_question_means_anything(text: str) -> None:
    extra = {"near", "titl", "text", "drop", "tabl", "chunk", "2", "0"}
    with searchable([*WEATHER, document("f", "Near the title and the text, drop table chunks 0 2.")], 2) as shards:
        words, stems = tokenizer(shards[0].connection, WORDS), tokenizer(shards[0].connection, TOKENIZER)
        added = [stem for stem in stems(text) if stem in extra]
        same = search(shards, f"{QUESTION} {' '.join(added)}", (), over_fetch=9, policy=PLAIN)
        assert places(search(shards, text, (), over_fetch=9, policy=PLAIN)) == places(same) != []
        as_keyword = search(shards, "mill", (text,), over_fetch=9, policy=PLAIN)
        plain_keyword = search(shards, "mill", (f"{QUESTION} {' '.join(added)}",), over_fetch=9, policy=PLAIN)
        assert places(as_keyword) == places(plain_keyword)
        assert words(text)


@settings(max_examples=100, deadline=None)
@given(question=st.text(), keywords=st.lists(st.text(), max_size=3))
def test_no_text_raises(weather: list[Shard], question: str, keywords: list[str]) -> None:
    for source in search(weather, question, keywords, over_fetch=9, policy=PLAIN):
        assert source.score > 0


@pytest.fixture(scope="module")
def weather() -> Iterator[list[Shard]]:
    with searchable(WEATHER, shards=2) as shards:
        yield shards


@pytest.mark.parametrize(
    "text", ["rain " * 20_000, "x" * 100_000, '"' * 100_000, "(" * 100_000, "the of and " * 10_000]
)
def test_a_very_long_question_is_answered_like_any_other(weather: list[Shard], text: str) -> None:
    found = search(weather, text, (), over_fetch=9, policy=PLAIN)
    if "rain" in text:
        assert places(found) == places(search(weather, "rain", (), over_fetch=9, policy=PLAIN))


def test_a_question_of_very_many_words_is_searched_for_all_of_them(weather: list[Shard]) -> None:
    many = " ".join(f"word{number}" for number in range(3_000))
    assert uris(search(weather, f"{many} mill", (), over_fetch=9, policy=PLAIN)) == ["c"]


def test_a_question_of_stopwords_alone_finds_them(weather: list[Shard]) -> None:
    assert set(uris(search(weather, "of this and the", (), over_fetch=9, policy=PLAIN))) == set("abcde")


@pytest.mark.parametrize(
    "policy",
    [
        RankingPolicy(bm25_k1=0.0),
        RankingPolicy(bm25_b=0.0),
        RankingPolicy(bm25_b=1.0),
        RankingPolicy(bm25_k1=0.0, title_weight=0.0, text_weight=0.0),
        RankingPolicy(title_weight=2.0**52, text_weight=1e-9),
        RankingPolicy(primary_rank_weight=0.0),
    ],
)
def test_a_policy_at_its_limits_ranks_without_failing(weather: list[Shard], policy: RankingPolicy) -> None:
    found = search(weather, "rain bridge flood", ("river",), over_fetch=9, policy=policy)
    assert set(uris(found)) == {"a", "b", "c", "d", "e"}
    assert [source.score for source in found] == sorted((source.score for source in found), reverse=True)


def test_no_shards_hold_nothing() -> None:
    assert search([], "rain", (), over_fetch=9, policy=PLAIN) == []


def test_a_shard_of_another_index_version_is_refused(tmp_path: Path) -> None:
    (path,) = published(Home(tmp_path), WEATHER)
    tamper(path, "UPDATE meta SET value = 'fts5/ascii' WHERE key = 'index_version'")
    with (
        Shard(path) as shard,
        pytest.raises(CorpusError, match=r"s-000\.db: indexed as fts5/ascii.*arborist build"),
    ):
        search([shard], "rain", (), over_fetch=9, policy=PLAIN)


@pytest.mark.slow
def test_answerable_questions_of_squad2_find_their_paragraph(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "squad2_wiki"
    documents = [
        document(row["doc_id"], row["text"], row["title"])
        for name in ("docs_gold.jsonl", "docs_distractors.jsonl")
        for row in map(json.loads, (folder / name).read_text(encoding="utf-8").splitlines())
    ]
    rows = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    asked = [(row["question"], row["doc_id"]) for row in rows if row["answerable"]]
    with ExitStack() as stack:
        shards = [stack.enter_context(Shard(path)) for path in published(Home(tmp_path), documents, shards=4)]
        found = [uris(search(shards, question, (), over_fetch=32, policy=PLAIN)) for question, _ in asked]
    ranks = [list(dict.fromkeys(ranked)) for ranked in found]
    share = {
        top: sum(gold in ranked[:top] for ranked, (_, gold) in zip(ranks, asked, strict=True)) / len(asked)
        for top in (1, 3, 10)
    }
    print("squad2_wiki", len(documents), "paragraphs", len(asked), "questions", share)
    assert (len(documents), len(asked)) == (5050, 3762)
    assert share[1] >= 0.77
    assert share[3] >= 0.89
