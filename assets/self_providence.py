"""Self-providence: answers that have cooled, as documents, chunks and an index of their own."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from assets.names import PROVIDENCE_LEDGER, SELF_PROVIDENCE
from assets.tables import markdown_table, open_table, rounded
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.providence.promotion import PromotionReport
    from arborist.providence.promotion_checks import PromotionFault
    from arborist.workspace import Workspace

NOTHING_PROMOTED = "nothing has been promoted yet"


class PromotionConfig(dg.Config):
    """How a pass is made."""

    kindergarten_seconds: int | None = Field(
        default=None,
        ge=0,
        description="The age in seconds at which a record may become a source; by default the policy's.",
    )


@dg.asset(deps=[PROVIDENCE_LEDGER])
def self_providence(config: PromotionConfig, workspace: WorkspaceResource) -> dg.MaterializeResult:
    """STRICT answers past their kindergarten window, made sources: their documents, chunks and index shards.

    A pass looks at what is new or has fallen since the last one. The data version is the root over the shards.
    """
    from arborist.providence.ledger import Ledger
    from arborist.providence.promoted_shards import PromotedShards
    from arborist.providence.promotion import Promoter

    opened = workspace.workspace
    started = opened.clock.now()
    with Ledger.open(opened.home.root, opened.clock) as ledger:
        report = Promoter.of(
            opened.corpus, ledger, opened.config.policy, started, config.kindergarten_seconds
        ).promote()
        metas = PromotedShards(opened.corpus, ledger).metas()
    documents, chunks = sum(meta.documents for meta in metas), sum(meta.chunks for meta in metas)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(report.root),
        metadata={
            "dagster/row_count": documents,
            "documents": documents,
            "chunks": chunks,
            "bytes": sum(opened.home.shard_file(meta.shard).stat().st_size for meta in metas),
            "seconds": rounded(opened.clock.now() - started),
            "shards": markdown_table(
                ("shard", "documents", "chunks", "root"),
                [(meta.shard, meta.documents, meta.chunks, meta.shard_root[:16]) for meta in metas],
            ),
            **_report_metadata(report),
        },
    )


def _report_metadata(report: "PromotionReport") -> Mapping[str, Any]:
    counts = ("promoted", "superseded", "retired", "unchanged", "examined", "repeated")
    gates = [("waiting", gate, count) for gate, count in report.waiting.items()]
    gates += [("rejected", gate, count) for gate, count in report.rejected.items()]
    return {
        **{name: getattr(report, name) for name in counts},
        "waiting": sum(report.waiting.values()),
        "rejected": sum(report.rejected.values()),
        "gates": markdown_table(("outcome", "gate", "records"), gates),
        "changes": markdown_table(
            ("change", "document", "why"), [(item.change, item.uri, item.reason) for item in report.changes]
        ),
        "built_shards": ", ".join(report.shards) or "none",
    }


def _fault_result(faults: Sequence["PromotionFault"], sound: str, remedy: str) -> dg.AssetCheckResult:
    wrong = [fault for fault in faults if not fault.moved]
    return dg.AssetCheckResult(
        passed=not faults,
        severity=dg.AssetCheckSeverity.ERROR if wrong else dg.AssetCheckSeverity.WARN,
        description=remedy if faults else sound,
        metadata={
            "faults": len(wrong),
            "moved": len(faults) - len(wrong),
            **open_table("fault_table", ("document", "problem"), [(fault.uri, fault.problem) for fault in faults]),
        },
    )


def _has_ledger(workspace: "Workspace") -> bool:
    return workspace.home.ledger_file.is_file()


@dg.asset_check(asset=SELF_PROVIDENCE)
def promoted_answers_pass_gates(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """No promoted answer violates a gate today, nor did its window when it was promoted."""
    from arborist.providence.gates import GatePolicy
    from arborist.providence.ledger import Ledger
    from arborist.providence.promotion_checks import gate_faults

    opened = workspace.workspace
    if not _has_ledger(opened):
        return _fault_result([], NOTHING_PROMOTED, "")
    policy = opened.config.policy
    gates = GatePolicy.of(opened.corpus.chunker.version, policy.answering, policy.promotion)
    with Ledger.open_readonly(opened.home.root, opened.clock) as ledger:
        faults = list(gate_faults(ledger, gates))
    return _fault_result(
        faults, "every promoted answer passes every gate", "Materialize self_providence: it retires them."
    )


@dg.asset_check(asset=SELF_PROVIDENCE, blocking=True)
def served_answers_stand(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """The record of every promoted answer that the index serves is live, and so is every ancestor of it."""
    from arborist.providence.ledger import Ledger
    from arborist.providence.promotion_checks import lineage_faults

    opened = workspace.workspace
    if not _has_ledger(opened):
        return _fault_result([], NOTHING_PROMOTED, "")
    with Ledger.open_readonly(opened.home.root, opened.clock) as ledger:
        faults = list(lineage_faults(opened.corpus, ledger))
    return _fault_result(
        faults,
        "every promoted answer that is served stands",
        "Materialize self_providence: it takes them out of the index. Citing them is refused meanwhile.",
    )


@dg.asset_check(asset=SELF_PROVIDENCE)
def promoted_evidence_recomputes(workspace: WorkspaceResource) -> dg.AssetCheckResult:
    """Every promoted answer recomputes from its record, and the chunks that it cites from the corpus.

    Where the corpus has moved on from a cited chunk, that is a warning: the answer is of what was there then.
    """
    from arborist.providence.ledger import Ledger
    from arborist.providence.promotion_checks import evidence_faults

    opened = workspace.workspace
    if not _has_ledger(opened):
        return _fault_result([], NOTHING_PROMOTED, "")
    with Ledger.open_readonly(opened.home.root, opened.clock) as ledger:
        faults = list(evidence_faults(opened.corpus, ledger))
    return _fault_result(
        faults,
        "every promoted answer recomputes",
        "Look at the records with `arborist inspect KEY`; falsify those that no longer hold as `stale`.",
    )


SELF_PROVIDENCE_CHECKS = [promoted_answers_pass_gates, served_answers_stand, promoted_evidence_recomputes]
