"""Verifies a proof bundle written by `arborist prove`, on the standard library and `cryptography` alone.

Stands alone on purpose: it imports nothing else of the project, so that an auditor can read it whole, copy the
file and run it where nothing of the project is installed: `python bundle_verifier.py FILE [--public-key KEY]`.
What it recomputes is laid down in `provenance.md` (digests, run DAG), RFC 9162 section 2.1 (trees), RFC 8785
(canonical JSON) and c2sp.org/signed-note. What is in a bundle is bound by the checkpoint's signature, or refused.
"""

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT = "arborist-proof-v1"
LARGEST_BUNDLE = 64 * 1024 * 1024
VALID, REFUSED, UNREADABLE = 0, 4, 2
"""Exit codes: the bundle holds, it does not hold or is not understood, there is no file to look at."""

SELF_REFERENCE = "self_reference_source"
PROMOTED_URIS = ("arborist://providence/", "aborist://providence/")

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
PARENTS_WITHOUT_PLAN = {stage: PARENTS[stage] for stage in PARENTS if stage not in ("frame", "retrieval_plan")} | {
    "retrieval_result": ("question",)
}
SHOWN_STAGES = ("question", "answer", "verify", "final_label")
"""The stages without whose payloads a bundle would say nothing to a reader."""

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
_HEX = re.compile(r"[0-9a-f]{64}")
_STEP = re.compile(r"[LR][0-9a-f]{64}")
_KEY_NAME = re.compile(r"[^\s+]+")
_LARGEST_INTEGER = 2**53 - 1


class BundleError(Exception):
    """The bundle does not hold, or is not understood; the text says where and why."""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """What a bundle that holds proves. `records` counts the record and all that it leans on."""

    question: str
    answer: str
    audit_mode: str
    cache_key: str
    run_dag_root: str
    recorded_at: str
    records: int
    evidence: int
    origin: str
    events: int
    public_key: str


def verify_bundle(data: bytes, public_key: str | None = None) -> BundleReport:
    """What the bundle proves.

    `public_key` is the key that is trusted to have signed the checkpoint, `name+key id+base64`; without it the
    bundle's own word is taken for whose ledger this is. Raises BundleError for a bundle that does not hold, is not
    in canonical form, or has anything in it that is not understood.
    """
    try:
        return _report(_parsed(data), public_key)
    except RecursionError:
        raise BundleError("bundle: nested too deeply") from None


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value. Raises BundleError for what has none."""
    parts: list[str] = []
    _write(value, parts)
    try:
        return "".join(parts).encode("utf-8")
    except UnicodeEncodeError:
        raise BundleError("bundle: text with a lone surrogate") from None


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(encode_basestring(value))
    elif isinstance(value, dict):
        _write_object(value, parts)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            parts.append("," if index else "[")
            _write(item, parts)
        parts.append("]" if value else "[]")
    else:
        parts.append(_scalar(value))


def _write_object(value: dict[Any, Any], parts: list[str]) -> None:
    if not all(isinstance(key, str) for key in value):
        raise BundleError("bundle: a key that is not text")
    # RFC 8785 section 3.2.3 sorts keys by their UTF-16 code units.
    for index, key in enumerate(sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))):
        parts.append("," if index else "{")
        parts.append(encode_basestring(key) + ":")
        _write(value[key], parts)
    parts.append("}" if value else "{}")


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) <= _LARGEST_INTEGER:
        return str(value)
    if isinstance(value, float) and abs(value) < float("inf"):
        return _number(value)
    raise BundleError("bundle: a value that canonical JSON does not have")


def _number(value: float) -> str:
    """ECMAScript's Number::toString, which RFC 8785 section 3.2.2.3 takes over."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    significant = (whole + fraction).lstrip("0")
    point = len(significant) - len(fraction) + int(exponent or "0")
    digits = significant.rstrip("0")
    size = len(digits)
    if size <= point <= 21:
        return sign + digits + "0" * (point - size)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = "." + digits[1:] if size > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _parsed(data: bytes) -> Any:
    if len(data) > LARGEST_BUNDLE:
        raise BundleError(f"bundle: larger than {LARGEST_BUNDLE} bytes")
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except ValueError:
        raise BundleError("bundle: not JSON, or not UTF-8") from None
    if canonical_json(value) != data:
        raise BundleError("bundle: not in its canonical form")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _digest(domain: str, value: Any) -> str:
    return hashlib.sha256(domain.encode("ascii") + b"\x00" + canonical_json(value)).hexdigest()


