"""Postings and FTS5 rank alike to the last bit, by any kernel, under any policy, over any shards."""

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arborist.corpus.document import Document
from arborist.corpus.posting_sidecar import sidecar_file
from arborist.corpus.shard import Shard
from arborist.corpus.tokenizer import TOKENIZER
from arborist.home import Home
from arborist.policy import RankingPolicy
from arborist.retrieval import postings as postings_module
from arborist.retrieval.bm25 import bm25, summed_statistics
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.posting_kernel_numpy import best_chunks as numpy_kernel
from arborist.retrieval.postings import Kernel, best_by_postings
from arborist.retrieval.search import search
from arborist.retrieval.terms import WORDS, query_terms, tokenizer
from tests.corpora import document, published

WORDS_OF_CORPUS = [f"w{number}" for number in range(400)]
POLICIES = [
    RankingPolicy(),
    RankingPolicy(stopwords="none", title_weight=3.0, text_weight=0.25),
    RankingPolicy(bm25_k1=0.0),
    RankingPolicy(bm25_b=0.0, keyword_weight=0.37),
    RankingPolicy(bm25_b=1.0, bm25_k1=7.5, title_weight=1e-6),
    RankingPolicy(title_weight=0.0),
    RankingPolicy(keyword_weight=1e-12),
]


def kernels() -> list[Kernel]:
    """Every kernel that can run here."""
    if find_spec("numba") is None:
        return [numpy_kernel]
    from arborist.retrieval.posting_kernel_numba import best_chunks

    return [numpy_kernel, best_chunks]


def made_up(count: int) -> list[Document]:
    """Documents of common and rare words, many of them alike so that scores tie."""
    generator = random.Random(11)

    def words(length: int) -> str:
        return " ".join(WORDS_OF_CORPUS[min(399, int(generator.paretovariate(0.6)))] for _ in range(length))

    texts = [words(generator.randrange(1, 60)) for _ in range(count // 2)]
    return [
        document(f"d{number:05}", texts[number % len(texts)], words(2) if number % 4 else "Title")
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Shard]]:
    """A shard of several stretches of the compiled kernel."""
    (path,) = published(Home(tmp_path_factory.mktemp("one")), made_up(2_500), max_characters=200)
    with Shard(path) as shard:
        yield [shard]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Shard]]:
    """The same documents in five shards."""
    paths = published(Home(tmp_path_factory.mktemp("many")), made_up(2_500), 5, max_characters=200)
    with ExitStack() as stack:
        yield [stack.enter_context(Shard(path)) for path in paths]


@pytest.fixture(scope="module")
def bare(many: list[Shard], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Shard]]:
    """The five shards without their postings, so that FTS5 has to answer."""
    folder = tmp_path_factory.mktemp("bare")
    with ExitStack() as stack:
        paths = [Path(shutil.copy(shard.path, folder)) for shard in many]
        yield [stack.enter_context(Shard(path)) for path in paths]


def places(found: Sequence[RetrievedSource]) -> list[tuple[str, int, str]]:
    return [(source.document_root, source.chunk_index, source.score.hex()) for source in found]


QUESTIONS = st.lists(st.sampled_from([*WORDS_OF_CORPUS[:12], *WORDS_OF_CORPUS[::20], "unknown"]), max_size=8)
PROPERTY = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("kernel", kernels())
@PROPERTY
@given(question=QUESTIONS, keywords=QUESTIONS, policy=st.sampled_from(POLICIES[:5]), limit=st.integers(1, 60))
def test_the_best_chunks_are_those_that_the_reference_puts_first(
    one: list[Shard],
    kernel: Kernel,
    question: list[str],
    keywords: list[str],
    policy: RankingPolicy,
    limit: int,
) -> None:
    (shard,) = one
    assert shard.postings is not None
    stems = tokenizer(shard.connection, TOKENIZER)
    terms = query_terms(" ".join(question), keywords, policy, tokenizer(shard.connection, WORDS), stems)
    if not terms:
        return
    statistics = summed_statistics(one, [term.stem for term in terms])
    best = best_by_postings(shard.postings, terms, statistics, policy, limit, kernel=kernel)
    chunks = shard.chunks(range(1, shard.meta.chunks + 1))
    scored = [(bm25(chunk, terms, statistics, policy, stems), chunk) for chunk in chunks]
    expected = sorted(
        ((score, chunk) for score, chunk in scored if score > 0.0),
        key=lambda item: (-item[0], item[1].document_root, item[1].chunk_index),
    )[:limit]
    assert [(item.score.hex(), item.chunk_id) for item in best] == [
        (score.hex(), chunk.chunk_id) for score, chunk in expected
    ]


