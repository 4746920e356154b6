"""The run DAG: every part of a run as a node, and one root over them (`provenance.md`, Run DAG).

A node has a *payload* (the part itself), a *commitment* (the digests that stand for it), the digest of that
commitment, and a stage hash over digest and parents. The stored form may leave payloads out; what is hashed
is always the commitment, so the root is the same with and without them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arborist.answering.model import Claim, Message, ModelAnswer, ModelIdentity
from arborist.errors import InputError
from arborist.hashing import Domain, canonical_json, hash_json, normalized_question, question_hash
from arborist.merkle import leaf_hash, tree_root
from arborist.retrieval.context import context_root
from arborist.retrieval.plan import Frame, RetrievalPlan

PARENTS: Mapping[str, tuple[str, ...]] = {
    "question": (),
    "frame": ("question",),
    "retrieval_plan": ("question", "frame"),
    "retrieval_result": ("retrieval_plan",),
    "context": ("retrieval_result",),
    "prompt": ("question", "context"),
    "answer": ("prompt",),
    "verify": ("answer", "context"),
    "final_label": ("verify",),
}
STAGES = tuple(PARENTS)
RUN_STAGES = STAGES[: STAGES.index("answer")]
ANSWER_STAGES = STAGES[STAGES.index("answer") :]

CACHE_KEY_PARTS = (
    "question_hash",
    "conversation_hash",
    "context_root",
    "prompt_hash",
    "model_identity",
    "governance_policy_hash",
    "verifier_policy_hash",
    "chunking_version",
)


@dataclass(frozen=True, slots=True)
class Node:
    """One stage of a run. `payload` is None where the stored form leaves it out."""

    stage: str
    parents: tuple[str, ...]
    commitment: Mapping[str, str]
    payload_digest: str
    stage_hash: str
    payload: Any = None

    def canonical(self) -> dict[str, Any]:
        value = {
            "stage": self.stage,
            "parents": list(self.parents),
            "commitment": dict(self.commitment),
            "payload_digest": self.payload_digest,
            "stage_hash": self.stage_hash,
        }
        return value if self.payload is None else value | {"payload": self.payload}


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of a stored DAG that does not recompute: the stage, and what is wrong with it."""

    stage: str
    problem: str


