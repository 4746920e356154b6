"""From a question to its plan, and from a plan to what it brings up."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from arborist.corpus.shard import Shard
from arborist.errors import InputError
from arborist.hashing import normalized_question, question_hash
from arborist.policy import RankingPolicy, RetrievalDefaults
from arborist.retrieval.plan import Filters, Frame, RetrievalPlan, RetrievedSource, ShardId
from arborist.retrieval.search import search
from arborist.retrieval.self_reference import supplemented


@dataclass(frozen=True, slots=True)
class Query:
    """A question as it is put to the corpus, with the operator's hints; a limit that is None is the policy's."""

    question: str
    keywords: tuple[str, ...] = ()
    top_k: int | None = None
    over_fetch: int | None = None
    max_context_chars: int | None = None
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        if not normalized_question(self.question):
            raise InputError("the question is empty: ask something")
        if any(not normalized_question(keyword) for keyword in self.keywords):
            raise InputError("a keyword is empty: leave it out, or give it a word")
        for text in (self.question, *self.keywords):
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise InputError(f"{text!a} is not Unicode text: give it in UTF-8")

    @property
    def normalized_keywords(self) -> tuple[str, ...]:
        """The keywords as they are bound: in their order, normalized like a question."""
        return tuple(normalized_question(keyword) for keyword in self.keywords)


def filtered(shards: Sequence[Shard], filters: Filters) -> list[Shard]:
    """The shards that the filters let through. Raises InputError for a name that no shard has."""
    _refuse_unknown("source", filters.sources, {shard.meta.source for shard in shards})
    _refuse_unknown(
        "source type", filters.source_types, {kind for shard in shards for kind in shard.meta.source_types}
    )
    return [
        shard
        for shard in shards
        if (not filters.sources or shard.meta.source in filters.sources)
        and (not filters.source_types or set(filters.source_types) & set(shard.meta.source_types))
    ]


def _refuse_unknown(what: str, wanted: Sequence[str], known: set[str]) -> None:
    for name in wanted:
        if name not in known:
            raise InputError(f"no shard has the {what} {name!r} (there are: {', '.join(sorted(known))})")


def plan_for(
    query: Query, shards: Sequence[Shard], defaults: RetrievalDefaults, ranking: RankingPolicy
) -> RetrievalPlan:
    """The plan of a query over these shards, which are those its filters let through."""
    return RetrievalPlan(
        question_hash=question_hash(query.question),
        retrieval_keywords=query.normalized_keywords,
        retrieval_mode=Frame.choose(query.keywords).retrieval_mode,
        top_k=defaults.top_k if query.top_k is None else query.top_k,
        over_fetch=defaults.over_fetch if query.over_fetch is None else query.over_fetch,
        max_context_chars=(
            defaults.max_context_chars if query.max_context_chars is None else query.max_context_chars
        ),
        filters=query.filters,
        shard_ids=tuple(ShardId(shard.meta.shard, shard.meta.shard_root) for shard in shards),
        ranking_policy_hash=ranking.digest(),
    )


def retrieved(
    plan: RetrievalPlan, question: str, shards: Sequence[Shard], ranking: RankingPolicy
) -> list[RetrievedSource]:
    """What the plan brings up, best first; `shards` are those of the plan, in its order.

    At most `top_k`; in the mode `supplementary` promoted answers come after those, at most `self_reference_slots`.
    """
    found = search(
        shards, normalized_question(question), plan.retrieval_keywords, over_fetch=plan.over_fetch, policy=ranking
    )
    if ranking.self_reference_mode == "weighted":
        return found[: plan.top_k]
    return supplemented(found, plan.top_k, ranking)
