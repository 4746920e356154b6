"""The retrieval audit run over a sample of the ledger's records."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arborist.errors import ArboristError
from arborist.providence.ledger import Ledger
from arborist.providence.record import LIVE, ProvidenceRecord
from arborist.providence.retrieval_audit import verify_record_file
from arborist.providence.retrieval_bundle import write_retrieval_bundle
from arborist.workspace import Workspace

GROUNDED = ("STRICT", "HYBRID")
LATEST_RECORDS = 200


@dataclass(frozen=True, slots=True)
class RecordAudit:
    """What the audit of one record came to: its report, or None and why no bundle could be written."""

    cache_key: str
    report: dict[str, Any] | None
    hindrance: str = ""


def sampled_audits(workspace: Workspace, ledger: Ledger, size: int) -> Iterator[RecordAudit]:
    """Audits of `size` records, and whatever stood in the way of others that were tried; bundles are not kept.

    Drawn from the latest grounded, live records; the ledger's head is the seed, so that a sample can be drawn
    again, and every new event draws another.
    """
    records = [record for record in ledger.records(limit=LATEST_RECORDS) if _is_candidate(record)]
    random.Random(ledger.head()[1]).shuffle(records)
    left = size
    for record in records:
        if not left:
            return
        audit = _audited(workspace, record)
        left -= audit.report is not None
        yield audit


def _is_candidate(record: ProvidenceRecord) -> bool:
    return record.audit_mode in GROUNDED and record.falsification_state == LIVE


def _audited(workspace: Workspace, record: ProvidenceRecord) -> RecordAudit:
    with TemporaryDirectory() as folder:
        try:
            written = write_retrieval_bundle(workspace, record, Path(folder))
        except ArboristError as error:
            return RecordAudit(record.cache_key, None, str(error))
        return RecordAudit(record.cache_key, verify_record_file(written))
