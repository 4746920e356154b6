"""The one JSON object that an audit prints (`retained-retrieval-audit.md` sections 3 and 13)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arborist.retrieval_audit.bundle_files import FileDigest
from arborist.retrieval_audit.case import Case
from arborist.retrieval_audit.findings import Diagnostic, DiagnosticKind, Finding, Findings, Status
from arborist.retrieval_audit.retrieval_mode import Output
from arborist.retrieval_audit.strict_json import JsonObject

OUTCOME = "retained-retrieval-audit"
REVIEW_REQUIRED = "review-required"
BLOCKED = "blocked"

# What no offline audit of retained responses can show, so every report says so.
NEVER_VERIFIED = ("answer-faithfulness", "semantic-abstention", "evidence-origin", "agent-invocation")


@dataclass(slots=True)
class AuditRecord:
    """What an audit has come to so far.

    `snapshots_equal` is None until the snapshots have been compared; `cases` are what is reported of each response
    that could be told apart as one, by the name of its role.
    """

    findings: Findings = field(default_factory=Findings)
    snapshots_equal: bool | None = None
    cases: dict[str, JsonObject] = field(default_factory=dict)
    files: Mapping[str, FileDigest] = field(default_factory=dict)


def report(record: AuditRecord, outcome: str = OUTCOME) -> JsonObject:
    """The report: codes, pointers, counts and digests, and nothing of what the evidence says.

    `outcome` names the kind of audit.
    """
    status = record.findings.status
    return {
        "outcome": outcome,
        "status": BLOCKED if status is Status.FAILED else REVIEW_REQUIRED,
        "structural_status": str(status),
        "overall_pass": False,
        "before_after_snapshot_equal": record.snapshots_equal,
        "mutation": "none",
        "writes_performed": [],
        "cleanup": "not-applicable",
        "network_calls": 0,
        "model_calls": 0,
        "unverified": list(NEVER_VERIFIED),
        "cases": record.cases,
        "evidence": {
            name: {"bytes": digest.size, "sha256": digest.sha256} for name, digest in record.files.items()
        },
        **_findings(record.findings),
        **_diagnostics(record.findings),
    }


def case_report(case: Case) -> JsonObject:
    """What is reported of one response, once its HTTP status is known."""
    is_synthesis = case.mode.output is Output.SYNTHESIS
    return {
        "http_status": case.http_status,
        "structural_status": str(case.findings.status),
        "response_blocks": case.response_blocks,
        "extracts": None if is_synthesis else case.used_citations,
        "references": case.references,
        "used_citations": case.used_citations,
        "no_support_shape": "semantic-review-required" if is_synthesis else case.has_no_support_shape,
        "original_path_matches": case.original_path_matches,
        "declared_identity_value_matches": case.declared_identity_value_matches,
        "original_identity": str(case.binding.identity),
        "original_identity_requirement": case.binding.requirement,
    }


def _findings(found: Findings) -> JsonObject:
    findings = found.findings
    first_issue = findings.listed[0] if findings.listed else None
    return {
        "findings": [_finding(finding) for finding in findings.listed],
        "finding_count": findings.totals.total(),
        "failed_count": findings.totals[Status.FAILED],
        "unverified_count": findings.totals[Status.UNVERIFIED],
        "first_issue": _finding(first_issue),
        "first_failure": _finding(findings.firsts.get(Status.FAILED)),
    }


def _finding(finding: Finding | None) -> JsonObject | None:
    if finding is None:
        return None
    return {"code": str(finding.code), "at": finding.at, "status": str(finding.status)}


def _diagnostics(found: Findings) -> JsonObject:
    diagnostics = found.diagnostics
    return {
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in diagnostics.listed],
        "diagnostic_count": diagnostics.totals.total(),
        "error_count": diagnostics.totals[DiagnosticKind.ERROR],
        "warning_count": diagnostics.totals[DiagnosticKind.WARNING],
        "first_error": _diagnostic(diagnostics.firsts.get(DiagnosticKind.ERROR)),
        "first_warning": _diagnostic(diagnostics.firsts.get(DiagnosticKind.WARNING)),
    }


def _diagnostic(diagnostic: Diagnostic | None) -> JsonObject | None:
    if diagnostic is None:
        return None
    return {"kind": str(diagnostic.kind), "at": diagnostic.at, "sha256": diagnostic.sha256}


def report_line(value: Mapping[str, Any]) -> str:
    """The report as one line of ASCII with sorted keys; the same report gives the same line."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True) + "\n"
