"""From a question to a plan, and from the plan to what it brings up."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arborist.corpus.shard import Shard
from arborist.errors import InputError
from arborist.hashing import question_hash
from arborist.policy import BACKGROUND, PRIMARY, RankingPolicy, RetrievalDefaults
from arborist.retrieval.plan import Filters, RetrievedSource
from arborist.retrieval.retrieve import Query, filtered, plan_for, retrieved
from arborist.workspace import Workspace
from tests.corpora import WHEN_ALDER, bridges

DEFAULTS = RetrievalDefaults()


@pytest.fixture
def shards(built: Workspace) -> Iterator[list[Shard]]:
    with built.corpus.opened() as opened:
        yield opened


def names(shards: list[Shard]) -> list[str]:
    return [shard.meta.shard for shard in shards]


def bring_up(query: Query, shards: list[Shard], ranking: RankingPolicy | None = None) -> list[RetrievedSource]:
    ranking = ranking or RankingPolicy()
    chosen = filtered(shards, query.filters)
    return retrieved(plan_for(query, chosen, DEFAULTS, ranking), query.question, chosen, ranking)


def test_a_plan_takes_what_the_query_leaves_open_from_the_policy(shards: list[Shard]) -> None:
    plan = plan_for(Query(WHEN_ALDER), shards, RetrievalDefaults(3, 5, 700), RankingPolicy())
    assert (plan.top_k, plan.over_fetch, plan.max_context_chars) == (3, 5, 700)
    asked = Query(WHEN_ALDER, top_k=4, over_fetch=6, max_context_chars=800)
    plan = plan_for(asked, shards, RetrievalDefaults(3, 5, 700), RankingPolicy())
    assert (plan.top_k, plan.over_fetch, plan.max_context_chars) == (4, 6, 800)


def test_a_plan_names_every_shard_at_the_root_it_is_searched_at(shards: list[Shard]) -> None:
    plan = plan_for(Query(WHEN_ALDER), shards, DEFAULTS, RankingPolicy())
    assert [(item.shard, item.root) for item in plan.shard_ids] == [
        (shard.meta.shard, shard.meta.shard_root) for shard in shards
    ]
    assert names(shards) == ["land-000", "land-001", "land-002", "people-000"]


def test_keywords_are_part_of_the_plan_and_never_of_the_question(shards: list[Shard]) -> None:
    plan = plan_for(Query(WHEN_ALDER, ("  Lowfield\n", "a  river")), shards, DEFAULTS, RankingPolicy())
    assert plan.retrieval_keywords == ("Lowfield", "a river")
    assert plan.retrieval_mode == "fts5+keywords"
    assert plan.question_hash == question_hash(WHEN_ALDER)


@pytest.mark.parametrize("question", [f" {WHEN_ALDER}\n", WHEN_ALDER.replace(" ", "\t\u3000")])
def test_white_space_in_a_question_changes_neither_plan_nor_result(shards: list[Shard], question: str) -> None:
    plan = plan_for(Query(question), shards, DEFAULTS, RankingPolicy())
    assert plan == plan_for(Query(WHEN_ALDER), shards, DEFAULTS, RankingPolicy())
    assert bring_up(Query(question), shards) == bring_up(Query(WHEN_ALDER), shards)


def test_the_form_of_a_letter_changes_neither_plan_nor_result(shards: list[Shard]) -> None:
    composed, apart = "Is the r\u00edver long?", "Is the ri\u0301ver long?"
    assert plan_for(Query(composed), shards, DEFAULTS, RankingPolicy()) == plan_for(
        Query(apart), shards, DEFAULTS, RankingPolicy()
    )
    assert bring_up(Query(composed), shards) == bring_up(Query(apart), shards) != []


def test_no_more_than_top_k_are_brought_up_the_best_first(shards: list[Shard]) -> None:
    everything = bring_up(Query("river bridge Lowfield Field", top_k=100), shards)
    assert len(everything) == 6
    assert bring_up(Query("river bridge Lowfield Field", top_k=2), shards) == everything[:2]
    assert [source.score for source in everything] == sorted((s.score for s in everything), reverse=True)


def test_sources_have_the_role_that_the_configuration_gives_them(workspace: Workspace) -> None:
    ranking = workspace.config.policy.ranking
    with workspace.corpus.opened() as shards:
        roles = {source.uri: source.role for source in bring_up(Query("Mona Field Lowfield"), shards, ranking)}
    assert roles["people/field"] == BACKGROUND
    assert {role for uri, role in roles.items() if uri != "people/field"} == {PRIMARY}


def test_filters_narrow_the_search_to_sources_and_types(shards: list[Shard]) -> None:
    people = Query("Lowfield", filters=Filters(sources=("people",)))
    assert {source.uri for source in bring_up(people, shards)} == {"people/field"}
    assert names(filtered(shards, Filters(sources=("land",)))) == ["land-000", "land-001", "land-002"]
    assert names(filtered(shards, Filters(sources=("land", "people")))) == names(shards)
    assert names(filtered(shards, Filters(("people",), ("jsonl",)))) == ["people-000"]
    assert filtered(shards, Filters()) == shards


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        (Filters(sources=("peopel",)), "no shard has the source 'peopel' (there are: land, people)"),
        (Filters(sources=("land", "")), "no shard has the source '' (there are: land, people)"),
        (Filters(source_types=("pdf",)), "no shard has the source type 'pdf' (there are: jsonl)"),
        (Filters(sources=("\udcff",)), r"no shard has the source '\udcff' (there are: land, people)"),
    ],
)
def test_a_filter_on_what_there_is_not_says_what_there_is(
    shards: list[Shard], filters: Filters, told: str
) -> None:
    with pytest.raises(InputError) as caught:
        filtered(shards, filters)
    assert str(caught.value) == told


@pytest.mark.parametrize("question", ["", " ", "\n\t\u3000"])
def test_an_empty_question_is_refused(question: str) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        Query(question)


@pytest.mark.parametrize("keyword", ["", " \n"])
def test_an_empty_keyword_is_refused(keyword: str) -> None:
    with pytest.raises(InputError, match="a keyword is empty"):
        Query(WHEN_ALDER, ("river", keyword))


@pytest.mark.parametrize("query", [("When\udcff?", ()), ("When?", ("river", "\ud800"))])
def test_text_that_is_no_unicode_is_refused(query: tuple[str, tuple[str, ...]]) -> None:
    with pytest.raises(InputError, match="not Unicode"):
        Query(*query)


@contextmanager
def rebuilt(folder: Path) -> Iterator[list[Shard]]:
    with bridges(folder).corpus.opened() as opened:
        yield opened


def test_a_corpus_that_was_built_again_brings_up_the_same(shards: list[Shard], tmp_path: Path) -> None:
    query = Query("Which river is long?", ("Lowfield",))
    with rebuilt(tmp_path) as again:
        assert bring_up(query, again) == bring_up(query, shards) != []
