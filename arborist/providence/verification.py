"""The verdict on a whole ledger: sound and anchored in a kept checkpoint, tampered with, or without an anchor."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from arborist.errors import ProofError
from arborist.merkle import consistency_proof, tree_root, verify_consistency
from arborist.providence.audit_events import event_leaf
from arborist.providence.audit_log import log_origin
from arborist.providence.checkpoint import Checkpoint, VerifierKey, open_checkpoint
from arborist.providence.fsck import FsckReport, Progress, fsck
from arborist.providence.ledger_fault import LedgerFault


class Verdict(StrEnum):
    """`unanchored`: nothing is wrong in itself, but a cut tail or a whole other ledger would look the same."""

    SOUND = "sound"
    TAMPERED = "tampered"
    UNANCHORED = "unanchored"


EXIT_CODES = {Verdict.SOUND: 0, Verdict.TAMPERED: 4, Verdict.UNANCHORED: 5}
"""What the commands exit with; 2 where a ledger or a checkpoint cannot be looked at."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict, what was counted, the root of the log, and every fault."""

    verdict: Verdict
    events: int
    records: int
    root: str
    anchored_events: int
    faults: tuple[LedgerFault, ...]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A checkpoint that was kept outside the ledger, and the key that is trusted to have signed it."""

    note: str
    key: VerifierKey


def verify_ledger(
    home: Path, anchor: Anchor | None, processes: int | None = None, progress: Progress | None = None
) -> Verification:
    """Walk the whole ledger, and hold it against the anchor where there is one.

    Raises LedgerError where there is no ledger to look at, InputError where the anchor is not a checkpoint.
    """
    checkpoint = None
    faults: tuple[LedgerFault, ...] = ()
    if anchor is not None:
        try:
            checkpoint = open_checkpoint(anchor.note, anchor.key)
        except ProofError as error:
            faults = (LedgerFault("checkpoint", str(error)),)
    report = fsck(home, processes, progress)
    leaves = _leaves(report)
    if checkpoint is not None:
        faults += tuple(anchor_faults(checkpoint, report.event_hashes, leaves))
    faults += report.faults
    return Verification(
        verdict=_verdict(faults, checkpoint),
        events=report.events,
        records=report.records,
        root=tree_root(leaves).hex(),
        anchored_events=0 if checkpoint is None or faults else checkpoint.size,
        faults=faults,
    )


def anchor_faults(checkpoint: Checkpoint, hashes: tuple[str, ...], leaves: list[bytes]) -> list[LedgerFault]:
    """What a trusted checkpoint says against a log with these event hashes and leaves."""

    def fault(problem: str) -> list[LedgerFault]:
        return [LedgerFault("checkpoint", problem)]

    if checkpoint.size < 1:
        return fault("it is of an empty log and proves nothing")
    if not hashes or log_origin(hashes[0]) != checkpoint.origin:
        return fault(f"it is of another ledger, {checkpoint.origin}: this one was replaced, or begins otherwise")
    if checkpoint.size > len(leaves):
        return fault(f"it is of {checkpoint.size} events, this ledger has {len(leaves)}: later ones were cut off")
    proof = consistency_proof(leaves, checkpoint.size)
    root = tree_root(leaves)
    if not verify_consistency(checkpoint.size, len(leaves), proof, checkpoint.root, root):
        return fault(f"the first {checkpoint.size} events are not those that were signed")
    return []


def _leaves(report: FsckReport) -> list[bytes]:
    try:
        return [event_leaf(digest) for digest in report.event_hashes]
    except ValueError:
        # An event with such a hash is among the faults already.
        return []


def _verdict(faults: tuple[LedgerFault, ...], checkpoint: Checkpoint | None) -> Verdict:
    if faults:
        return Verdict.TAMPERED
    return Verdict.SOUND if checkpoint is not None else Verdict.UNANCHORED
