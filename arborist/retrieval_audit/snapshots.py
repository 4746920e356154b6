"""The two snapshots of definitions and original (`retained-retrieval-audit.md` sections 6 and 7)."""

from dataclasses import dataclass
from typing import Any

from arborist.retrieval_audit.audit_input import BLOB, FILE, AuditInput, ExpectedSource, Question, SourceKind
from arborist.retrieval_audit.bundle_files import Role
from arborist.retrieval_audit.findings import BlockedError, Failure, Findings
from arborist.retrieval_audit.instants import NANOSECONDS, instant
from arborist.retrieval_audit.strict_json import JsonObject, is_text, same_json

EVIDENCE_LIFETIME = 3_600 * NANOSECONDS

_PARTS = ("knowledge_base", "knowledge_source", "original")
_TARGET = ("endpoint", "api_version")
_MEMBERS = ("captured_at", *_TARGET, *_PARTS)
_ETAG = "@odata.etag"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Definitions and original as they stood at one time (nanoseconds); `at` points at the snapshot."""

    at: str
    captured_at: int
    knowledge_base: JsonObject
    knowledge_source: JsonObject
    original: JsonObject


def snapshot(document: Any, role: Role, asked: AuditInput) -> Snapshot:
    """The snapshot, once it is whole and of the service and source that the input names. Else BlockedError."""
    members = _whole(document, role.at)
    if any(members[name] != getattr(asked, name) for name in _TARGET):
        raise BlockedError(Failure.SNAPSHOT_TARGET_MISMATCH, role.at)
    base, source = members["knowledge_base"], members["knowledge_source"]
    named = (base.get("name"), source.get("name"), source.get("kind"))
    if named != (asked.knowledge_base_name, asked.source_name, asked.source_kind.name):
        raise BlockedError(Failure.SNAPSHOT_RESOURCE_MISMATCH, role.at)
    if not is_text(base.get(_ETAG)):
        raise BlockedError(Failure.SNAPSHOT_DEFINITION_INCOMPLETE, f"{role.at}/knowledge_base")
    if not _is_complete_source(source, asked.source_kind):
        raise BlockedError(Failure.SNAPSHOT_DEFINITION_INCOMPLETE, f"{role.at}/knowledge_source")
    if not same_json(base.get("knowledgeSources"), [{"name": asked.source_name}]):
        raise BlockedError(Failure.SNAPSHOT_SOURCE_SELECTION, f"{role.at}/knowledge_base/knowledgeSources")
    captured_at = instant(members["captured_at"], f"{role.at}/captured_at")
    return Snapshot(role.at, captured_at, base, source, members["original"])


def _whole(document: Any, at: str) -> JsonObject:
    if not isinstance(document, dict):
        raise BlockedError(Failure.SNAPSHOT_INVALID, at)
    if not document.keys() <= set(_MEMBERS):
        raise BlockedError(Failure.SNAPSHOT_FIELD_UNKNOWN, at)
    if len(document) < len(_MEMBERS):
        raise BlockedError(Failure.SNAPSHOT_INVALID, at)
    for name in _MEMBERS:
        if not isinstance(document[name], dict if name in _PARTS else str):
            raise BlockedError(Failure.SNAPSHOT_INVALID, f"{at}/{name}")
    return document


def _is_complete_source(source: JsonObject, kind: SourceKind) -> bool:
    """Whether the definition has what every GET body has; more cannot be told offline."""
    parameters = source.get(kind.parameters)
    return (
        is_text(source.get(_ETAG))
        and isinstance(parameters, dict)
        and isinstance(parameters.get("ingestionParameters"), dict)
        and (kind is not BLOB or is_text(parameters.get("containerName")))
    )


def check_times(before: Snapshot, after: Snapshot, questions: tuple[Question, Question], now: int) -> None:
    """Hold before <= each response <= after <= now <= before + 1 h, all in nanoseconds. Else BlockedError."""
    if not before.captured_at <= after.captured_at <= now:
        raise BlockedError(Failure.TIME_ORDER_INVALID, f"{after.at}/captured_at")
    if now - before.captured_at > EVIDENCE_LIFETIME:
        raise BlockedError(Failure.EVIDENCE_STALE, f"{before.at}/captured_at")
    for question in questions:
        if not before.captured_at <= question.captured_at <= after.captured_at:
            raise BlockedError(Failure.RESPONSE_OUTSIDE_WINDOW, f"/input/{question.role.name}/captured_at")


def snapshots_equal(before: Snapshot, after: Snapshot, findings: Findings) -> bool:
    """Whether definitions and original did not change; each that did becomes a finding."""
    changed = [part for part in _PARTS if not same_json(getattr(before, part), getattr(after, part))]
    for part in changed:
        findings.add(Failure.SNAPSHOT_CHANGED, f"{after.at}/{part}")
    return not changed


def check_original(before: Snapshot, expected: ExpectedSource, kind: SourceKind) -> None:
    """Hold the retained record of the original against what the operator expects. Else BlockedError."""
    original, at = before.original, f"{before.at}/original"
    if (original.get(kind.original_path), original.get(kind.original_version)) != (
        expected.path,
        expected.version,
    ):
        raise BlockedError(Failure.ORIGINAL_RECORD_MISMATCH, at)
    if kind is FILE:
        _check_ingested_file(before, at)


def _check_ingested_file(before: Snapshot, at: str) -> None:
    # Absent is not null: only an explicit null says that ingestion ended well.
    if before.original.get("errorMessage", "absent") is not None:
        raise BlockedError(Failure.ORIGINAL_RECORD_UNSUCCESSFUL, f"{at}/errorMessage")
    updated_at = instant(before.original.get("lastUpdatedAt"), f"{at}/lastUpdatedAt")
    if updated_at > before.captured_at:
        raise BlockedError(Failure.ORIGINAL_NEWER_THAN_SNAPSHOT, f"{at}/lastUpdatedAt")
