"""The audit from the input to the report, in the order of `retained-retrieval-audit.md` section 12."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from arborist.retrieval_audit.audit_input import AuditInput, audit_input
from arborist.retrieval_audit.bundle_files import AFTER, BEFORE, INPUT, BundleFiles, input_location
from arborist.retrieval_audit.case import Case
from arborist.retrieval_audit.instants import current_instant
from arborist.retrieval_audit.native_citation import NativeCitation
from arborist.retrieval_audit.report import AuditRecord, case_report, report
from arborist.retrieval_audit.retrieval_mode import RetrievalMode, check_request, retrieval_mode
from arborist.retrieval_audit.snapshots import check_original, check_times, snapshot, snapshots_equal
from arborist.retrieval_audit.strict_json import JsonObject

WHOLE_AUDIT = ""


def verify(document: Any, bundle_dir: str | os.PathLike[str], *, now: datetime | None = None) -> JsonObject:
    """The report on a decoded input document whose files lie in `bundle_dir`.

    Whatever the evidence holds becomes a finding, never an exception. `now` is for tests: a time with a zone
    (else ValueError) that stands for the machine's clock.
    """
    moment = current_instant(now)
    record = AuditRecord()
    with record.findings.up_to_the_first_block(WHOLE_AUDIT):
        _audit(document, BundleFiles(Path(bundle_dir)), record, moment)
    return report(record)


def verify_file(input_path: str | os.PathLike[str], *, now: datetime | None = None) -> JsonObject:
    """The report on an input file and the files beside it; otherwise as `verify`."""
    moment = current_instant(now)
    record = AuditRecord()
    with record.findings.up_to_the_first_block(WHOLE_AUDIT):
        directory, name = input_location(input_path)
        files = BundleFiles(directory)
        record.files = files.digests
        _audit(files.document(name, INPUT), files, record, moment)
    return report(record)


def _audit(document: Any, files: BundleFiles, record: AuditRecord, now: int) -> None:
    record.files = files.digests
    asked = audit_input(document)
    mode = _mode_of_snapshots(asked, files, record, now)
    for question in (asked.customer, asked.unrelated):
        check_request(question, mode)
    for case in _cases(asked, mode):
        with case.findings.up_to_the_first_block(case.question.role.at):
            case.read(files.document(case.question.response, case.question.role))
        if case.http_status is not None:
            record.cases[case.question.role.name] = case_report(case)
        record.findings.absorb(case.findings)


def _mode_of_snapshots(asked: AuditInput, files: BundleFiles, record: AuditRecord, now: int) -> RetrievalMode:
    """The mode that both snapshots stand for. They end here, so that their memory is free for the responses."""
    before = snapshot(files.document(asked.before, BEFORE), BEFORE, asked)
    after = snapshot(files.document(asked.after, AFTER), AFTER, asked)
    check_times(before, after, (asked.customer, asked.unrelated), now)
    record.snapshots_equal = snapshots_equal(before, after, record.findings)
    check_original(before, asked.expected_source, asked.source_kind)
    return retrieval_mode(asked, before)


def _cases(asked: AuditInput, mode: RetrievalMode) -> tuple[Case, Case]:
    binding = NativeCitation(asked.source_kind, asked.expected_source)
    return (
        Case(asked.customer, mode, asked.source_name, binding),
        Case(asked.unrelated, mode, asked.source_name, binding),
    )
