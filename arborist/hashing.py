"""Canonical JSON and domain-separated digests: the only way anything is hashed, except the leaves of trees."""

import hashlib
import unicodedata
from enum import StrEnum
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, Final

import rfc8785

from arborist.errors import InputError

_LARGEST_INTEGER: Final = 2**53 - 1


class Domain(StrEnum):
    """Every kind of object that is hashed has a versioned domain of its own. This is the whole list."""

    QUESTION = "arborist-question-v1"
    CONVERSATION = "arborist-conversation-v1"
    PROMPT = "arborist-prompt-v1"
    MODEL_IDENTITY = "arborist-model-identity-v1"
    GOVERNANCE_POLICY = "arborist-governance-policy-v1"
    VERIFIER_POLICY = "arborist-verifier-policy-v1"
    RANKING_POLICY = "arborist-ranking-policy-v1"
    CACHE_KEY = "arborist-cache-key-v1"
    CACHE_KEY_STRICT = "arborist-cache-key-v2"
    CACHE_KEY_KEYWORDS = "arborist-cache-key-keywords-v1"
    RETRIEVAL_PLAN = "arborist-retrieval-plan-v1"
    SOURCES_SUMMARY = "arborist-sources-summary-v1"
    RETRIEVAL_RESULT = "arborist-retrieval-result-v1"
    RETRIEVAL_STAGE = "arborist-retrieval-stage-v1"
    FRAME = "arborist-frame-v1"
    ANSWER = "arborist-answer-v1"
    CLAIMS = "arborist-claims-v1"
    FINAL_LABEL = "arborist-final-label-v1"
    RUN_COMMITMENT = "arborist-run-commitment-v1"
    RUN_STAGE = "arborist-run-stage-v1"
    SOURCE_REVISION = "arborist-source-revision-v1"
    SOURCE_INPUT = "arborist-source-input-v1"
    SOURCE_DOCUMENTS = "arborist-source-documents-v1"
    INDEX = "arborist-index-v1"
    EVALUATION = "arborist-evaluation-v1"
    PIPELINE = "arborist-retrieval-pipeline-v1"
    PARTITIONS = "arborist-partitions-v1"
    AUDIT_EVENT = "arborist-audit-event-v1"
    GATE_POLICY = "arborist-gate-policy-v1"


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of `value`, as UTF-8 bytes.

    Raises InputError for what that form cannot hold: NaN and infinities, integers beyond 2**53, lone
    surrogates, keys that are not text, objects of other types.
    """
    try:
        return _json_text(value).encode("utf-8")
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise InputError(f"not representable as canonical JSON: {_reason(error)}") from error


def _json_text(value: Any) -> str:
    """The canonical text of `value`.

    Fractions, large integers and whatever JSON does not have are left to the `rfc8785` package. It would do all of
    it, but goes through every value several times, which was most of the time of an append and of `ledger verify`.
    A test holds the two against each other.
    """
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is dict:
        members = [spelled + _json_text(value[key]) for key, spelled in _ordered_keys(tuple(value))]
        return "{" + ",".join(members) + "}"
    if kind is list or kind is tuple:
        return "[" + ",".join([_json_text(item) for item in value]) + "]"
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "null"
    if kind is int and -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER:
        return str(value)
    return rfc8785.dumps(value).decode("utf-8")


@lru_cache(maxsize=4096)
def _ordered_keys(keys: tuple[Any, ...]) -> tuple[tuple[str, str], ...]:
    """Each key with its spelling and colon, by UTF-16 code units (RFC 8785 section 3.2.3).

    For ASCII that is their order as text. Objects come in few shapes, so each is ordered once.
    """
    try:
        plain = "".join(keys).isascii()
    except TypeError as error:
        raise rfc8785.CanonicalizationError("object keys must be strings") from error
    ordered = sorted(keys) if plain else sorted(keys, key=lambda key: str(key).encode("utf-16-be"))
    return tuple((key, encode_basestring(key) + ":") for key in ordered)


def _reason(error: Exception) -> str:
    if isinstance(error, rfc8785.IntegerDomainError):
        return "an integer beyond 2**53"
    if isinstance(error, rfc8785.FloatDomainError):
        return "a number that is not finite"
    if isinstance(error, UnicodeError):
        return "text with a lone surrogate"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a value or key of a type that JSON does not have"


def hash_bytes(data: bytes) -> str:
    """SHA-256 in lowercase hex."""
    return hashlib.sha256(data).hexdigest()


def hash_json(domain: Domain, value: Any) -> str:
    """SHA-256, in lowercase hex, of the domain in ASCII, one zero byte, and the canonical JSON of `value`."""
    return hash_bytes(domain.encode("ascii") + b"\x00" + canonical_json(value))


def normalized_question(question: str) -> str:
    """The question as it is identified: Unicode NFC, runs of white space made one blank, trimmed; case kept."""
    return " ".join(unicodedata.normalize("NFC", question).split())


def question_hash(question: str) -> str:
    """Identity of the user's question; retrieval keywords are never part of it."""
    return hash_json(Domain.QUESTION, normalized_question(question))