@PROPERTY
@given(question=QUESTIONS, keywords=QUESTIONS, policy=st.sampled_from(POLICIES), over_fetch=st.integers(1, 40))
def test_postings_and_fts5_find_the_same_over_one_shard_and_over_many(
    one: list[Shard],
    many: list[Shard],
    bare: list[Shard],
    question: list[str],
    keywords: list[str],
    policy: RankingPolicy,
    over_fetch: int,
) -> None:
    def found(shards: list[Shard]) -> list[tuple[str, int, str]]:
        return places(search(shards, " ".join(question), keywords, over_fetch=over_fetch, policy=policy))

    assert found(one) == found(many) == found(bare) == found([many[3], *bare[:3], many[4]][::-1])


def test_a_shard_that_differs_from_the_others_is_searched_by_the_statistics_of_all(tmp_path: Path) -> None:
    # In the second shard the word is in every chunk, so that FTS5's own weight for it is next to nothing there.
    plenty = [
        document(f"a{number:03}", "rain " * (number % 9 + 1) + "wind " * (number % 5)) for number in range(400)
    ]
    scarce = [
        document(f"b{number:03}", "sun " * (number % 9 + 1) + "wind " * (number % 7)) for number in range(400)
    ]
    apart = [*published(Home(tmp_path / "1"), plenty), *published(Home(tmp_path / "2"), scarce)]
    together = published(Home(tmp_path / "3"), [*plenty, *scarce])
    with ExitStack() as stack:
        opened = [stack.enter_context(Shard(path)) for path in apart]
        (whole,) = [stack.enter_context(Shard(path)) for path in together]
        for question in ("rain", "rain wind", "sun wind"):
            by_postings = search(opened, question, (), over_fetch=7, policy=RankingPolicy())
            assert places(by_postings) == places(
                search([whole], question, (), over_fetch=7, policy=RankingPolicy())
            )
            for path in apart:
                sidecar_file(path).unlink(missing_ok=True)
            fresh = [stack.enter_context(Shard(path)) for path in apart]
            by_fts5 = search(fresh, question, (), over_fetch=7, policy=RankingPolicy())
            assert places(by_fts5) == places(by_postings) != []


def test_a_rare_keyword_counts_though_fts5_ranks_by_words_alone(many: list[Shard], bare: list[Shard]) -> None:
    policy = replace(RankingPolicy(), keyword_weight=50.0)
    by_postings = search(many, "w1 w2 w3", ("w399",), over_fetch=5, policy=policy)
    assert places(by_postings) == places(search(bare, "w1 w2 w3", ("w399",), over_fetch=5, policy=policy))
    plain = search(many, "w1 w2 w3", (), over_fetch=5, policy=policy)
    assert places(by_postings) != places(plain)


def test_numba_is_not_imported_for_a_few_questions(monkeypatch: pytest.MonkeyPatch, one: list[Shard]) -> None:
    asked: list[str] = []
    monkeypatch.setattr(postings_module, "_numba_is_installed", lambda: asked.append("numba"))
    monkeypatch.setattr(postings_module, "_postings_asked_for", 0)
    search(one, "w1", (), over_fetch=5, policy=RankingPolicy())
    assert asked == []
    monkeypatch.setattr(postings_module, "POSTINGS_WORTH_NUMBA", 0)
    search(one, "w1", (), over_fetch=5, policy=RankingPolicy())
    assert asked == ["numba"]
