"""Audits of retained retrieval: of bundles that were kept, and of a sample of our own records.

What is shown are codes, pointers, counts and digests, as reports have them: never a text of the evidence. A check
that had nothing to look at says `not-requested` and does not pass, because a skipped audit verifies nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from assets.names import PROVIDENCE_LEDGER, RETAINED_RETRIEVAL_AUDIT
from assets.tables import markdown_table, open_table
from assets.versions import DATA_VERSION, AssetReport, materialized
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.providence.record_audits import RecordAudit


NOT_REQUESTED, NOT_AUDITED = "not-requested", "not-audited"
PASSED, UNVERIFIED, FAILED = "passed", "unverified", "failed"
_COUNTS = ("finding_count", "failed_count", "unverified_count", "error_count", "warning_count")


class SampleConfig(dg.Config):
    """How much is audited."""

    records: int = Field(
        default=5,
        ge=1,
        description="How many grounded records are sampled, and their retrieval repeated.",
    )


# One partition a bundle; the sensor `audit_bundles_changed` adds them.
AUDIT_BUNDLES = dg.DynamicPartitionsDefinition(name="audit_bundles")


def is_partition_key(name: str) -> bool:
    """Whether Dagster can have the name as a partition: printable, and no `...`, which stands for ranges."""
    return name.isprintable() and "..." not in name


@dg.asset(partitions_def=AUDIT_BUNDLES)
def retained_retrieval_audit(
    context: dg.AssetExecutionContext, workspace: WorkspaceResource
) -> Iterator[dg.MaterializeResult]:
    """What a kept bundle shows and what it leaves open; the data version is a digest of the bundle."""
    audits = workspace.workspace.home.audits_folder
    reports = [_audited(audits / name) for name in context.partition_keys]
    for report in reports:
        context.log.info(f"{report.partition}: {report.metadata['structural_status']}")
    statuses = Counter(report.metadata["structural_status"] for report in reports)
    yield from materialized(context, reports, {"bundles": len(reports), **statuses}, seen={})


def _audited(folder: Path) -> AssetReport:
    from arborist.providence.retrieval_audit import verify_bundle_file
    from arborist.retrieval_audit.bundle_folders import INPUT_NAME, bundle_digest

    digest = bundle_digest(folder)
    report = verify_bundle_file(folder / INPUT_NAME)
    return AssetReport(RETAINED_RETRIEVAL_AUDIT, folder.name, digest, _metadata(folder, report))


def _metadata(folder: Path, report: Mapping[str, Any]) -> dict[str, Any]:
    findings = report["findings"]
    return {
        **{name: report[name] for name in ("outcome", "status", "structural_status", "overall_pass", *_COUNTS)},
        "unverified": ", ".join(report["unverified"]),
        "codes": dg.MetadataValue.json(_codes(report)),
        "findings": markdown_table(
            ("status", "code", "at"), [(item["status"], item["code"], item["at"]) for item in findings]
        ),
        "cases": markdown_table(
            ("case", "structural status", "citations"),
            [
                (name, case["structural_status"], case.get("used_citations", 0))
                for name, case in report["cases"].items()
            ],
        ),
        "evidence": markdown_table(
            ("file", "bytes", "sha256"),
            [(name, item["bytes"], item["sha256"]) for name, item in report["evidence"].items()],
        ),
        "bundle": dg.MetadataValue.path(folder),
    }


def _codes(report: Mapping[str, Any]) -> dict[str, int]:
    """How often each code is among the findings that the report lists."""
    return dict(Counter(item["code"] for item in report["findings"]))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the audit of one bundle or record came to, and by which codes."""

    name: str
    status: str
    codes: Mapping[str, int]

    @property
    def told(self) -> str:
        return ", ".join(f"{code} ({count})" for code, count in self.codes.items())


@dg.asset_check(asset=RETAINED_RETRIEVAL_AUDIT)
def retrieval_audit_structure(
    context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource
) -> dg.AssetCheckResult:
    """The last audit of every kept bundle found nothing that fails, and nothing that it must leave open.

    A bundle that was not audited as it stands now counts as open.
    """
    from arborist.retrieval_audit.bundle_folders import INPUT_NAME, bundle_inputs

    bundles = bundle_inputs(workspace.workspace.home.audits_folder)
    outcomes = [_last_outcome(context.instance, name, path.parent) for name, path in bundles.items()]
    remedy = (
        "Review the bundles in the table, materialize those not audited, remove the folder of one that is settled."
    )
    return _result(outcomes, "bundle", f"no bundle lies in audits/<name>/{INPUT_NAME}", remedy)


