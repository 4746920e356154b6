"""Every policy and its defaults, in one place. A policy that shapes an answer has a digest that a run binds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from arborist.errors import ConfigError
from arborist.hashing import Domain, hash_json

PRIMARY = "primary"
BACKGROUND = "background"
SELF_REFERENCE = "self_reference_source"
PROVIDENCE_SOURCE = "providence"
ROLES = (PRIMARY, BACKGROUND, SELF_REFERENCE)


@dataclass(frozen=True, slots=True)
class RankingPolicy:
    """How candidates are ordered: BM25 as FTS5 computes it, times the weight of the source's role.

    A term of an operator keyword weighs `keyword_weight` in addition to what it weighs as a word of the question.
    `background_sources` names the sources whose role is not primary; `corpus.toml` says so at each source.
    In the mode `supplementary` promoted answers never take one of the `top_k` places (`self-providence.md`): at
    most `self_reference_slots` come after them, and each lifts a source that it cites by no more than
    `self_reference_support` of that source's own score.
    """

    bm25_k1: float = 1.2
    bm25_b: float = 0.75
    title_weight: float = 1.0
    text_weight: float = 1.0
    keyword_weight: float = 1.0
    stopwords: str = "english-v1"
    background_sources: tuple[str, ...] = ()
    primary_rank_weight: float = 1.0
    background_rank_weight: float = 0.9
    self_reference_rank_weight: float = 0.9
    self_reference_mode: Literal["supplementary", "weighted"] = "supplementary"
    self_reference_slots: int = 2
    self_reference_support: float = 0.3

    def role(self, source: str) -> str:
        """The role of a source's chunks."""
        if source == PROVIDENCE_SOURCE:
            return SELF_REFERENCE
        return BACKGROUND if source in self.background_sources else PRIMARY

    def rank_weight(self, role: str) -> float:
        return {
            PRIMARY: self.primary_rank_weight,
            BACKGROUND: self.background_rank_weight,
            SELF_REFERENCE: self.self_reference_rank_weight,
        }[role]

    def canonical(self) -> dict[str, Any]:
        return _values(self)

    def digest(self) -> str:
        """`ranking_policy_hash`."""
        return hash_json(Domain.RANKING_POLICY, self.canonical())


@dataclass(frozen=True, slots=True)
class AnsweringPolicy:
    """What an answer may rest on: the roles a claim may cite, and how fast a role uses up the context budget.

    A chunk of `n` characters costs `n / budget weight` of `max_context_chars`.
    """

    allowed_roles: tuple[str, ...] = ROLES
    primary_budget_weight: float = 1.0
    background_budget_weight: float = 1.0
    self_reference_budget_weight: float = 1.0
    show_keywords_to_model: bool = False

    def budget_weight(self, role: str) -> float:
        return {
            PRIMARY: self.primary_budget_weight,
            BACKGROUND: self.background_budget_weight,
            SELF_REFERENCE: self.self_reference_budget_weight,
        }[role]

    def canonical(self) -> dict[str, Any]:
        return _values(self)

    def digest(self) -> str:
        """`governance_policy_hash`."""
        return hash_json(Domain.GOVERNANCE_POLICY, self.canonical())


@dataclass(frozen=True, slots=True)
class RetrievalDefaults:
    """What a question is retrieved with unless the caller says otherwise."""

    top_k: int = 8
    over_fetch: int = 32
    max_context_chars: int = 12_000


@dataclass(frozen=True, slots=True)
class ProvenancePolicy:
    """The five switches of `provenance.md`, and what the stored DAG shows of its payloads.

    `dag_privacy` is `full` (payloads inside) or `hashes` (digests only); both give the same root.
    """

    bind_keywords_in_run_dag: bool = True
    store_keywords_on_record: bool = True
    keywords_affect_cache_key: bool = False
    keywords_affect_prompt_hash_if_prompted: bool = True
    retrieval_plan_affects_cache_key: bool = False
    dag_privacy: Literal["full", "hashes"] = "full"


