"""The providence record: what is kept of a run, as its row in the ledger (`provenance.md`, Records)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arborist.answering.run_dag import RunDag, cache_key
from arborist.corpus.snapshot import CorpusSnapshot
from arborist.errors import InputError
from arborist.hashing import Domain, canonical_json, hash_json
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import SELF_REFERENCE, ProvenancePolicy
from arborist.providence.schema import BLOBS, BOUND_COLUMNS
from arborist.retrieval.context import Evidence
from arborist.retrieval.promoted import promoted_cache_key

LIVE = "live"
FALSIFICATION_STATES = (LIVE, "failed", "stale", "quarantined")


@dataclass(frozen=True, slots=True)
class RecordSource:
    """A document that a record's context was made of."""

    document_root: str
    uri: str
    role: str


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A promoted answer that a record cites: the document as it was cited, and the cache key in its uri."""

    document_root: str
    cache_key: str


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A run that is about to be recorded.

    `dag` has all its payloads. `retrieval_keywords` are those that the run was given. `sources` are the documents
    of its context, each once. Raises InputError where a payload is missing.
    """

    dag: RunDag
    cache_key: str
    retrieval_keywords: tuple[str, ...]
    sources: tuple[RecordSource, ...]
    policy: ProvenancePolicy

    def __post_init__(self) -> None:
        if len(self.dag.payloads()) != len(self.dag.nodes):
            raise InputError("a run is recorded with the payloads of all its stages")

    @classmethod
    def of_run(
        cls,
        dag: RunDag,
        cache_key: str,
        evidence: Sequence[Evidence],
        retrieval_keywords: Sequence[str],
        policy: ProvenancePolicy,
    ) -> "NewRecord":
        """The record of a run whose context was `evidence`."""
        sources = {item.document_root: RecordSource(item.document_root, item.uri, item.role) for item in evidence}
        return cls(dag, cache_key, tuple(retrieval_keywords), tuple(sources.values()), policy)

    @property
    def ancestors(self) -> tuple[Ancestor, ...]:
        """The promoted answers that it cites."""
        return cited_ancestors(self.dag, self.sources)

    @property
    def kept_keywords(self) -> tuple[str, ...] | None:
        """The keywords as the policy lets them be written down; None for not at all."""
        return self.retrieval_keywords if self.policy.store_keywords_on_record else None

    @property
    def withheld_stages(self) -> tuple[str, ...]:
        """The stages whose payloads are kept nowhere, because they hold keywords that are not to be kept."""
        if self.policy.store_keywords_on_record or not self.retrieval_keywords:
            return ()
        stages = ["retrieval_plan"] if self._bound_keywords() else []
        if self._keywords_are_prompted():
            stages.append("prompt")
        return tuple(stages)

    def _bound_keywords(self) -> Sequence[str]:
        payload = self.dag.payloads().get("retrieval_plan")
        return payload["retrieval_keywords"] if payload else ()

    def _keywords_are_prompted(self) -> bool:
        policy = self.dag.node("prompt").payload["governance_policy"]
        return bool(policy.get("show_keywords_to_model", False))

    def columns(self, record_id: int, created_at: str) -> dict[str, Any]:
        """The row, by `BOUND_COLUMNS`."""
        payloads = self.dag.payloads()
        kept = {stage: payload for stage, payload in payloads.items() if stage not in self.withheld_stages}
        hidden = self.policy.dag_privacy == "hashes"
        dag = self.dag.without_payloads()
        plan = payloads.get("retrieval_plan", {})
        values = {
            "record_id": record_id,
            "cache_key": self.cache_key,
            "created_at": created_at,
            "question": payloads["question"]["question"],
            "answer": payloads["answer"]["answer"]["text"],
            "claims": canonical_json(payloads["verify"]["claims"]).decode(),
            "audit_mode": payloads["final_label"]["audit_mode"],
            "retrieval_keywords": _json_text(self.kept_keywords),
            "retrieval_plan_hash": self.dag.commitment("retrieval_plan_hash"),
            "retrieval_mode": plan.get("retrieval_mode"),
            "ranking_policy_hash": plan.get("ranking_policy_hash"),
            "run_dag_root": self.dag.root,
            "run_dag": (dag if hidden else dag.with_payloads(kept)).blob(),
            "private_payloads": canonical_json(kept) if hidden else None,
        } | self.dag.cache_key_parts()
        return {name: values[name] for name in BOUND_COLUMNS}

    def recorded_payload(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The payload of `answer_recorded`; `columns` are those of this record.

        It names everything the record stands for by digest, and binds the row byte for byte through `row_root`.
        Raises InputError where the cache key is not that of this run.
        """
        names = (*_NAMED_IN_EVENT, "context_root", "question_hash", "retrieval_plan_hash", "ranking_policy_hash")
        named: dict[str, Any] = {name: columns[name] for name in names if columns[name] is not None}
        domain = cache_key_domain(self.cache_key, self.dag, self.retrieval_keywords)
        if domain is None:
            raise InputError(f"{self.cache_key} is not the cache key of this run")
        named |= {name: self.dag.commitment(name) for name in ("answer_hash", "claims_hash")}
        if "shard_ids" in (plan := self.dag.payloads().get("retrieval_plan", {})):
            named["snapshot_root"] = snapshot_root(plan["shard_ids"])
        return named | {
            "cache_key_domain": domain,
            "row_root": row_root(columns, self.sources),
            "withheld_stages": list(self.withheld_stages),
        }


_NAMED_IN_EVENT = ("record_id", "cache_key", "created_at", "audit_mode", "run_dag_root")


@dataclass(frozen=True, slots=True)
class ProvidenceRecord:
    """A record as it is stored: one row of `providence_records`, named as its columns are.

    `claims` and `retrieval_keywords` are canonical JSON; times are ISO 8601 in UTC (`arborist.clock.iso_time`).
    `retired_at` is None while the record may answer a question again.
    """

    record_id: int
    cache_key: str
    created_at: str
    question: str
    answer: str
    claims: str
    audit_mode: str
    question_hash: str
    conversation_hash: str
    context_root: str
    prompt_hash: str
    model_identity: str
    governance_policy_hash: str
    verifier_policy_hash: str
    chunking_version: str
    retrieval_keywords: str | None
    retrieval_plan_hash: str | None
    retrieval_mode: str | None
    ranking_policy_hash: str | None
    run_dag_root: str
    run_dag: bytes
    private_payloads: bytes | None
    falsification_state: str
    retired_at: str | None

    @property
    def dag(self) -> RunDag:
        """The run DAG with the payloads that are kept. Raises InputError where it cannot be read."""
        dag = RunDag.from_blob(self.run_dag)
        if self.private_payloads is None:
            return dag
        try:
            return dag.with_payloads(json.loads(self.private_payloads))
        except (ValueError, AttributeError, RecursionError) as error:
            raise InputError(f"record {self.record_id}: its private payloads cannot be read") from error

    def to_json(self) -> dict[str, Any]:
        """The record without its DAG, under the names that the specs use."""
        shown = {name: getattr(self, name) for name in self.__slots__ if name not in BLOBS}
        keywords = None if self.retrieval_keywords is None else json.loads(self.retrieval_keywords)
        return shown | {"claims": json.loads(self.claims), "retrieval_keywords": keywords}


def cited_items(dag: RunDag) -> list[dict[str, str]]:
    """The items of the context that a claim cites, in their order there; `dag` has those two payloads."""
    payloads = dag.payloads()
    items = payloads["context"]["items"]
    cited = {number for claim in payloads["verify"]["claims"] for number in claim["citations"]}
    return [item for number, item in enumerate(items, start=1) if number in cited]


def cited_ancestors(dag: RunDag, sources: Sequence[RecordSource]) -> tuple[Ancestor, ...]:
    """The promoted answers that a claim cites, each document once: what has that role or such a uri.

    What stood in the context and is not cited is no ancestor: the verdict does not rest on it.
    """
    uris = {source.document_root: source.uri for source in sources}
    found = {}
    for item in cited_items(dag):
        root = item["document_root"]
        key = promoted_cache_key(uris.get(root, ""))
        if key is not None or item["role"] == SELF_REFERENCE:
            found[root] = Ancestor(root, key or "")
    return tuple(found[root] for root in sorted(found))


def row_root(columns: Mapping[str, Any], sources: Sequence[RecordSource]) -> str:
    """Merkle root, in hex, over a row as it is stored: its text columns with its sources, its two blobs.

    A column that is null is left out, so that a column of a later version leaves older rows what they were.
    """
    bound = {name: columns[name] for name in BOUND_COLUMNS if name not in BLOBS and columns[name] is not None}
    rows = sorted([source.document_root, source.uri, source.role] for source in sources)
    leaves = [canonical_json(bound | {"sources": rows}), *(columns[name] or b"" for name in BLOBS)]
    return tree_root([leaf_hash(leaf) for leaf in leaves]).hex()


def snapshot_root(shard_ids: Sequence[Sequence[str]]) -> str:
    """Root, in hex, of the snapshot that a plan searched: a leaf `[shard, root]` each, in the plan's order."""
    return CorpusSnapshot(tuple((shard, root) for shard, root in shard_ids)).root


def cache_key_domain(key: str, dag: RunDag, keywords: Sequence[str] | None) -> str | None:
    """Which kind of cache key `key` is of that run with these keywords; None where it is none of them."""
    parts = dag.cache_key_parts()
    if key == cache_key(parts):
        return Domain.CACHE_KEY.value
    plans = (dag.commitment("retrieval_plan_hash"), keyed_plan_hash(dag, keywords))
    if any(plan is not None and key == cache_key(parts, retrieval_plan_hash=plan) for plan in plans):
        return Domain.CACHE_KEY_STRICT.value
    if keywords is not None and key == cache_key(parts, retrieval_keywords=keywords):
        return Domain.CACHE_KEY_KEYWORDS.value
    return None


def keyed_plan_hash(dag: RunDag, keywords: Sequence[str] | None) -> str | None:
    """The hash of the plan with these keywords, which a policy may keep out of the plan that the DAG binds.

    It is what a strict cache key is made of. None where the plan or the keywords are not known.
    """
    plan = dag.payloads().get("retrieval_plan")
    if plan is None or keywords is None:
        return None
    return hash_json(Domain.RETRIEVAL_PLAN, plan | {"retrieval_keywords": list(keywords)})


def _json_text(value: Sequence[str] | None) -> str | None:
    return None if value is None else canonical_json(list(value)).decode()
