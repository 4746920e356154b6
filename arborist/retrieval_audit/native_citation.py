"""How a reference of the hosted service is bound to the original (`retained-retrieval-audit.md` section 11).

A binding says which word of the original it would need (`requirement`), what it can show of the original's
identity (`identity`), and what one reference shows (`bound`). One that proves identity otherwise, by a document
root, is a class of its own with these three.
"""

from dataclasses import dataclass

from arborist.retrieval_audit.audit_input import ExpectedSource, SourceKind
from arborist.retrieval_audit.findings import Doubt, Failure, Findings, Status
from arborist.retrieval_audit.strict_json import JsonObject


@dataclass(frozen=True, slots=True)
class Bound:
    """What one reference shows: the expected path, and the value that the operator declared to be the version."""

    path_matches: bool
    declared_value_matches: bool


@dataclass(frozen=True, slots=True)
class NativeCitation:
    """Bound by the path alone: native references carry neither File ID nor ETag, so identity stays unverified."""

    kind: SourceKind
    expected: ExpectedSource

    @property
    def requirement(self) -> str:
        """The member of the original record that would identify its version."""
        return self.kind.original_version

    @property
    def identity(self) -> Status:
        """Nothing in a native reference upgrades it."""
        return Status.UNVERIFIED

    def bound(self, reference: JsonObject, at: str, findings: Findings) -> Bound:
        """What the reference at the pointer `at` shows, with its findings."""
        path_matches = reference.get(self.kind.native_path) == self.expected.path
        if not path_matches:
            findings.add(Failure.ORIGINAL_PATH_MISMATCH, at)
        findings.add(Doubt.ORIGINAL_IDENTITY_NOT_IN_NATIVE_CITATION, at)
        return Bound(path_matches, self._declared_value_matches(reference, at, findings))

    def _declared_value_matches(self, reference: JsonObject, at: str, findings: Findings) -> bool:
        if self.expected.identity_field is None:
            return False
        findings.add(Doubt.DECLARED_IDENTITY_UNPROVEN, at)
        value = (reference.get("sourceData") or {}).get(self.expected.identity_field)
        if value is None:
            findings.add(Doubt.DECLARED_IDENTITY_MISSING, at)
        elif value != self.expected.version:
            findings.add(Failure.DECLARED_IDENTITY_MISMATCH, at)
        return bool(value == self.expected.version)