@dataclass(frozen=True, slots=True)
class RunDag:
    """The nodes of a run in the order of `STAGES`; a run without a known plan has no frame and no plan."""

    nodes: tuple[Node, ...]

    @property
    def root(self) -> str:
        """`run_dag_root`: Merkle root over the stage hashes in order, in hex."""
        return tree_root([leaf_hash(bytes.fromhex(node.stage_hash)) for node in self.nodes]).hex()

    def node(self, stage: str) -> Node:
        for node in self.nodes:
            if node.stage == stage:
                return node
        raise InputError(f"this run has no stage {stage!r}")

    def commitment(self, name: str) -> str | None:
        """The digest or label of that name, wherever in the DAG it is committed; None where it is not."""
        for node in self.nodes:
            if name in node.commitment:
                return node.commitment[name]
        return None

    def cache_key_parts(self) -> dict[str, str | None]:
        """The eight parts of the cache key, all of which the DAG commits."""
        return {name: self.commitment(name) for name in CACHE_KEY_PARTS}

    def without_payloads(self) -> "RunDag":
        return RunDag(tuple(replace(node, payload=None) for node in self.nodes))

    def with_payloads(self, payloads: Mapping[str, Any]) -> "RunDag":
        """The same DAG with payloads put back by stage, where it has none itself."""
        return RunDag(
            tuple(
                node if node.payload is not None else replace(node, payload=payloads.get(node.stage))
                for node in self.nodes
            )
        )

    def payloads(self) -> dict[str, Any]:
        return {node.stage: node.payload for node in self.nodes if node.payload is not None}

    def blob(self) -> bytes:
        """The stored form, canonical JSON."""
        return canonical_json({"nodes": [node.canonical() for node in self.nodes]})

    @classmethod
    def from_blob(cls, blob: bytes) -> "RunDag":
        """Inverse of `blob`. Raises InputError for what is not a stored DAG; digests are not checked here."""
        try:
            nodes = json.loads(blob)["nodes"]
            return cls(
                tuple(
                    Node(
                        stage=str(item["stage"]),
                        parents=tuple(map(str, item["parents"])),
                        commitment={str(key): str(value) for key, value in item["commitment"].items()},
                        payload_digest=str(item["payload_digest"]),
                        stage_hash=bytes.fromhex(item["stage_hash"]).hex(),
                        payload=item.get("payload"),
                    )
                    for item in nodes
                )
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError("not a stored run DAG: it cannot be read as one") from error

    def faults(self) -> list[Fault]:
        """What does not recompute, from payload to commitment to payload digest to stage hash."""
        found: list[Fault] = []
        stages = tuple(node.stage for node in self.nodes)
        if stages not in (STAGES, WITHOUT_PLAN):
            return [Fault("run", "its stages are not those of a run")]
        hashes = {node.stage: node.stage_hash for node in self.nodes}
        for node in self.nodes:
            found += _node_faults(node, hashes)
        found += _cross_faults(self)
        return found


WITHOUT_PLAN = tuple(stage for stage in STAGES if stage not in ("frame", "retrieval_plan"))


def _parents(stage: str, stages: Sequence[str]) -> tuple[str, ...]:
    """The parents of a stage in a run that has `stages`; a stage left out hands on its own parents."""
    parents: list[str] = []
    for parent in PARENTS[stage]:
        for item in (parent,) if parent in stages else _parents(parent, stages):
            if item not in parents:
                parents.append(item)
    return tuple(parents)


def _payload_digest(stage: str, commitment: Mapping[str, str]) -> str:
    return hash_json(Domain.RUN_COMMITMENT, {"stage": stage, "commitment": dict(commitment)})


def _stage_hash(stage: str, payload_digest: str, parent_hashes: Sequence[str]) -> str:
    return hash_json(
        Domain.RUN_STAGE, {"stage": stage, "payload_digest": payload_digest, "parents": list(parent_hashes)}
    )


def conversation_hash(conversation: Sequence[Any]) -> str:
    """Identity of the earlier turns handed to the model; the empty list is one."""
    return hash_json(Domain.CONVERSATION, list(conversation))


def prompt_hash(messages: Sequence[Message]) -> str:
    """Identity of the messages as they are sent."""
    return hash_json(Domain.PROMPT, [message.canonical() for message in messages])


def _question_commitment(payload: Any) -> dict[str, str]:
    return {
        "question_hash": question_hash(payload["question"]),
        "conversation_hash": conversation_hash(payload["conversation"]),
    }


def _result_commitment(payload: Any) -> dict[str, str]:
    if "retrieval_plan_hash" not in payload:
        return {"sources_summary_hash": hash_json(Domain.SOURCES_SUMMARY, payload["sources_summary"])}
    result = {"sources_summary": payload["sources_summary"], "context_root": payload["context_root"]}
    parts = {
        "question_hash": payload["question_hash"],
        "retrieval_plan_hash": payload["retrieval_plan_hash"],
        "retrieval_result_hash": hash_json(Domain.RETRIEVAL_RESULT, result),
    }
    stage = {"retrieval_stage_hash": hash_json(Domain.RETRIEVAL_STAGE, parts)}
    summary = {"sources_summary_hash": hash_json(Domain.SOURCES_SUMMARY, payload["sources_summary"])}
    return parts | stage | summary


def _context_commitment(payload: Any) -> dict[str, str]:
    return {"context_root": context_root(payload["items"]), "chunking_version": payload["chunking_version"]}


def _prompt_commitment(payload: Any) -> dict[str, str]:
    return {
        "prompt_hash": hash_json(Domain.PROMPT, payload["messages"]),
        "governance_policy_hash": hash_json(Domain.GOVERNANCE_POLICY, payload["governance_policy"]),
    }


def _answer_commitment(payload: Any) -> dict[str, str]:
    return {
        "answer_hash": hash_json(Domain.ANSWER, payload["answer"]),
        "model_identity": hash_json(Domain.MODEL_IDENTITY, payload["model"]),
    }


def _verify_commitment(payload: Any) -> dict[str, str]:
    return {
        "claims_hash": hash_json(Domain.CLAIMS, payload["claims"]),
        "verifier_policy_hash": hash_json(Domain.VERIFIER_POLICY, payload["verifier_policy"]),
    }


_COMMITMENTS: Mapping[str, Callable[[Any], dict[str, str]]] = {
    "question": _question_commitment,
    "frame": lambda payload: {"frame_hash": hash_json(Domain.FRAME, payload)},
    "retrieval_plan": lambda payload: {"retrieval_plan_hash": hash_json(Domain.RETRIEVAL_PLAN, payload)},
    "retrieval_result": _result_commitment,
    "context": _context_commitment,
    "prompt": _prompt_commitment,
    "answer": _answer_commitment,
    "verify": _verify_commitment,
    "final_label": lambda payload: {"final_label_hash": hash_json(Domain.FINAL_LABEL, payload)},
}


def _node_faults(node: Node, hashes: Mapping[str, str]) -> list[Fault]:
    found = []
    if node.payload is not None:
        try:
            recomputed = _COMMITMENTS[node.stage](node.payload)
        except (KeyError, TypeError, AttributeError, InputError):
            recomputed = None
        if recomputed != dict(node.commitment):
            found.append(Fault(node.stage, "its payload does not give its commitment"))
    if node.parents != _parents(node.stage, tuple(hashes)):
        found.append(Fault(node.stage, "its parents are not those of its stage"))
    if node.payload_digest != _payload_digest(node.stage, node.commitment):
        found.append(Fault(node.stage, "its commitment does not give its payload digest"))
    parents = [hashes.get(parent, "") for parent in node.parents]
    if node.stage_hash != _stage_hash(node.stage, node.payload_digest, parents):
        found.append(Fault(node.stage, "its payload digest and parents do not give its stage hash"))
    return found


def _cross_faults(dag: RunDag) -> list[Fault]:
    """A digest that several stages commit must be one digest."""
    found = []
    for name in ("question_hash", "retrieval_plan_hash", "context_root"):
        values = {node.commitment[name] for node in dag.nodes if name in node.commitment}
        values |= {
            node.payload[name] for node in dag.nodes if node.stage == "retrieval_result" and _holds(node, name)
        }
        if len(values) > 1:
            found.append(Fault("retrieval_result", f"{name} differs between stages"))
    return found


def _holds(node: Node, name: str) -> bool:
    return isinstance(node.payload, dict) and isinstance(node.payload.get(name), str)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The parts of a run up to its prompt: what is new also when the answer comes from the cache.

    `messages` are those that `prompt_hash` identifies. A run from before plans were bound has neither frame
    nor plan.
    """

    question: str
    conversation: tuple[Mapping[str, Any], ...]
    frame: Frame | None
    plan: RetrievalPlan | None
    sources_summary: Sequence[Mapping[str, Any]]
    context_items: Sequence[Mapping[str, str]]
    chunking_version: str
    messages: tuple[Message, ...]
    governance_policy: Mapping[str, Any]

    def payloads(self) -> dict[str, Any]:
        root = context_root([dict(item) for item in self.context_items])
        result: dict[str, Any] = {
            "sources_summary": [dict(item) for item in self.sources_summary],
            "context_root": root,
        }
        payloads: dict[str, Any] = {
            "question": {
                "question": normalized_question(self.question),
                "conversation": [dict(turn) for turn in self.conversation],
            }
        }
        if self.frame is not None and self.plan is not None:
            payloads["frame"] = self.frame.canonical()
            payloads["retrieval_plan"] = self.plan.canonical()
            result |= {"question_hash": self.plan.question_hash, "retrieval_plan_hash": self.plan.digest()}
        return payloads | {
            "retrieval_result": result,
            "context": {
                "items": [dict(item) for item in self.context_items],
                "chunking_version": self.chunking_version,
            },
            "prompt": {
                "messages": [message.canonical() for message in self.messages],
                "governance_policy": dict(self.governance_policy),
            },
        }


@dataclass(frozen=True, slots=True)
class Answered:
    """The parts of a run from its answer on."""

    answer: ModelAnswer
    model: ModelIdentity
    claims: tuple[Claim, ...]
    verifier_policy: Mapping[str, Any]
    audit_mode: str

    def payloads(self) -> dict[str, Any]:
        return {
            "answer": {
                "answer": {"text": self.answer.text, "abstained": self.answer.abstained},
                "model": self.model.canonical(),
            },
            "verify": {
                "claims": [claim.canonical() for claim in self.claims],
                "verifier_policy": dict(self.verifier_policy),
            },
            "final_label": {"audit_mode": self.audit_mode},
        }


def _nodes(payloads: Mapping[str, Any], before: Sequence[Node] = ()) -> tuple[Node, ...]:
    nodes = list(before)
    stages = [node.stage for node in before] + list(payloads)
    for stage, payload in payloads.items():
        hashes = {node.stage: node.stage_hash for node in nodes}
        parents = _parents(stage, stages)
        commitment = _COMMITMENTS[stage](payload)
        digest = _payload_digest(stage, commitment)
        stage_hash = _stage_hash(stage, digest, [hashes[parent] for parent in parents])
        nodes.append(Node(stage, parents, commitment, digest, stage_hash, payload))
    return tuple(nodes)


def retrieval_nodes(retrieval: Retrieval) -> tuple[Node, ...]:
    """The nodes from the question to the prompt."""
    return _nodes(retrieval.payloads())


def run_dag(retrieval: Sequence[Node], answered: Answered) -> RunDag:
    """The whole DAG of a run whose answer is new."""
    return RunDag(_nodes(answered.payloads(), before=retrieval))


def run_dag_on_hit(retrieval: Sequence[Node], record: RunDag) -> RunDag:
    """The DAG of a run that was answered from the cache: its own nodes up to the prompt, then the record's."""
    return RunDag((*retrieval, *(record.node(stage) for stage in ANSWER_STAGES)))


def cache_key(
    parts: Mapping[str, str | None],
    *,
    retrieval_keywords: Sequence[str] | None = None,
    retrieval_plan_hash: str | None = None,
) -> str:
    """The cache key of exactly eight parts.

    A policy may bind more: the plan (the strict mode, `cache-key-v2`), or the keywords alone. Each has a domain of
    its own; the plan holds the keywords, so given both the plan is bound.
    """
    if set(parts) != set(CACHE_KEY_PARTS) or None in parts.values():
        raise InputError(f"a cache key is made of exactly {', '.join(CACHE_KEY_PARTS)}")
    if retrieval_plan_hash is not None:
        return hash_json(Domain.CACHE_KEY_STRICT, {**parts, "retrieval_plan_hash": retrieval_plan_hash})
    if retrieval_keywords is not None:
        return hash_json(Domain.CACHE_KEY_KEYWORDS, {**parts, "retrieval_keywords": list(retrieval_keywords)})
    return hash_json(Domain.CACHE_KEY, dict(parts))
