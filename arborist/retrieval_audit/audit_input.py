"""What the operator declares: one source, two questions, four files (`retained-retrieval-audit.md` section 5)."""

from dataclasses import dataclass
from typing import Any

from arborist.retrieval_audit.bundle_files import AFTER, BEFORE, CUSTOMER, UNRELATED, BundlePath, Role, bundle_path
from arborist.retrieval_audit.findings import BlockedError, Failure
from arborist.retrieval_audit.instants import instant
from arborist.retrieval_audit.strict_json import JsonObject, is_text

SCHEMA_VERSION = "1.0"
GENERAL_AVAILABILITY = "2026-04-01"
PREVIEW = "2026-08-01-preview"

# Names that identify a chunk, a reference or an index entry, never the original.
_NOT_AN_IDENTITY = ("id", "dockey", "ref_id", "chunk_id", "chunkid", "citationurl", "uid")

_CUSTOMER_BASES = ("title", "content")
_UNRELATED_BASES = ("unrelated",)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """The words that one kind of source has for its definition, its original and its native citation."""

    name: str
    parameters: str
    native_path: str
    original_path: str
    original_version: str
    expected_version: str


FILE = SourceKind("file", "fileParameters", "docName", "fileName", "fileId", "file_id")
BLOB = SourceKind("azureBlob", "azureBlobParameters", "blobUrl", "url", "etag", "etag")


@dataclass(frozen=True, slots=True)
class ExpectedSource:
    """The original that the operator expects: its exact path and its version, a File ID or an ETag.

    `identity_field` names a key of `sourceData` that the operator declares to hold that version, or is None.
    """

    path: str
    version: str
    identity_field: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """One question as it was sent, the file its response was kept in, and when that was captured (nanoseconds)."""

    role: Role
    query: str
    request: Any
    response: BundlePath
    captured_at: int


@dataclass(frozen=True, slots=True)
class AuditInput:
    """What the operator declares and names."""

    endpoint: str
    api_version: str
    knowledge_base_name: str
    source_name: str
    source_kind: SourceKind
    expected_source: ExpectedSource
    before: BundlePath
    after: BundlePath
    customer: Question
    unrelated: Question


def audit_input(document: Any) -> AuditInput:
    """The input read from its decoded document. Raises BlockedError at the first member that breaks a rule."""
    if not isinstance(document, dict):
        raise BlockedError(Failure.INPUT_NOT_OBJECT, "/input")
    members = _closed(
        document,
        "/input",
        required=(
            "schema_version",
            "endpoint",
            "api_version",
            "knowledge_base_name",
            "source_name",
            "source_kind",
            "expected_source",
            "before",
            "after",
            "customer",
            "unrelated",
        ),
    )
    if members["schema_version"] != SCHEMA_VERSION:
        raise BlockedError(Failure.SCHEMA_VERSION_UNSUPPORTED, "/input/schema_version")
    if members["api_version"] not in (GENERAL_AVAILABILITY, PREVIEW):
        raise BlockedError(Failure.API_VERSION_UNSUPPORTED, "/input/api_version")
    kind = _source_kind(members["source_kind"])
    customer = _question(members, "customer", CUSTOMER, _CUSTOMER_BASES)
    unrelated = _question(members, "unrelated", UNRELATED, _UNRELATED_BASES)
    if customer.query == unrelated.query:
        raise BlockedError(Failure.QUESTIONS_NOT_DISTINCT, "/input/unrelated/query")
    return AuditInput(
        endpoint=_text(members, "endpoint", "/input"),
        api_version=members["api_version"],
        knowledge_base_name=_text(members, "knowledge_base_name", "/input"),
        source_name=_text(members, "source_name", "/input"),
        source_kind=kind,
        expected_source=_expected_source(members, kind),
        before=bundle_path(members["before"], BEFORE.named_at),
        after=bundle_path(members["after"], AFTER.named_at),
        customer=customer,
        unrelated=unrelated,
    )


def _source_kind(name: Any) -> SourceKind:
    for kind in (FILE, BLOB):
        if name == kind.name:
            return kind
    raise BlockedError(Failure.SOURCE_KIND_UNSUPPORTED, "/input/source_kind")


def _expected_source(members: JsonObject, kind: SourceKind) -> ExpectedSource:
    at = "/input/expected_source"
    required = ("path", kind.expected_version)
    expected = _closed(members["expected_source"], at, required, optional=("identity_field",))
    return ExpectedSource(
        path=_text(expected, "path", at),
        version=_text(expected, kind.expected_version, at),
        identity_field=_identity_field(expected, at) if "identity_field" in expected else None,
    )


def _identity_field(expected: JsonObject, at: str) -> str:
    name = _text(expected, "identity_field", at)
    if name.casefold() in _NOT_AN_IDENTITY:
        raise BlockedError(Failure.IDENTITY_FIELD_FORBIDDEN, f"{at}/identity_field")
    return name


def _question(members: JsonObject, name: str, role: Role, bases: tuple[str, ...]) -> Question:
    at = f"/input/{name}"
    case = _closed(
        members[name], at, required=("query", "approved", "basis", "request", "response", "captured_at")
    )
    if case["approved"] is not True:
        raise BlockedError(Failure.QUESTION_NOT_APPROVED, f"{at}/approved")
    if case["basis"] not in bases:
        raise BlockedError(Failure.QUESTION_BASIS_INVALID, f"{at}/basis")
    return Question(
        role=role,
        query=_text(case, "query", at),
        request=case["request"],
        response=bundle_path(case["response"], role.named_at),
        captured_at=instant(case["captured_at"], f"{at}/captured_at"),
    )


def _closed(value: Any, at: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> JsonObject:
    """The object, once it holds every required key and none beyond the known ones."""
    if not isinstance(value, dict):
        raise BlockedError(Failure.INPUT_FIELD_INVALID, at)
    if not value.keys() <= {*required, *optional}:
        raise BlockedError(Failure.INPUT_FIELD_UNKNOWN, at)
    for key in required:
        if key not in value:
            raise BlockedError(Failure.INPUT_FIELD_MISSING, f"{at}/{key}")
    return value


def _text(members: JsonObject, key: str, at: str) -> str:
    value = members[key]
    if not is_text(value):
        raise BlockedError(Failure.INPUT_FIELD_INVALID, f"{at}/{key}")
    return value
