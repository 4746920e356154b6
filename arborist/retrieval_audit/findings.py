"""What an audit found: coded findings, located diagnostics, and the totals that outlive the caps on both lists.

Codes and their status are the table "Finding codes" of `retained-retrieval-audit.md`. A location is an RFC 6901
pointer built from fixed words and array indexes only, so that nothing here repeats the evidence.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

FINDING_CAP = 40
DIAGNOSTIC_CAP = 20


class Status(StrEnum):
    """How a finding, a case or a whole audit stands; the worst finding decides."""

    PASSED = "passed"
    UNVERIFIED = "unverified"
    FAILED = "failed"


class FailureCode(StrEnum):
    """A code whose findings block; which ones there are is said by the audit that has them."""


class Failure(FailureCode):
    """Codes of findings that block the audit of retained responses."""

    PATH_INVALID = "path-invalid"
    PATH_URI_OR_NETWORK = "path-uri-or-network"
    PATH_OUTSIDE_BUNDLE = "path-outside-bundle"
    PATH_LINK = "path-link"
    PATH_REPEATED = "path-repeated"
    FILE_MISSING = "file-missing"
    FILE_NOT_REGULAR = "file-not-regular"
    FILE_UNREADABLE = "file-unreadable"
    FILE_TOO_LARGE = "file-too-large"
    TEXT_NOT_UTF8 = "text-not-utf8"
    JSON_INVALID = "json-invalid"
    JSON_DUPLICATE_KEY = "json-duplicate-key"
    JSON_NUMBER_INVALID = "json-number-invalid"
    JSON_TOO_DEEP = "json-too-deep"
    JSON_ARRAY_TOO_LONG = "json-array-too-long"
    INPUT_NOT_OBJECT = "input-not-object"
    INPUT_FIELD_UNKNOWN = "input-field-unknown"
    INPUT_FIELD_MISSING = "input-field-missing"
    INPUT_FIELD_INVALID = "input-field-invalid"
    SCHEMA_VERSION_UNSUPPORTED = "schema-version-unsupported"
    API_VERSION_UNSUPPORTED = "api-version-unsupported"
    SOURCE_KIND_UNSUPPORTED = "source-kind-unsupported"
    IDENTITY_FIELD_FORBIDDEN = "identity-field-forbidden"
    QUESTION_NOT_APPROVED = "question-not-approved"
    QUESTION_BASIS_INVALID = "question-basis-invalid"
    QUESTIONS_NOT_DISTINCT = "questions-not-distinct"
    REQUEST_NOT_EXACT = "request-not-exact"
    SNAPSHOT_INVALID = "snapshot-invalid"
    SNAPSHOT_FIELD_UNKNOWN = "snapshot-field-unknown"
    SNAPSHOT_TARGET_MISMATCH = "snapshot-target-mismatch"
    SNAPSHOT_RESOURCE_MISMATCH = "snapshot-resource-mismatch"
    SNAPSHOT_DEFINITION_INCOMPLETE = "snapshot-definition-incomplete"
    SNAPSHOT_SOURCE_SELECTION = "snapshot-source-selection"
    SNAPSHOT_CHANGED = "snapshot-changed"
    ORIGINAL_RECORD_MISMATCH = "original-record-mismatch"
    ORIGINAL_RECORD_UNSUCCESSFUL = "original-record-unsuccessful"
    ORIGINAL_NEWER_THAN_SNAPSHOT = "original-newer-than-snapshot"
    TIMESTAMP_INVALID = "timestamp-invalid"
    TIME_ORDER_INVALID = "time-order-invalid"
    EVIDENCE_STALE = "evidence-stale"
    RESPONSE_OUTSIDE_WINDOW = "response-outside-window"
    GA_FIELDS_UNEXPECTED = "ga-fields-unexpected"
    GA_SOURCE_UNSUPPORTED = "ga-source-unsupported"
    MODE_UNSUPPORTED = "mode-unsupported"
    MODELS_MISSING = "models-missing"
    ENVELOPE_INVALID = "envelope-invalid"
    ENVELOPE_STATUS_UNSUPPORTED = "envelope-status-unsupported"
    ENVELOPE_OPERATION_UNSUPPORTED = "envelope-operation-unsupported"
    ENVELOPE_BLOCKER_INVALID = "envelope-blocker-invalid"
    ENVELOPE_BLOCKED = "envelope-blocked"
    ENVELOPE_BLOCKER_UNEXPECTED = "envelope-blocker-unexpected"
    HTTP_STATUS_INVALID = "http-status-invalid"
    HTTP_STATUS_NOT_200 = "http-status-not-200"
    BODY_MISSING = "body-missing"
    BODY_ARRAY_MISSING = "body-array-missing"
    DIAGNOSTIC_TYPE_INVALID = "diagnostic-type-invalid"
    ACTIVITY_ERROR = "activity-error"
    ACTIVITY_INVALID = "activity-invalid"
    ACTIVITY_ID_INVALID = "activity-id-invalid"
    FOREIGN_SOURCE_ACTIVITY = "foreign-source-activity"
    REFERENCE_INVALID = "reference-invalid"
    REFERENCE_ID_DUPLICATE = "reference-id-duplicate"
    REFERENCE_ACTIVITY_INVALID = "reference-activity-invalid"
    REFERENCE_TYPE_MISMATCH = "reference-type-mismatch"
    ORIGINAL_PATH_MISMATCH = "original-path-mismatch"
    DECLARED_IDENTITY_MISMATCH = "declared-identity-mismatch"
    RESPONSE_INVALID = "response-invalid"
    RESPONSE_CONTENT_UNSUPPORTED = "response-content-unsupported"
    RESPONSE_CONTENT_BLANK = "response-content-blank"
    EXTRACT_TEXT_INVALID = "extract-text-invalid"
    EXTRACT_ROW_INVALID = "extract-row-invalid"
    EXTRACT_PAYLOAD_MISSING = "extract-payload-missing"
    EXTRACT_ID_DUPLICATE = "extract-id-duplicate"
    CITATION_MARKER_MALFORMED = "citation-marker-malformed"
    CITATION_COUNT_EXCEEDED = "citation-count-exceeded"
    CITATION_UNRESOLVED = "citation-unresolved"
    CUSTOMER_GROUNDING_MISSING = "customer-grounding-missing"
    UNRELATED_SUPPORT_PRESENT = "unrelated-support-present"
    INTERNAL_ERROR = "internal-error"


class Doubt(StrEnum):
    """Codes of findings that leave something unverified."""

    ACTIVITY_WARNING = "activity-warning"
    ACTIVITY_MISSING = "activity-missing"
    SOURCE_ACTIVITY_MISSING = "source-activity-missing"
    REFERENCE_SOURCE_UNRESOLVED = "reference-source-unresolved"
    ORIGINAL_IDENTITY_NOT_IN_NATIVE_CITATION = "original-identity-not-in-native-citation"
    DECLARED_IDENTITY_UNPROVEN = "declared-identity-unproven"
    DECLARED_IDENTITY_MISSING = "declared-identity-missing"
    RESPONSE_PAYLOAD_MISSING = "response-payload-missing"
    UNRELATED_CITATIONS_NEED_REVIEW = "unrelated-citations-need-review"
    UNRELATED_ABSTENTION_UNPROVEN = "unrelated-abstention-unproven"


class DiagnosticKind(StrEnum):
    """What the service itself reported in a response."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that failed or stays unverified, and where: `at` is a pointer into the evidence."""

    code: FailureCode | Doubt
    at: str

    @property
    def status(self) -> Status:
        """Fixed by the code: a failure blocks, a doubt does not."""
        return Status.FAILED if isinstance(self.code, FailureCode) else Status.UNVERIFIED


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning of the service: where it stands and the digest of its canonical JSON, never its text."""

    kind: DiagnosticKind
    at: str
    sha256: str


class BlockedError(Exception):
    """The evidence cannot be read further. Carries the finding; has no text, so that none can leak."""

    def __init__(self, code: FailureCode, at: str) -> None:
        super().__init__()
        self.finding = Finding(code, at)


Item = TypeVar("Item", Finding, Diagnostic)
Kind = TypeVar("Kind", Status, DiagnosticKind)


@dataclass(slots=True)
class CappedList(Generic[Item, Kind]):
    """The first `cap` items in the order met; total and first item of each kind are kept beyond the cap."""

    cap: int
    listed: list[Item] = field(default_factory=list)
    totals: Counter[Kind] = field(default_factory=Counter)
    firsts: dict[Kind, Item] = field(default_factory=dict)

    def add(self, kind: Kind, item: Item) -> None:
        """Count the item, and keep it where there is room or it is the first of its kind."""
        self.totals[kind] += 1
        self.firsts.setdefault(kind, item)
        if len(self.listed) < self.cap:
            self.listed.append(item)

    def absorb(self, later: "CappedList[Item, Kind]") -> None:
        """Take over what another list met after this one."""
        self.totals.update(later.totals)
        self.firsts = later.firsts | self.firsts
        self.listed.extend(later.listed[: self.cap - len(self.listed)])


@dataclass(slots=True)
class Findings:
    """Everything one audit, or one case of it, has found so far."""

    findings: CappedList[Finding, Status] = field(default_factory=lambda: CappedList(FINDING_CAP))
    diagnostics: CappedList[Diagnostic, DiagnosticKind] = field(default_factory=lambda: CappedList(DIAGNOSTIC_CAP))

    @property
    def status(self) -> Status:
        """The worst status among all findings, listed or not."""
        for status in (Status.FAILED, Status.UNVERIFIED):
            if self.findings.totals[status]:
                return status
        return Status.PASSED

    def add(self, code: FailureCode | Doubt, at: str) -> None:
        """Note a finding."""
        finding = Finding(code, at)
        self.findings.add(finding.status, finding)

    def add_diagnostic(self, kind: DiagnosticKind, at: str, sha256: str) -> None:
        """Note that the service reported an error or a warning; what follows from it is a finding of its own."""
        self.diagnostics.add(kind, Diagnostic(kind, at, sha256))

    def absorb(self, later: "Findings") -> None:
        """Take over what was found after this."""
        self.findings.absorb(later.findings)
        self.diagnostics.absorb(later.diagnostics)

    @contextmanager
    def up_to_the_first_block(self, at: str) -> Iterator[None]:
        """End the work inside at a BlockedError and keep its finding; any other exception is `internal-error`."""
        try:
            yield
        except BlockedError as blocked:
            self.add(blocked.finding.code, blocked.finding.at)
        except Exception:
            # Whatever it says may quote the evidence, so only the fact is kept.
            self.add(Failure.INTERNAL_ERROR, at)
