"""One question's response under audit (`retained-retrieval-audit.md` sections 9 to 12)."""

from dataclasses import dataclass, field
from typing import Any

from arborist.retrieval_audit.activities import selected_activities
from arborist.retrieval_audit.answer_text import UsedId, extract_ids, marker_ids, text_blocks
from arborist.retrieval_audit.audit_input import Question
from arborist.retrieval_audit.bundle_files import CUSTOMER
from arborist.retrieval_audit.envelope import envelope, note_error
from arborist.retrieval_audit.findings import BlockedError, Doubt, Failure, Findings
from arborist.retrieval_audit.native_citation import NativeCitation
from arborist.retrieval_audit.references import bound_reference, reference_ids
from arborist.retrieval_audit.retrieval_mode import Output, RetrievalMode
from arborist.retrieval_audit.strict_json import JsonObject

HTTP_OK = 200


@dataclass(slots=True)
class Case:
    """What has been read of one response so far; the counts stand where a finding ended the reading."""

    question: Question
    mode: RetrievalMode
    source_name: str
    binding: NativeCitation
    findings: Findings = field(default_factory=Findings)
    http_status: int | None = None
    response_blocks: int = 0
    references: int = 0
    used_citations: int = 0
    original_path_matches: int = 0
    declared_identity_value_matches: int = 0
    has_no_support_shape: bool = False

    def read(self, document: Any) -> None:
        """Audit the decoded response file. Raises BlockedError where it cannot be read further."""
        at = self.question.role.at
        received = envelope(document, at, self.findings)
        self.http_status = received.http_status
        if received.http_status != HTTP_OK:
            self.findings.add(Failure.HTTP_STATUS_NOT_200, f"{at}/http_status")
        if not isinstance(received.response_body, dict):
            raise BlockedError(Failure.BODY_MISSING, f"{at}/response_body")
        self._read_body(received.response_body, f"{at}/response_body")

    def _read_body(self, body: JsonObject, at: str) -> None:
        note_error(body, at, self.findings)
        activity = _array(body, "activity", at)
        selected = selected_activities(
            activity, f"{at}/activity", self.source_name, self.binding.kind, self.findings
        )
        references = _array(body, "references", at)
        self.references = len(references)
        known = reference_ids(references, f"{at}/references")
        for index, reference in enumerate(references):
            bound = bound_reference(reference, f"{at}/references/{index}", selected, self.binding, self.findings)
            self.original_path_matches += bound.path_matches
            self.declared_identity_value_matches += bound.declared_value_matches
        used = self._used_ids(_array(body, "response", at), f"{at}/response")
        for use in used:
            if use.identifier not in known:
                self.findings.add(Failure.CITATION_UNRESOLVED, use.at)
        self._judge(at)

    def _used_ids(self, response: list[Any], at: str) -> list[UsedId]:
        blocks = text_blocks(response, at)
        self.response_blocks = len(blocks)
        if not blocks:
            self.findings.add(Doubt.RESPONSE_PAYLOAD_MISSING, at)
        is_extracts = self.mode.output is Output.EXTRACTS
        used = extract_ids(blocks, self.findings) if is_extracts else marker_ids(blocks)
        self.used_citations = len(used)
        return used

    def _judge(self, at: str) -> None:
        """What a customer's question must have and an unrelated one must not."""
        self.has_no_support_shape = bool(self.response_blocks) and not (self.used_citations or self.references)
        if self.question.role is CUSTOMER:
            if not self.used_citations:
                self.findings.add(Failure.CUSTOMER_GROUNDING_MISSING, f"{at}/response")
        elif self.mode.output is Output.EXTRACTS:
            if self.used_citations:
                self.findings.add(Failure.UNRELATED_SUPPORT_PRESENT, f"{at}/response")
            if self.references:
                self.findings.add(Failure.UNRELATED_SUPPORT_PRESENT, f"{at}/references")
        elif self.used_citations:
            self.findings.add(Doubt.UNRELATED_CITATIONS_NEED_REVIEW, f"{at}/response")
        else:
            self.findings.add(Doubt.UNRELATED_ABSTENTION_UNPROVEN, f"{at}/response")


def _array(body: JsonObject, name: str, at: str) -> list[Any]:
    value = body.get(name)
    if not isinstance(value, list):
        raise BlockedError(Failure.BODY_ARRAY_MISSING, f"{at}/{name}")
    return value
