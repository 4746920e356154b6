"""The retrieval plan: everything that decides which sources a question brings up, before any is looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arborist.errors import InputError
from arborist.hashing import Domain, hash_json

FTS5 = "fts5"
FTS5_KEYWORDS = "fts5+keywords"

# What canonical JSON can hold.
LARGEST_LIMIT = 2**53 - 1


@dataclass(frozen=True, slots=True)
class ShardId:
    """A shard and the root it was searched at."""

    shard: str
    root: str


@dataclass(frozen=True, slots=True)
class Filters:
    """Which sources and source types may be searched; empty means all."""

    sources: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()

    def canonical(self) -> dict[str, list[str]]:
        return {"sources": sorted(set(self.sources)), "source_types": sorted(set(self.source_types))}


@dataclass(frozen=True, slots=True)
class RetrievalPlan:
    """How a question is searched for (`provenance.md`, Identity of a run; Appendix A.10 of the audit-gap seed).

    The order of `retrieval_keywords` counts. `top_k` chunks are wanted, `over_fetch` candidates are taken from
    each source however it is sharded, `max_context_chars` bounds what is put before the model.
    """

    question_hash: str
    retrieval_keywords: tuple[str, ...]
    retrieval_mode: str
    top_k: int
    over_fetch: int
    max_context_chars: int
    filters: Filters
    shard_ids: tuple[ShardId, ...]
    ranking_policy_hash: str

    def __post_init__(self) -> None:
        for name in ("top_k", "over_fetch", "max_context_chars"):
            limit = getattr(self, name)
            if not isinstance(limit, int) or not 1 <= limit <= LARGEST_LIMIT:
                raise InputError(f"{name} is {limit}: it must be a whole number from 1 to {LARGEST_LIMIT}")

    def canonical(self) -> dict[str, Any]:
        return {
            "question_hash": self.question_hash,
            "retrieval_keywords": list(self.retrieval_keywords),
            "retrieval_mode": self.retrieval_mode,
            "top_k": self.top_k,
            "over_fetch": self.over_fetch,
            "max_context_chars": self.max_context_chars,
            "filters": self.filters.canonical(),
            "shard_ids": [[item.shard, item.root] for item in self.shard_ids],
            "ranking_policy_hash": self.ranking_policy_hash,
        }

    @classmethod
    def from_canonical(cls, value: Mapping[str, Any]) -> "RetrievalPlan":
        """Inverse of `canonical`. Raises InputError for a value of another shape."""
        try:
            return cls(
                question_hash=value["question_hash"],
                retrieval_keywords=tuple(value["retrieval_keywords"]),
                retrieval_mode=value["retrieval_mode"],
                top_k=value["top_k"],
                over_fetch=value["over_fetch"],
                max_context_chars=value["max_context_chars"],
                filters=Filters(tuple(value["filters"]["sources"]), tuple(value["filters"]["source_types"])),
                shard_ids=tuple(ShardId(shard, root) for shard, root in value["shard_ids"]),
                ranking_policy_hash=value["ranking_policy_hash"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("not a stored retrieval plan: a field is missing or of another shape") from error

    def digest(self) -> str:
        """`retrieval_plan_hash`."""
        return hash_json(Domain.RETRIEVAL_PLAN, self.canonical())


@dataclass(frozen=True, slots=True)
class Frame:
    """Which retrieval mode was chosen, and why: the clause before the plan (Appendix A.6)."""

    retrieval_mode: str
    reason: str

    @classmethod
    def choose(cls, keywords: Sequence[str]) -> "Frame":
        if keywords:
            return cls(FTS5_KEYWORDS, "the operator gave keywords")
        return cls(FTS5, "no keywords were given")

    def canonical(self) -> dict[str, Any]:
        return {"retrieval_mode": self.retrieval_mode, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class RetrievedSource:
    """One chunk that retrieval brought up, with all that later steps need of it.

    `score` is higher for better. `uri`, `title` and `text` are for reading; the digests are what is bound.
    """

    shard: str
    document_root: str
    chunk_index: int
    leaf_hash: str
    role: str
    score: float
    uri: str
    title: str
    text: str
    chunking_version: str

    def summary(self) -> dict[str, Any]:
        """What `sources_summary` binds; the score as text that reads back to the same double."""
        return {
            "document_root": self.document_root,
            "chunk_index": self.chunk_index,
            "leaf_hash": self.leaf_hash,
            "source_role": self.role,
            "score": repr(self.score),
        }


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """What the plan brought up, best first, and the context that was made of it."""

    sources: tuple[RetrievedSource, ...]
    context_root: str = field(default="")

    @property
    def sources_summary(self) -> list[dict[str, Any]]:
        return [source.summary() for source in self.sources]

    def canonical(self) -> dict[str, Any]:
        return {"sources_summary": self.sources_summary, "context_root": self.context_root}

    def digest(self) -> str:
        """`retrieval_result_hash`."""
        return hash_json(Domain.RETRIEVAL_RESULT, self.canonical())