def _last_outcome(instance: dg.DagsterInstance, name: str, folder: Path) -> _Outcome:
    from arborist.retrieval_audit.bundle_folders import bundle_digest

    if not is_partition_key(name):
        return _Outcome(ascii(name), NOT_AUDITED, {"no partition can have this name": 1})
    wanted = dg.AssetRecordsFilter(dg.AssetKey(RETAINED_RETRIEVAL_AUDIT), asset_partitions=[name])
    records = instance.fetch_materializations(wanted, limit=1).records
    event = records[0].asset_materialization if records else None
    if event is None or (event.tags or {}).get(DATA_VERSION) != bundle_digest(folder):
        return _Outcome(name, NOT_AUDITED, {})
    codes = event.metadata["codes"].value
    return _Outcome(name, str(event.metadata["structural_status"].value), codes if isinstance(codes, dict) else {})


@dg.asset_check(asset=PROVIDENCE_LEDGER)
def retrieval_audit(config: SampleConfig, workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Retrieval of a sample of records, repeated and audited: every hit is proven up to the root of its shard.

    Records whose shards or policies have moved on cannot be repeated, and are counted.
    """
    audits = _sample(workspace, config.records)
    outcomes = [
        _Outcome(audit.cache_key, audit.report["structural_status"], _codes(audit.report))
        for audit in audits
        if audit.report is not None
    ]
    hindered = [audit for audit in audits if audit.report is None]
    nothing = f"none of {len(hindered)} records can be repeated" if hindered else "no grounded answer is recorded"
    remedy = "`arborist audit-retrieval --ledger KEY` shows the whole report."
    more = {
        "not_repeatable": len(hindered),
        **open_table(
            "hindrances", ("record", "why not"), [(audit.cache_key, audit.hindrance) for audit in hindered]
        ),
    }
    return _result(outcomes, "record", nothing, remedy, more)


def _sample(workspace: WorkspaceResource, records: int) -> list["RecordAudit"]:
    from arborist.providence.ledger import Ledger
    from arborist.providence.record_audits import sampled_audits

    opened = workspace.workspace
    if not opened.home.ledger_file.is_file():
        return []
    with Ledger.open_readonly(opened.home.root, opened.clock) as ledger:
        return list(sampled_audits(opened, ledger, records))


def _result(
    outcomes: Sequence[_Outcome], what: str, nothing: str, remedy: str, more: Mapping[str, Any] | None = None
) -> dg.AssetCheckResult:
    statuses = Counter(outcome.status for outcome in outcomes)
    status = _worst(statuses)
    told = ", ".join(f"{count} {name}" for name, count in sorted(statuses.items()))
    return dg.AssetCheckResult(
        passed=status == PASSED,
        severity=dg.AssetCheckSeverity.ERROR if status == FAILED else dg.AssetCheckSeverity.WARN,
        description={
            NOT_REQUESTED: f"Nothing was audited: {nothing}.",
            PASSED: f"{told}: in structure only; whether answers are faithful is not audited.",
        }.get(status, f"{told}. {remedy}"),
        metadata={
            "audit_status": status,
            "overall_pass": False,
            **(more or {}),
            f"{what}s": len(outcomes),
            **{name: statuses[name] for name in (PASSED, UNVERIFIED, NOT_AUDITED, FAILED)},
            **open_table(
                "codes",
                (what, "structural status", "codes"),
                [(outcome.name, outcome.status, outcome.told) for outcome in outcomes if outcome.status != PASSED],
            ),
        },
    )


def _worst(statuses: Mapping[str, int]) -> str:
    """The status that all outcomes together have."""
    if statuses.get(FAILED):
        return FAILED
    if statuses.get(UNVERIFIED) or statuses.get(NOT_AUDITED):
        return UNVERIFIED
    return PASSED if statuses else NOT_REQUESTED


RETRIEVAL_AUDIT_CHECKS = [retrieval_audit_structure, retrieval_audit]