def _leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _root(leaves: Sequence[bytes]) -> bytes:
    """RFC 9162 section 2.1.1."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return _node(_root(leaves[:split]), _root(leaves[split:]))


def _climbed(leaf: bytes, steps: Sequence[str]) -> bytes:
    """The root that a path leads to; a step is the side the sibling stands on, L or R, and its hash."""
    for step in steps:
        sibling = bytes.fromhex(step[1:])
        leaf = _node(sibling, leaf) if step[0] == "L" else _node(leaf, sibling)
    return leaf


def _is_included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """RFC 9162 section 2.1.3.2."""
    node, last, current = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if node & 1 or node == last:
            current = _node(sibling, current)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            current = _node(current, sibling)
        node, last = node >> 1, last >> 1
    return last == 0 and current == root


def _require(holds: object, where: str, problem: str) -> None:
    if not holds:
        raise BundleError(f"{where}: {problem}")


def _object(value: Any, where: str, keys: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    _require(isinstance(value, dict), where, "not an object")
    missing, unknown = set(keys) - value.keys(), value.keys() - {*keys, *optional}
    _require(not missing, where, f"{', '.join(sorted(missing))} is missing")
    _require(not unknown, where, f"{', '.join(sorted(unknown))} is not understood")
    checked: dict[str, Any] = value
    return checked


def _list(value: Any, where: str) -> list[Any]:
    _require(isinstance(value, list), where, "not a list")
    checked: list[Any] = value
    return checked


def _text(value: Any, where: str) -> str:
    _require(isinstance(value, str), where, "not text")
    return str(value)


def _hash(value: Any, where: str) -> str:
    _require(isinstance(value, str) and _HEX.fullmatch(value) is not None, where, "not a digest")
    return str(value)


def _steps(value: Any, where: str) -> list[str]:
    steps = _list(value, where)
    sound = all(isinstance(step, str) and _STEP.fullmatch(step) for step in steps)
    _require(sound and len(steps) <= 64, where, "not a path")
    return steps


def _base64(text: str, where: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BundleError(f"{where}: not base64") from None
    _require(base64.b64encode(data).decode() == text, where, "not base64 in its one form")
    return data


@dataclass(frozen=True, slots=True)
class _Log:
    """The checkpoint's word: the log's name, size and root, signed by the key."""

    origin: str
    size: int
    root: bytes
    public_key: str

    @classmethod
    def of(cls, note: str, public_key: str) -> "_Log":
        where = "checkpoint"
        text, _, signatures = note.rpartition("\n\n")
        text += "\n"
        lines = text.split("\n")
        _require(len(lines) == 4 and lines[3] == "", where, "not origin, size and root")
        origin, size, root = lines[:3]
        _require(re.fullmatch(r"[1-9][0-9]{0,15}", size) is not None, where, "its size is not a number")
        name, key = _public_key(public_key)
        _require(name == origin, where, "the key is another log's")
        signature = re.fullmatch(r"— (\S+) (\S+)\n", signatures)
        _require(signature is not None and signature[1] == name, where, "not signed once, by the log's own key")
        assert signature is not None
        data = _base64(signature[2], where)
        _require(data[:4] == _key_id(name, key), where, "signed by another key")
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(data[4:], text.encode("utf-8"))
        except (InvalidSignature, ValueError):
            raise BundleError("checkpoint: the signature does not hold") from None
        return cls(origin, int(size), _base64(root, where), public_key)


def _key_id(name: str, key: bytes) -> bytes:
    return hashlib.sha256(name.encode("utf-8") + b"\n\x01" + key).digest()[:4]


def _public_key(text: str) -> tuple[str, bytes]:
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    data = _base64(encoded, "public key")
    sound = _KEY_NAME.fullmatch(name) is not None and len(data) == 33 and data[0] == 1
    _require(sound and _key_id(name, data[1:]).hex() == key_id, "public key", "not name+key id+base64")
    return name, data[1:]


def _report(value: Any, public_key: str | None) -> BundleReport:
    bundle = _object(value, "bundle", ["format", "run_dag_root", "records", "checkpoint", "public_key"])
    _require(bundle["format"] == FORMAT, "bundle", f"its format is not {FORMAT}")
    own_key = _text(bundle["public_key"], "public key")
    _require(public_key is None or public_key == own_key, "checkpoint", "not signed by the key that is trusted")
    log = _Log.of(_text(bundle["checkpoint"], "checkpoint"), own_key)
    proofs = [
        _record(item, f"record {index}", log) for index, item in enumerate(_list(bundle["records"], "records"))
    ]
    by_root = {proof.run_dag_root: proof for proof in proofs}
    _require(len(by_root) == len(proofs), "records", "one stands twice")
    first = _hash(bundle["run_dag_root"], "bundle")
    _require(first in by_root, "bundle", "the record it is about is not in it")
    _require(_reached(first, by_root) == set(by_root), "records", "one is not leaned on by the record it is about")
    record = by_root[first]
    return BundleReport(
        question=record.question,
        answer=record.answer,
        audit_mode=record.audit_mode,
        cache_key=record.cache_key,
        run_dag_root=first,
        recorded_at=record.recorded_at,
        records=len(proofs),
        evidence=sum(proof.evidence for proof in proofs),
        origin=log.origin,
        events=log.size,
        public_key=own_key,
    )


@dataclass(frozen=True, slots=True)
class _Proof:
    """One record whose proof holds. `leans_on` has cache key and run DAG root of each promoted answer it cites."""

    cache_key: str
    run_dag_root: str
    question: str
    answer: str
    audit_mode: str
    recorded_at: str
    evidence: int
    leans_on: tuple[tuple[str, str], ...]


def _reached(first: str, proofs: Mapping[str, _Proof]) -> set[str]:
    reached, waiting = {first}, [first]
    while waiting:
        for key, root in proofs[waiting.pop()].leans_on:
            _require(
                root in proofs and proofs[root].cache_key == key, f"record {key}", "it is cited, but not proven"
            )
            if root not in reached:
                reached.add(root)
                waiting.append(root)
    return reached


def _record(value: Any, where: str, log: _Log) -> _Proof:
    record = _object(
        value,
        where,
        ["event", "inclusion", "run_dag", "evidence", "documents", "shards"],
        ["retrieval_keywords", "keyed_plan_hash"],
    )
    bound = _event(record["event"], _list(record["inclusion"], where), where, log)
    dag = _dag(record["run_dag"], where)
    commitments = {name: text for node in dag for name, text in node["commitment"].items()}
    root = _root([_leaf(bytes.fromhex(node["stage_hash"])) for node in dag]).hex()
    _require(bound["run_dag_root"] == root, where, "the event is of another run DAG")
    for name in ("question_hash", "context_root", "answer_hash", "claims_hash", "retrieval_plan_hash"):
        _require(bound.get(name) == commitments.get(name), where, f"the event has another {name}")
    _check_cache_key(record, bound, commitments, where)
    payloads = {node["stage"]: node["payload"] for node in dag if "payload" in node}
    mode = payloads["final_label"]["audit_mode"]
    _require(bound["audit_mode"] == mode, where, "the event has another audit_mode")
    evidence = _list(record["evidence"], where)
    _check_claims(payloads["verify"]["claims"], mode, len(evidence), where)
    leans_on = _evidence(record, bound, commitments["context_root"], where)
    return _Proof(
        cache_key=bound["cache_key"],
        run_dag_root=root,
        question=_text(payloads["question"]["question"], where),
        answer=_text(_object(payloads["answer"]["answer"], where, ["text", "abstained"])["text"], where),
        audit_mode=mode,
        recorded_at=_text(bound["created_at"], where),
        evidence=len(evidence),
        leans_on=leans_on,
    )


_BOUND = (
    "record_id",
    "cache_key",
    "created_at",
    "audit_mode",
    "run_dag_root",
    "context_root",
    "question_hash",
    "answer_hash",
    "claims_hash",
    "cache_key_domain",
    "row_root",
    "withheld_stages",
)


def _event(value: Any, inclusion: list[Any], where: str, log: _Log) -> dict[str, Any]:
    """The payload of the `answer_recorded` event, once it is shown to be in the log."""
    event = _object(value, f"{where} event", ["seq", "type", "payload", "time", "previous_hash"])
    where = f"{where} event"
    seq = event["seq"]
    _require(isinstance(seq, int) and 0 < seq <= log.size, where, "not within the log that was signed")
    _require(event["type"] == "answer_recorded", where, "not an answer_recorded event")
    payload = _text(event["payload"], where)
    path = [bytes.fromhex(_hash(item, where)) for item in inclusion]
    leaf = _leaf(bytes.fromhex(_digest("arborist-audit-event-v1", event)))
    _require(
        _is_included(leaf, seq - 1, log.size, path, log.root), where, "not included in the log that was signed"
    )
    try:
        bound = json.loads(payload, object_pairs_hook=_without_duplicates)
    except ValueError:
        raise BundleError(f"{where}: its payload is not JSON") from None
    optional = ("retrieval_plan_hash", "ranking_policy_hash", "snapshot_root")
    return _object(bound, where, _BOUND, optional)


def _dag(value: Any, where: str) -> list[dict[str, Any]]:
    """The nodes, once payloads give commitments, commitments digests, and digests the stage hashes."""
    nodes = _list(_object(value, where, ["nodes"])["nodes"], where)
    keys = ["stage", "parents", "commitment", "payload_digest", "stage_hash"]
    checked = [_object(node, f"{where} run DAG", keys, ["payload"]) for node in nodes]
    stages = [node["stage"] for node in checked]
    parents = PARENTS if stages == list(PARENTS) else PARENTS_WITHOUT_PLAN
    _require(stages == list(parents), where, "its stages are not those of a run")
    hashes: dict[str, str] = {}
    seen: dict[str, str] = {}
    for node in checked:
        place = f"{where} stage {node['stage']}"
        _check_node(node, parents[node["stage"]], hashes, place)
        for name, text in node["commitment"].items():
            _require(seen.setdefault(name, text) == text, place, f"{name} differs between stages")
        hashes[node["stage"]] = node["stage_hash"]
    return checked


def _check_node(node: dict[str, Any], parents: Sequence[str], hashes: Mapping[str, str], where: str) -> None:
    stage, commitment = node["stage"], node["commitment"]
    _require(isinstance(commitment, dict), where, "its commitment is not an object")
    for name, text in commitment.items():
        _require(
            name == "chunking_version" or _HEX.fullmatch(_text(text, where)) is not None, where, "not a digest"
        )
    _require(node["parents"] == list(parents), where, "its parents are not those of its stage")
    _require(stage not in SHOWN_STAGES or "payload" in node, where, "its payload is missing")
    if "payload" in node:
        recomputed = _COMMITMENTS[stage](node["payload"], where)
        _require(recomputed == commitment, where, "its payload does not give its commitment")
    _require(set(commitment) in _COMMITTED[stage], where, "its commitment is not that of its stage")
    digest = _digest("arborist-run-commitment-v1", {"stage": stage, "commitment": commitment})
    _require(node["payload_digest"] == digest, where, "its commitment does not give its payload digest")
    bound = {"stage": stage, "payload_digest": digest, "parents": [hashes[parent] for parent in parents]}
    stage_hash = _digest("arborist-run-stage-v1", bound)
    _require(node["stage_hash"] == stage_hash, where, "its digest and parents do not give its stage hash")


_PLANNED_RESULT = {
    "question_hash",
    "retrieval_plan_hash",
    "retrieval_result_hash",
    "retrieval_stage_hash",
    "sources_summary_hash",
}
_COMMITTED: Mapping[str, tuple[set[str], ...]] = {
    "question": ({"question_hash", "conversation_hash"},),
    "frame": ({"frame_hash"},),
    "retrieval_plan": ({"retrieval_plan_hash"},),
    "retrieval_result": (_PLANNED_RESULT, {"sources_summary_hash"}),
    "context": ({"context_root", "chunking_version"},),
    "prompt": ({"prompt_hash", "governance_policy_hash"},),
    "answer": ({"answer_hash", "model_identity"},),
    "verify": ({"claims_hash", "verifier_policy_hash"},),
    "final_label": ({"final_label_hash"},),
}


def _result_commitment(payload: Any, where: str) -> dict[str, str]:
    planned = ["question_hash", "retrieval_plan_hash"]
    value = _object(payload, where, ["sources_summary", "context_root"], planned)
    summary = _digest("arborist-sources-summary-v1", value["sources_summary"])
    if "retrieval_plan_hash" not in value:
        _require("question_hash" not in value, where, "question_hash is not understood")
        return {"sources_summary_hash": summary}
    result = {"sources_summary": value["sources_summary"], "context_root": value["context_root"]}
    parts = {name: value[name] for name in planned} | {
        "retrieval_result_hash": _digest("arborist-retrieval-result-v1", result)
    }
    stage = _digest("arborist-retrieval-stage-v1", parts)
    return parts | {"retrieval_stage_hash": stage, "sources_summary_hash": summary}


def _context_commitment(payload: Any, where: str) -> dict[str, str]:
    value = _object(payload, where, ["items", "chunking_version"])
    leaves = [_leaf(canonical_json(item)) for item in _list(value["items"], where)]
    return {"context_root": _root(leaves).hex(), "chunking_version": value["chunking_version"]}


def _digests_of(names: Mapping[str, tuple[str, str]]) -> Callable[[Any, str], dict[str, str]]:
    """A commitment that has one digest for each key of the payload: key -> (name of the digest, domain)."""

    def commitment(payload: Any, where: str) -> dict[str, str]:
        value = _object(payload, where, list(names))
        return {name: _digest(domain, value[key]) for key, (name, domain) in names.items()}

    return commitment


_COMMITMENTS: Mapping[str, Callable[[Any, str], dict[str, str]]] = {
    "question": _digests_of(
        {
            "question": ("question_hash", "arborist-question-v1"),
            "conversation": ("conversation_hash", "arborist-conversation-v1"),
        }
    ),
    "frame": lambda payload, where: {"frame_hash": _digest("arborist-frame-v1", payload)},
    "retrieval_plan": lambda payload, where: {
        "retrieval_plan_hash": _digest("arborist-retrieval-plan-v1", payload)
    },
    "retrieval_result": _result_commitment,
    "context": _context_commitment,
    "prompt": _digests_of(
        {
            "messages": ("prompt_hash", "arborist-prompt-v1"),
            "governance_policy": ("governance_policy_hash", "arborist-governance-policy-v1"),
        }
    ),
    "answer": _digests_of(
        {
            "answer": ("answer_hash", "arborist-answer-v1"),
            "model": ("model_identity", "arborist-model-identity-v1"),
        }
    ),
    "verify": _digests_of(
        {
            "claims": ("claims_hash", "arborist-claims-v1"),
            "verifier_policy": ("verifier_policy_hash", "arborist-verifier-policy-v1"),
        }
    ),
    "final_label": lambda payload, where: {
        "final_label_hash": _digest("arborist-final-label-v1", _object(payload, where, ["audit_mode"]))
    },
}


def _check_cache_key(
    record: Mapping[str, Any], bound: Mapping[str, Any], commitments: Mapping[str, str], where: str
) -> None:
    """The cache key is made of the eight parts, and of the plan or the keywords where a policy bound those too."""
    domain = bound["cache_key_domain"]
    parts: dict[str, Any] = {name: commitments[name] for name in CACHE_KEY_PARTS}
    if domain == "arborist-cache-key-v2":
        parts["retrieval_plan_hash"] = record.get("keyed_plan_hash", commitments.get("retrieval_plan_hash"))
    elif domain == "arborist-cache-key-keywords-v1":
        _require("retrieval_keywords" in record, where, "the keywords in its cache key are missing")
        parts["retrieval_keywords"] = record["retrieval_keywords"]
    else:
        _require(domain == "arborist-cache-key-v1", where, f"the cache key's domain {domain!r} is not understood")
    for name, wanted in (
        ("retrieval_keywords", "arborist-cache-key-keywords-v1"),
        ("keyed_plan_hash", "arborist-cache-key-v2"),
    ):
        _require(name not in record or domain == wanted, where, f"{name} is not understood")
    _require(bound["cache_key"] == _digest(domain, parts), where, "cache_key is not made of its parts")


def _check_claims(claims: Any, mode: Any, evidence: int, where: str) -> None:
    """Citations are of evidence that is there, and STRICT is said of supported claims alone."""
    states = []
    for claim in _list(claims, where):
        _require(isinstance(claim, dict), where, "a claim is not an object")
        cited = _list(claim.get("citations"), where)
        sound = all(isinstance(number, int) and 1 <= number <= evidence for number in cited)
        _require(sound, where, "a claim cites evidence that is not there")
        states.append(claim.get("state"))
    _require(mode in ("STRICT", "HYBRID", "UNGROUNDED"), where, "its verdict is not understood")
    supported = [state in ("supported", "entailed") for state in states]
    _require(mode != "STRICT" or (bool(states) and all(supported)), where, "STRICT, but a claim is not supported")


def _evidence(
    record: Mapping[str, Any], bound: Mapping[str, Any], context_root: str, where: str
) -> tuple[tuple[str, str], ...]:
    """What the evidence leans on, once each chunk is shown in its document, shard and snapshot."""
    shards = _shards(record["shards"], bound.get("snapshot_root"), where)
    documents = _documents(record["documents"], shards, where)
    items, used, leans_on = [], set(), []
    for index, value in enumerate(record["evidence"], 1):
        place = f"{where} E{index}"
        chunk = _object(value, place, ["document_root", "role", "text", "path"])
        root = _hash(chunk["document_root"], place)
        _require(root in documents, place, "its document is missing")
        leaf = _leaf(_text(chunk["text"], place).encode("utf-8"))
        reached = _climbed(leaf, _steps(chunk["path"], place)).hex()
        _require(reached == root, place, "its text is not in its document")
        items.append({"leaf_hash": leaf.hex(), "document_root": root, "role": chunk["role"]})
        used.add(root)
        leans_on += _leaning(documents[root], chunk["role"], place)
    _require(used == set(documents), where, "a document that no evidence is from")
    _require({document["shard"] for document in documents.values()} == set(shards), where, "a shard without use")
    found = _root([_leaf(canonical_json(item)) for item in items]).hex()
    _require(found == context_root, where, "the evidence is not the context of the run")
    return tuple(leans_on)


def _leaning(document: Mapping[str, Any], role: Any, where: str) -> list[tuple[str, str]]:
    """Cache key and run DAG root of the record that a promoted document was made of."""
    uri, revision = document["header"]["uri"], document["header"]["source_revision"]
    keys = [uri.removeprefix(prefix) for prefix in PROMOTED_URIS if uri.startswith(prefix)]
    _require(bool(keys) == (role == SELF_REFERENCE), where, "its role and its uri do not agree")
    return [(_hash(key, where), _hash(revision, where)) for key in keys]


def _shards(value: Any, snapshot_root: str | None, where: str) -> dict[str, str]:
    """Root of each shard by name, once it is shown in the snapshot."""
    shards: dict[str, str] = {}
    for item in _list(value, where):
        shard = _object(item, where, ["shard", "root", "path"])
        name, root = _text(shard["shard"], where), _hash(shard["root"], where)
        _require(name not in shards, where, f"shard {name} stands twice")
        reached = _climbed(_leaf(canonical_json([name, root])), _steps(shard["path"], where)).hex()
        _require(reached == snapshot_root, where, f"shard {name} is not in the snapshot that was searched")
        shards[name] = root
    return shards


def _documents(value: Any, shards: Mapping[str, str], where: str) -> dict[str, dict[str, Any]]:
    """Each document by its root, once its header is shown in it and it is shown in its shard."""
    documents: dict[str, dict[str, Any]] = {}
    keys = ["document_root", "header", "header_path", "shard", "shard_path"]
    for item in _list(value, where):
        document = _object(item, where, keys)
        root = _hash(document["document_root"], where)
        place = f"{where} document {root[:16]}"
        _require(root not in documents, place, "it stands twice")
        header = ["uri", "title", "source_type", "source_revision", "chunking_version"]
        for text in (_object(document["header"], place, header, ["aliases"])[name] for name in header):
            _text(text, place)
        steps = _steps(document["header_path"], place)
        # The header is the first leaf, so that every sibling on its way stands to the right.
        _require(all(step[0] == "R" for step in steps), place, "its header is not its first leaf")
        reached = _climbed(_leaf(canonical_json(document["header"])), steps).hex()
        _require(reached == root, place, "its header is not in it")
        shard = _text(document["shard"], place)
        _require(shard in shards, place, "its shard is missing")
        reached = _climbed(_leaf(bytes.fromhex(root)), _steps(document["shard_path"], place)).hex()
        _require(reached == shards[shard], place, "it is not in its shard")
        documents[root] = document
    return documents


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify a file from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Verify a proof bundle written by `arborist prove`.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--public-key", help="the key that is trusted: name+key id+base64")
    options = parser.parse_args(arguments)
    try:
        data = options.file.read_bytes()
    except OSError:
        print(f"Error: {options.file}: cannot be read", file=sys.stderr)
        return UNREADABLE
    try:
        report = verify_bundle(data, options.public_key)
    except BundleError as error:
        print(f"Error: {options.file}: {error}", file=sys.stderr)
        return REFUSED
    for name in report.__slots__:
        print(f"{name:<14} {getattr(report, name)}")
    return VALID


if __name__ == "__main__":
    sys.exit(main())
