"""The producer's envelope around a response, and diagnostics (`retained-retrieval-audit.md` sections 9 and 10)."""

from dataclasses import dataclass
from typing import Any

from arborist.retrieval_audit.findings import BlockedError, DiagnosticKind, Doubt, Failure, Findings
from arborist.retrieval_audit.strict_json import JsonObject, is_whole_number, json_sha256

_BLOCKED = "blocked"
_STATUSES = ("response-received", _BLOCKED)
_OPERATION = "retrieve"


@dataclass(frozen=True, slots=True)
class Envelope:
    """A response that was received: its HTTP status, and a body of any type."""

    http_status: int
    response_body: Any


def envelope(document: Any, at: str, findings: Findings) -> Envelope:
    """The envelope, once the producer says that a response was received. Else BlockedError."""
    if not isinstance(document, dict):
        raise BlockedError(Failure.ENVELOPE_INVALID, at)
    if "status" in document and document["status"] not in _STATUSES:
        raise BlockedError(Failure.ENVELOPE_STATUS_UNSUPPORTED, f"{at}/status")
    if "operation" in document and document["operation"] != _OPERATION:
        raise BlockedError(Failure.ENVELOPE_OPERATION_UNSUPPORTED, f"{at}/operation")
    _check_blocker(document, f"{at}/first_blocker", findings)
    http_status = document.get("http_status")
    if not is_whole_number(http_status) or not 100 <= http_status <= 599:
        raise BlockedError(Failure.HTTP_STATUS_INVALID, f"{at}/http_status")
    return Envelope(http_status, document.get("response_body"))


def _check_blocker(document: JsonObject, at: str, findings: Findings) -> None:
    if document.get("status") == _BLOCKED:
        blocker = document.get("first_blocker")
        if not isinstance(blocker, dict):
            raise BlockedError(Failure.ENVELOPE_BLOCKER_INVALID, at)
        findings.add_diagnostic(DiagnosticKind.ERROR, at, json_sha256(blocker))
        raise BlockedError(Failure.ENVELOPE_BLOCKED, at)
    if "first_blocker" in document:
        raise BlockedError(Failure.ENVELOPE_BLOCKER_UNEXPECTED, at)


def note_error(holder: JsonObject, at: str, findings: Findings) -> None:
    """Note the `error` of the object at the pointer `at`: an object, even an empty one, is an error."""
    error = holder.get("error")
    if error is None:
        return
    if isinstance(error, dict):
        findings.add_diagnostic(DiagnosticKind.ERROR, f"{at}/error", json_sha256(error))
        findings.add(Failure.ACTIVITY_ERROR, f"{at}/error")
    else:
        findings.add(Failure.DIAGNOSTIC_TYPE_INVALID, f"{at}/error")


def note_warning(holder: JsonObject, at: str, findings: Findings) -> None:
    """Note the `warning` of the object at the pointer `at`: any text but the empty one, whatever it says."""
    warning = holder.get("warning")
    if warning is None or warning == "":
        return
    if isinstance(warning, str):
        findings.add_diagnostic(DiagnosticKind.WARNING, f"{at}/warning", json_sha256(warning))
        findings.add(Doubt.ACTIVITY_WARNING, f"{at}/warning")
    else:
        findings.add(Failure.DIAGNOSTIC_TYPE_INVALID, f"{at}/warning")
