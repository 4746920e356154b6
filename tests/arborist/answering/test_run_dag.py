"""The mutation law: a bound input changes exactly the digests it is declared to, and none goes unnoticed."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.model import Claim, Message, ModelAnswer, ModelIdentity
from arborist.answering.run_dag import (
    ANSWER_STAGES,
    CACHE_KEY_PARTS,
    RUN_STAGES,
    STAGES,
    Answered,
    Retrieval,
    RunDag,
    cache_key,
    retrieval_nodes,
    run_dag,
    run_dag_on_hit,
)
from arborist.errors import InputError
from arborist.hashing import question_hash
from arborist.policy import BACKGROUND, PRIMARY, AnsweringPolicy, RankingPolicy
from arborist.retrieval.plan import Filters, Frame, RetrievalPlan, ShardId

QUESTION = "Who is at war?"


@dataclass(frozen=True)
class Run:
    """All that a run binds, as it is handed in."""

    retrieval: Retrieval
    answered: Answered

    @property
    def dag(self) -> RunDag:
        return run_dag(retrieval_nodes(self.retrieval), self.answered)

    @property
    def plan(self) -> RetrievalPlan:
        assert self.retrieval.plan is not None
        return self.retrieval.plan

    def with_retrieval(self, **changes: Any) -> "Run":
        return replace(self, retrieval=replace(self.retrieval, **changes))

    def with_plan(self, **changes: Any) -> "Run":
        return self.with_retrieval(plan=replace(self.plan, **changes))

    def with_answered(self, **changes: Any) -> "Run":
        return replace(self, answered=replace(self.answered, **changes))

    def with_claim(self, **changes: Any) -> "Run":
        first, *rest = self.answered.claims
        return self.with_answered(claims=(replace(first, **changes), *rest))

    def with_summary(self, **changes: Any) -> "Run":
        first, *rest = self.retrieval.sources_summary
        return self.with_retrieval(sources_summary=[{**first, **changes}, *rest])

    def with_item(self, **changes: str) -> "Run":
        first, *rest = self.retrieval.context_items
        return self.with_retrieval(context_items=[{**first, **changes}, *rest])

    def with_policy(self, **changes: Any) -> "Run":
        return self.with_retrieval(governance_policy={**self.retrieval.governance_policy, **changes})

    def digests(self) -> dict[str, str]:
        """Every digest and label that the run commits, its root, and its cache key."""
        dag = self.dag
        committed = {name: text for node in dag.nodes for name, text in node.commitment.items()}
        return committed | {"run_dag_root": dag.root, "cache_key": cache_key(dag.cache_key_parts())}


BASE = Run(
    Retrieval(
        question=QUESTION,
        conversation=({"role": "user", "content": "Tell me of Oceania."},),
        frame=Frame("fts5+keywords", "the operator gave keywords"),
        plan=RetrievalPlan(
            question_hash=question_hash(QUESTION),
            retrieval_keywords=("Oceania", "Eastasia"),
            retrieval_mode="fts5+keywords",
            top_k=8,
            over_fetch=32,
            max_context_chars=12_000,
            filters=Filters(("news",), ("jsonl",)),
            shard_ids=(ShardId("news-000", "1" * 64), ShardId("news-001", "2" * 64)),
            ranking_policy_hash=RankingPolicy().digest(),
        ),
        sources_summary=[
            {
                "document_root": digit * 64,
                "chunk_index": 3,
                "leaf_hash": digit * 64,
                "source_role": PRIMARY,
                "score": "12.25",
            }
            for digit in "ab"
        ],
        context_items=[{"leaf_hash": digit * 64, "document_root": digit * 64, "role": PRIMARY} for digit in "ab"],
        chunking_version="splitter 1",
        messages=(Message("system", "Answer from the evidence."), Message("user", QUESTION)),
        governance_policy=AnsweringPolicy().canonical(),
    ),
    Answered(
        answer=ModelAnswer("Oceania. [E1] And Eastasia. [E2]"),
        model=ModelIdentity("model", "revision 1", (("seed", 7),)),
        claims=(Claim("Oceania.", (1,), "supported"), Claim("And Eastasia.", (2,), "supported")),
        verifier_policy={"rules": "rules 1", "threshold": 0.5},
        audit_mode="STRICT",
    ),
)

PLAN = {"retrieval_plan_hash", "retrieval_stage_hash"}
SUMMARY = {"sources_summary_hash", "retrieval_result_hash", "retrieval_stage_hash"}
CONTEXT = {"context_root", "retrieval_result_hash", "retrieval_stage_hash", "cache_key"}
PROMPT = {"prompt_hash", "cache_key"}
GOVERNANCE = {"governance_policy_hash", "cache_key"}
MODEL = {"model_identity", "cache_key"}
VERIFIER = {"verifier_policy_hash", "cache_key"}

Mutation = tuple[str, str, set[str], Callable[[Run], Run]]

MUTATIONS: list[Mutation] = [
    (
        "the question",
        "question",
        {"question_hash", "cache_key"} | PLAN,
        lambda run: run.with_retrieval(question="Who?").with_plan(question_hash=question_hash("Who?")),
    ),
    (
        "the case of the question",
        "question",
        {"question_hash", "cache_key"} | PLAN,
        lambda run: run.with_retrieval(question=QUESTION.lower()).with_plan(
            question_hash=question_hash(QUESTION.lower())
        ),
    ),
    (
        "an earlier turn",
        "question",
        {"conversation_hash", "cache_key"},
        lambda run: run.with_retrieval(conversation=({"role": "user", "content": "Tell me of Eurasia."},)),
    ),
    (
        "a turn left out",
        "question",
        {"conversation_hash", "cache_key"},
        lambda run: run.with_retrieval(conversation=()),
    ),
    (
        "the mode of the frame",
        "frame",
        {"frame_hash"},
        lambda run: run.with_retrieval(frame=Frame("fts5", "the operator gave keywords")),
    ),
    (
        "the reason of the frame",
        "frame",
        {"frame_hash"},
        lambda run: run.with_retrieval(frame=Frame("fts5+keywords", "a habit")),
    ),
    ("a keyword", "retrieval_plan", PLAN, lambda run: run.with_plan(retrieval_keywords=("Oceania", "Eurasia"))),
    (
        "the order of keywords",
        "retrieval_plan",
        PLAN,
        lambda run: run.with_plan(retrieval_keywords=("Eastasia", "Oceania")),
    ),
    ("a keyword left out", "retrieval_plan", PLAN, lambda run: run.with_plan(retrieval_keywords=("Oceania",))),
    (
        "two keywords made one",
        "retrieval_plan",
        PLAN,
        lambda run: run.with_plan(retrieval_keywords=("Oceania Eastasia",)),
    ),
    ("the mode", "retrieval_plan", PLAN, lambda run: run.with_plan(retrieval_mode="fts5")),
    ("top_k", "retrieval_plan", PLAN, lambda run: run.with_plan(top_k=9)),
    ("over_fetch", "retrieval_plan", PLAN, lambda run: run.with_plan(over_fetch=33)),
    ("max_context_chars", "retrieval_plan", PLAN, lambda run: run.with_plan(max_context_chars=12_001)),
    ("a source filter", "retrieval_plan", PLAN, lambda run: run.with_plan(filters=Filters((), ("jsonl",)))),
    ("a type filter", "retrieval_plan", PLAN, lambda run: run.with_plan(filters=Filters(("news",), ()))),
    (
        "a filter of the other kind",
        "retrieval_plan",
        PLAN,
        lambda run: run.with_plan(filters=Filters(("jsonl",), ("news",))),
    ),
    (
        "the name of a shard",
        "retrieval_plan",
        PLAN,
        lambda run: run.with_plan(shard_ids=(ShardId("news-002", "1" * 64), run.plan.shard_ids[1])),
    ),
    (
        "the root of a shard",
        "retrieval_plan",
        PLAN,
        lambda run: run.with_plan(shard_ids=(ShardId("news-000", "3" * 64), run.plan.shard_ids[1])),
    ),
    (
        "the order of shards",
        "retrieval_plan",
        PLAN,
        lambda run: run.with_plan(shard_ids=run.plan.shard_ids[::-1]),
    ),
    ("a shard left out", "retrieval_plan", PLAN, lambda run: run.with_plan(shard_ids=run.plan.shard_ids[:1])),
    ("the ranking policy", "retrieval_plan", PLAN, lambda run: run.with_plan(ranking_policy_hash="4" * 64)),
    ("a source's document", "retrieval_result", SUMMARY, lambda run: run.with_summary(document_root="c" * 64)),
    ("a source's chunk", "retrieval_result", SUMMARY, lambda run: run.with_summary(chunk_index=4)),
    ("a source's leaf", "retrieval_result", SUMMARY, lambda run: run.with_summary(leaf_hash="c" * 64)),
    ("a source's role", "retrieval_result", SUMMARY, lambda run: run.with_summary(source_role=BACKGROUND)),
    (
        "a source's score in its last digit",
        "retrieval_result",
        SUMMARY,
        lambda run: run.with_summary(score="12.250000000000002"),
    ),
    (
        "the order of sources",
        "retrieval_result",
        SUMMARY,
        lambda run: run.with_retrieval(sources_summary=run.retrieval.sources_summary[::-1]),
    ),
    (
        "a source left out",
        "retrieval_result",
        SUMMARY,
        lambda run: run.with_retrieval(sources_summary=run.retrieval.sources_summary[:1]),
    ),
    ("the text of evidence", "context", CONTEXT, lambda run: run.with_item(leaf_hash="c" * 64)),
    ("the document of evidence", "context", CONTEXT, lambda run: run.with_item(document_root="c" * 64)),
    ("the role of evidence", "context", CONTEXT, lambda run: run.with_item(role=BACKGROUND)),
    (
        "the order of evidence",
        "context",
        CONTEXT,
        lambda run: run.with_retrieval(context_items=run.retrieval.context_items[::-1]),
    ),
    (
        "evidence left out",
        "context",
        CONTEXT,
        lambda run: run.with_retrieval(context_items=run.retrieval.context_items[:1]),
    ),
    (
        "the chunking version",
        "context",
        {"chunking_version", "cache_key"},
        lambda run: run.with_retrieval(chunking_version="splitter 2"),
    ),
    (
        "the content of a message",
        "prompt",
        PROMPT,
        lambda run: run.with_retrieval(messages=(Message("system", "Guess."), run.retrieval.messages[1])),
    ),
    (
        "the role of a message",
        "prompt",
        PROMPT,
        lambda run: run.with_retrieval(
            messages=(Message("user", "Answer from the evidence."), run.retrieval.messages[1])
        ),
    ),
    (
        "the order of messages",
        "prompt",
        PROMPT,
        lambda run: run.with_retrieval(messages=run.retrieval.messages[::-1]),
    ),
    (
        "a message left out",
        "prompt",
        PROMPT,
        lambda run: run.with_retrieval(messages=run.retrieval.messages[:1]),
    ),
    *[
        (
            f"the answering policy's {name}",
            "prompt",
            GOVERNANCE,
            lambda run, name=name, value=value: run.with_policy(**{name: value}),
        )
        for name, value in {
            "allowed_roles": [PRIMARY],
            "primary_budget_weight": 0.5,
            "background_budget_weight": 0.5,
            "self_reference_budget_weight": 0.5,
            "show_keywords_to_model": True,
        }.items()
    ],
    (
        "the text of the answer",
        "answer",
        {"answer_hash"},
        lambda run: run.with_answered(answer=ModelAnswer("Eurasia. [E1]")),
    ),
    (
        "an abstention",
        "answer",
        {"answer_hash"},
        lambda run: run.with_answered(answer=replace(run.answered.answer, abstained=True)),
    ),
    (
        "the name of the model",
        "answer",
        MODEL,
        lambda run: run.with_answered(model=replace(run.answered.model, name="model 2")),
    ),
    (
        "the revision of the model",
        "answer",
        MODEL,
        lambda run: run.with_answered(model=replace(run.answered.model, revision="revision 2")),
    ),
    (
        "the seed of the model",
        "answer",
        MODEL,
        lambda run: run.with_answered(
            model=replace(run.answered.model, settings=(("seed", 8), ("temperature", 0)))
        ),
    ),
    (
        "a setting of the model left out",
        "answer",
        MODEL,
        lambda run: run.with_answered(model=replace(run.answered.model, settings=())),
    ),
    ("the text of a claim", "verify", {"claims_hash"}, lambda run: run.with_claim(text="Eurasia.")),
    ("what a claim cites", "verify", {"claims_hash"}, lambda run: run.with_claim(citations=(2,))),
    ("the state of a claim", "verify", {"claims_hash"}, lambda run: run.with_claim(state="anchored")),
    ("a finding on a claim", "verify", {"claims_hash"}, lambda run: run.with_claim(findings=("number-differs",))),
    (
        "a claim demoted for a lazy anchor",
        "verify",
        {"claims_hash"},
        lambda run: run.with_claim(lazy_anchor_demoted=True),
    ),
    (
        "a claim demoted for its meaning",
        "verify",
        {"claims_hash"},
        lambda run: run.with_claim(semantic_demoted=True),
    ),
    (
        "the order of claims",
        "verify",
        {"claims_hash"},
        lambda run: run.with_answered(claims=run.answered.claims[::-1]),
    ),
    (
        "a claim left out",
        "verify",
        {"claims_hash"},
        lambda run: run.with_answered(claims=run.answered.claims[:1]),
    ),
    (
        "the verifier's rules",
        "verify",
        VERIFIER,
        lambda run: run.with_answered(verifier_policy={"rules": "rules 2", "threshold": 0.5}),
    ),
    (
        "the verifier's threshold",
        "verify",
        VERIFIER,
        lambda run: run.with_answered(verifier_policy={"rules": "rules 1", "threshold": 0.25}),
    ),
    ("the verdict", "final_label", {"final_label_hash"}, lambda run: run.with_answered(audit_mode="HYBRID")),
]
NAMES = [mutation[0] for mutation in MUTATIONS]


def test_there_are_enough_mutations_and_each_digest_is_declared_by_one() -> None:
    assert len(MUTATIONS) >= 40
    assert len(set(NAMES)) == len(MUTATIONS)
    declared = {name for _, _, changed, _ in MUTATIONS for name in changed}
    assert declared | {"run_dag_root"} == set(BASE.digests())


@pytest.mark.parametrize(("name", "stage", "changed", "mutate"), MUTATIONS, ids=NAMES)
def test_a_bound_input_changes_exactly_the_declared_digests(
    name: str, stage: str, changed: set[str], mutate: Callable[[Run], Run]
) -> None:
    before, after = BASE.digests(), mutate(BASE).digests()
    assert {key for key in before if before[key] != after[key]} == changed | {"run_dag_root"}


@pytest.mark.parametrize(("name", "stage", "changed", "mutate"), MUTATIONS, ids=NAMES)
def test_a_changed_payload_in_a_stored_dag_is_noticed_at_its_stage(
    name: str, stage: str, changed: set[str], mutate: Callable[[Run], Run]
) -> None:
    other = mutate(BASE).dag.node(stage).payload
    forged = RunDag(
        tuple(replace(node, payload=other) if node.stage == stage else node for node in BASE.dag.nodes)
    )
    assert stage in {fault.stage for fault in RunDag.from_blob(forged.blob()).faults()}


@pytest.mark.parametrize(("name", "stage", "changed", "mutate"), MUTATIONS, ids=NAMES)
def test_a_node_of_another_run_is_noticed(
    name: str, stage: str, changed: set[str], mutate: Callable[[Run], Run]
) -> None:
    other = mutate(BASE).dag
    spliced = RunDag(tuple(other.node(node.stage) if node.stage == stage else node for node in BASE.dag.nodes))
    whole = not spliced.faults()
    # The last stage has no child whose hash would tell; there the root is another.
    assert not whole or stage == "final_label"
    assert spliced.root != BASE.dag.root


def test_what_a_model_used_up_is_not_bound() -> None:
    costly = replace(BASE.answered.answer, usage=(("tokens", 10_000),))
    assert BASE.with_answered(answer=costly).digests() == BASE.digests()


@pytest.mark.parametrize("field", [item.name for item in fields(RankingPolicy)])
def test_every_setting_of_the_ranking_is_in_its_digest(field: str) -> None:
    value = getattr(RankingPolicy(), field)
    other: Any = value + 1 if isinstance(value, int | float) else f"other than {value}"
    assert replace(RankingPolicy(), **{field: other}).digest() != RankingPolicy().digest()


@given(st.sets(st.sampled_from(STAGES)))
def test_payloads_left_out_change_no_digest(left_out: set[str]) -> None:
    dag = RunDag(tuple(replace(node, payload=None) if node.stage in left_out else node for node in BASE.dag.nodes))
    assert dag.root == BASE.dag.root
    assert dag.faults() == []
    assert dag.with_payloads(BASE.dag.payloads()) == BASE.dag


def test_a_stored_dag_reads_back() -> None:
    assert RunDag.from_blob(BASE.dag.blob()) == BASE.dag
    assert RunDag.from_blob(BASE.dag.blob()).faults() == []


@pytest.mark.parametrize("blob", [b"", b"{}", b"[]", b'{"nodes":[{}]}', b'{"nodes":1}', b"\xff", b"[" * 100_000])
def test_what_is_no_stored_dag_is_refused(blob: bytes) -> None:
    with pytest.raises(InputError, match="not a stored run DAG"):
        RunDag.from_blob(blob)


def test_a_run_without_a_known_plan_binds_the_summary_alone() -> None:
    old = BASE.with_retrieval(frame=None, plan=None)
    assert [node.stage for node in old.dag.nodes] == [
        stage for stage in STAGES if stage not in ("frame", "retrieval_plan")
    ]
    assert set(old.dag.node("retrieval_result").commitment) == {"sources_summary_hash"}
    assert old.dag.faults() == []
    assert cache_key(old.dag.cache_key_parts()) == BASE.digests()["cache_key"]


def test_a_hit_has_its_own_nodes_up_to_the_prompt_and_the_record_s_from_the_answer_on() -> None:
    own = BASE.with_plan(retrieval_keywords=("Eurasia",))
    hit = run_dag_on_hit(retrieval_nodes(own.retrieval), BASE.dag)
    assert [hit.node(stage) for stage in RUN_STAGES] == [own.dag.node(stage) for stage in RUN_STAGES]
    assert [hit.node(stage) for stage in ANSWER_STAGES] == [BASE.dag.node(stage) for stage in ANSWER_STAGES]
    assert hit.root not in (BASE.dag.root, own.dag.root)


def test_a_cache_key_has_exactly_eight_parts() -> None:
    parts = BASE.dag.cache_key_parts()
    assert tuple(parts) == CACHE_KEY_PARTS
    assert len(CACHE_KEY_PARTS) == 8
    for changed in (parts | {"ninth": "0"}, dict(list(parts.items())[:7]), parts | {"prompt_hash": None}):
        with pytest.raises(InputError, match="exactly"):
            cache_key(changed)


def shifted_plans(seed: int, count: int) -> Iterator[RetrievalPlan]:
    """Plans, each with one character more or less moved over a boundary between two fields than the one before."""
    chance = random.Random(seed)
    texts = ["Oceania", "Eastasia", "fts5", "news", "jsonl", "news-000", "11ab", "news-001", "22cd", "rank"]
    numbers = ["81", "323", "12000"]
    for _ in range(count):
        row = chance.choice([texts, texts, texts, numbers])
        left = chance.randrange(len(row) - 1)
        giver, taker = chance.choice([(left, left + 1), (left + 1, left)])
        least = 2 if row is numbers else 1
        if len(row[giver]) >= least:
            moved = row[giver][-1] if giver < taker else row[giver][0]
            rest = row[giver][:-1] if giver < taker else row[giver][1:]
            joined = moved + row[taker] if giver < taker else row[taker] + moved
            if row is texts or not (rest.startswith("0") or joined.startswith("0")):
                row[giver], row[taker] = rest, joined
        yield RetrievalPlan(
            question_hash="0" * 64,
            retrieval_keywords=(texts[0], texts[1]),
            retrieval_mode=texts[2],
            top_k=int(numbers[0]),
            over_fetch=int(numbers[1]),
            max_context_chars=int(numbers[2]),
            filters=Filters((texts[3],), (texts[4],)),
            shard_ids=(ShardId(texts[5], texts[6]), ShardId(texts[7], texts[8])),
            ranking_policy_hash=texts[9],
        )


def assert_no_two_plans_share_a_digest(count: int) -> None:
    plans: dict[str, int] = {}
    for plan in shifted_plans(2026, count):
        # Python's own hash stands for the plan: a million plans would not fit.
        assert plans.setdefault(plan.digest(), hash(plan)) == hash(plan)
    assert len(plans) == len(set(plans.values())) > count // 3


def test_plans_that_differ_by_a_shifted_boundary_never_share_a_digest() -> None:
    assert_no_two_plans_share_a_digest(4_000)


@pytest.mark.slow
def test_a_million_shifted_boundaries_never_share_a_digest() -> None:
    assert_no_two_plans_share_a_digest(1_000_000)
