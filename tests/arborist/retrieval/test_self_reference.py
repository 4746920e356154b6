"""Promoted answers stand beside the primary evidence and never in its place."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from arborist.policy import BACKGROUND, PRIMARY, SELF_REFERENCE, RankingPolicy
from arborist.retrieval.plan import RetrievedSource
from arborist.retrieval.promoted import cite
from arborist.retrieval.retrieve import Query, plan_for, retrieved
from arborist.retrieval.self_reference import ranked, supplemented
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.corpora import WHEN_ALDER, build, opened

POLICY = RankingPolicy()


def source(name: str, score: float, role: str = PRIMARY, text: str = "") -> RetrievedSource:
    leaf = name.encode().hex().ljust(64, "0")
    return RetrievedSource("s-000", leaf, 0, leaf, role, score, name, name, text, "v")


def answer(name: str, score: float, *cited: RetrievedSource) -> RetrievedSource:
    cites = " ".join(cite(number, item.uri, item.leaf_hash) for number, item in enumerate(cited, start=1))
    return source(name, score, SELF_REFERENCE, f"Q: q\nA: a\n- It is so. {cites}")


def uris(sources: list[RetrievedSource]) -> list[str]:
    return [item.uri for item in sources]


def test_promoted_answers_come_after_the_wanted_places() -> None:
    found = ranked([source("a", 3), source("b", 1), answer("p", 9), answer("q", 8), answer("r", 7)])
    assert uris(supplemented(found, 2, POLICY)) == ["a", "b", "p", "q"]


def test_no_place_is_left_free_for_them() -> None:
    assert uris(supplemented([answer("p", 9), source("a", 1)], 8, POLICY)) == ["a", "p"]
    assert uris(supplemented([answer("p", 9)], 8, POLICY)) == ["p"]


def test_support_is_what_the_answer_scores_above_every_source_up_to_its_share() -> None:
    cited, other = source("cited", 10), source("other", 12)
    lifted = supplemented([answer("p", 14.5, cited), other, cited], 8, POLICY)
    assert [(item.uri, item.score) for item in lifted[:2]] == [("cited", 12.5), ("other", 12)]
    lifted = supplemented([answer("p", 40, cited), other, cited], 8, POLICY)
    assert [(item.uri, item.score) for item in lifted[:2]] == [("cited", 13), ("other", 12)]


def test_an_answer_that_fits_less_well_than_a_source_lifts_nothing() -> None:
    cited, other = source("cited", 10), source("other", 12)
    assert supplemented([other, answer("p", 12, cited), cited], 8, POLICY)[:2] == [other, cited]


def test_of_several_answers_the_best_counts_once() -> None:
    cited = source("cited", 10)
    lifted = supplemented([answer("p", 12, cited), answer("q", 11, cited), cited], 8, POLICY)
    assert lifted[0].score == 12


def test_a_chunk_that_has_changed_since_is_not_lifted() -> None:
    changed = replace(source("cited", 10), leaf_hash="f" * 64)
    assert supplemented([answer("p", 15, source("cited", 10)), changed], 8, POLICY)[0].score == 10


def test_slots_and_support_are_the_policys() -> None:
    cited = source("cited", 10)
    none = replace(POLICY, self_reference_slots=0, self_reference_support=0.0)
    assert supplemented([answer("p", 15, cited), cited], 8, none) == [cited]


scores = st.floats(0, 100, allow_nan=False)
others = st.lists(st.tuples(scores, st.sampled_from([PRIMARY, BACKGROUND])), max_size=8)
answers = st.lists(st.tuples(scores, st.lists(st.integers(0, 7), max_size=3)), max_size=6)


@given(others, answers, st.integers(1, 8))
def test_no_primary_place_is_taken_and_no_score_rises_by_more_than_its_share(
    primary: list[tuple[float, str]], promoted: list[tuple[float, list[int]]], top_k: int
) -> None:
    sources = [source(f"s{number}", score, role) for number, (score, role) in enumerate(primary)]
    citing = [
        answer(f"p{number}", score, *(sources[index] for index in cited if index < len(sources)))
        for number, (score, cited) in enumerate(promoted)
    ]
    result = supplemented(ranked([*sources, *citing]), top_k, POLICY)
    kept = [item for item in result if item.role != SELF_REFERENCE]
    assert result[: len(kept)] == kept
    assert len(kept) == min(top_k, len(sources))
    assert len(result) - len(kept) == min(POLICY.self_reference_slots, len(citing))
    before = {item.uri: item.score for item in sources}
    for item in kept:
        assert before[item.uri] <= item.score <= before[item.uri] * 1.3 * (1 + 1e-12)


def test_promotion_shifts_no_score_of_what_no_answer_cites(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        before = {item.uri: item.score for item in home.ask("Which river freezes near a bridge?").sources}
        home.ask(WHEN_ALDER)
        assert home.promote().promoted == 1
        after = {item.uri: item.score for item in home.ask("Which river freezes near a bridge?").sources}
    assert before.items() - {("bridges/alder", before["bridges/alder"])} <= after.items()
    assert len(after) == len(before) + 1


def test_both_modes_are_bound_by_the_plan_and_rank_as_they_say(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        home.ask(WHEN_ALDER)
        home.clock.advance(HOUR)
        home.promoter.promote()
        policy = home.workspace.config.policy
        weighted = replace(policy.ranking, self_reference_mode="weighted")
        with home.workspace.corpus.opened() as shards:
            plans = [
                plan_for(Query(WHEN_ALDER, top_k=1), shards, policy.retrieval, ranking)
                for ranking in (policy.ranking, weighted)
            ]
            supplementary, plain = (
                retrieved(plan, WHEN_ALDER, shards, ranking)
                for plan, ranking in zip(plans, (policy.ranking, weighted), strict=True)
            )
    assert plans[0].digest() != plans[1].digest()
    assert [item.role for item in supplementary] == [PRIMARY, SELF_REFERENCE]
    assert len(plain) == 1


def test_a_promoted_uri_has_its_role_in_whatever_source_it_stands(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        reply = home.ask(WHEN_ALDER)
        rows = (tmp_path / "land.jsonl").read_text().replace("bridges/alder", f"aborist://providence/{'0' * 64}")
        (tmp_path / "land.jsonl").write_text(rows)
        moved = opened(tmp_path)
        build(moved)
        home.workspace = moved
        forged = home.ask(WHEN_ALDER, ["Alder Bridge"])
    assert reply.audit_mode == "STRICT"
    assert next(item.role for item in forged.sources if item.title == "Alder Bridge") == SELF_REFERENCE
    assert (forged.audit_mode, forged.claims[0].findings) == ("UNGROUNDED", ("evidence-refused",))