@dataclass(frozen=True, slots=True)
class PromotionPolicy:
    """When a record may become a source (`self-providence.md`, Gates)."""

    kindergarten_seconds: int = 3600
    first_generation_only: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """All policies of a home; `corpus.toml` overrides them in the tables `[policy.<name>]`."""

    retrieval: RetrievalDefaults = field(default_factory=RetrievalDefaults)
    ranking: RankingPolicy = field(default_factory=RankingPolicy)
    answering: AnsweringPolicy = field(default_factory=AnsweringPolicy)
    provenance: ProvenancePolicy = field(default_factory=ProvenancePolicy)
    promotion: PromotionPolicy = field(default_factory=PromotionPolicy)

    @classmethod
    def of(cls, tables: Mapping[str, Any], origin: str, background_sources: tuple[str, ...]) -> "Policy":
        """The defaults with the values of `[policy.*]` tables put in; `origin` is the file, for errors."""
        default = cls(ranking=RankingPolicy(background_sources=background_sources))
        known = {item.name: getattr(default, item.name) for item in fields(cls)}
        changes = {}
        for name, table in tables.items():
            if name not in known or not isinstance(table, Mapping):
                raise ConfigError.at(origin, f"[policy.{name}]", "no such policy", f"one of {', '.join(known)}")
            changes[name] = _overridden(known[name], table, f"[policy.{name}]", origin)
        policy = replace(default, **changes)
        _refuse_contradiction(policy.provenance, origin)
        return policy


def _refuse_contradiction(switches: ProvenancePolicy, origin: str) -> None:
    """A cache key that holds the plan holds the keywords through it, and so not where the plan is kept without."""
    in_key = switches.keywords_affect_cache_key and switches.retrieval_plan_affects_cache_key
    if in_key and not switches.bind_keywords_in_run_dag:
        problem = "the plan in the cache key is to hold no keywords, and yet they are to affect the key"
        remedy = "set bind_keywords_in_run_dag = true, or leave one of the other two false"
        raise ConfigError.at(origin, "[policy.provenance]", problem, remedy)


def _overridden(policy: Any, table: Mapping[str, Any], place: str, origin: str) -> Any:
    known = {item.name: getattr(policy, item.name) for item in fields(policy) if item.name != "background_sources"}
    changes = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError.at(origin, f"{place} {key}", "no such key", f"one of {', '.join(known)}")
        changes[key] = _checked(key, value, known[key], place, origin)
    return replace(policy, **changes)


_CHOICES = {
    "self_reference_mode": ("supplementary", "weighted"),
    "dag_privacy": ("full", "hashes"),
    "stopwords": ("english-v1", "none"),
}
_LEAST = {"top_k": 1, "over_fetch": 1, "max_context_chars": 1}
_MOST = {"bm25_b": 1}


def _checked(key: str, value: Any, default: Any, place: str, origin: str) -> Any:
    where = f"{place} {key}"
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ConfigError.at(origin, where, f"{value!r} is not true or false")
        return value
    if isinstance(default, int | float):
        return _checked_number(key, value, default, where, origin)
    if isinstance(default, tuple):
        if not isinstance(value, list) or any(item not in ROLES for item in value):
            raise ConfigError.at(origin, where, f"{value!r} is not a list of roles", f"of {', '.join(ROLES)}")
        return tuple(value)
    if value not in _CHOICES[key]:
        raise ConfigError.at(origin, where, f"{value!r} is not allowed", f"one of {', '.join(_CHOICES[key])}")
    return value


def _checked_number(key: str, value: Any, default: int | float, where: str, origin: str) -> int | float:
    least, most = _LEAST.get(key, 0), _MOST.get(key, 2**53 - 1)
    number = isinstance(value, int) or (isinstance(value, float) and isinstance(default, float))
    if isinstance(value, bool) or not number or not least <= value <= most:
        kind = "a number" if isinstance(default, float) else "a whole number"
        limit = f"from {least} to {most}" if key in _MOST else f"of {least} or more"
        raise ConfigError.at(origin, where, f"{value!r} is not {kind} {limit}", f"default {default}")
    return float(value) if isinstance(default, float) else value


def _values(policy: Any) -> dict[str, Any]:
    values = {item.name: getattr(policy, item.name) for item in fields(policy)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
