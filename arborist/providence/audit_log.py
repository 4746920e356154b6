"""The Merkle log over the audit events: roots, proofs and signed checkpoints (RFC 9162 section 2.1).

A leaf is the leaf hash of the 32 bytes of an event's own hash, which binds everything else of the event.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arborist.errors import LedgerError, ProofError
from arborist.files import write_replacing
from arborist.home import Home
from arborist.merkle import Frontier, consistency_proof, inclusion_proof, tree_root
from arborist.providence.audit_events import EventType, NewEvent, event_leaf
from arborist.providence.checkpoint import Checkpoint, SigningKey, VerifierKey
from arborist.providence.ledger import Ledger


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The log as it stood when it was read. `origin` names it; it follows from the first event."""

    origin: str
    leaves: tuple[bytes, ...]

    @classmethod
    def of(cls, ledger: Ledger) -> "AuditLog":
        """The log of all events. Raises LedgerError where there are none, or a hash is not one."""
        hashes = ledger.event_hashes()
        if not hashes:
            raise LedgerError(f"{ledger.path}: the ledger is empty, there is nothing to sign or to prove yet")
        try:
            leaves = tuple(event_leaf(digest) for digest in hashes)
        except ValueError as error:
            raise LedgerError(
                f"{ledger.path}: an event's hash is not a hash (see `arborist ledger fsck`)"
            ) from error
        return cls(log_origin(hashes[0]), leaves)

    @property
    def size(self) -> int:
        return len(self.leaves)

    def root(self, size: int | None = None) -> bytes:
        """The root over the first `size` events, or over all."""
        return tree_root(self.leaves[:size])

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.origin, self.size, self.root())

    def inclusion(self, seq: int) -> list[bytes]:
        """The path from event `seq` to the root over all. Raises IndexError where there is no such event."""
        return inclusion_proof(self.leaves, seq - 1)

    def consistency(self, size: int) -> list[bytes]:
        """The proof that the first `size` events are still the first. Raises IndexError where there are fewer."""
        return consistency_proof(self.leaves, size)


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A signed note, the key that verifies it, and the file it was written to."""

    note: str
    key: VerifierKey
    path: Path


def roots_at(leaves: Sequence[bytes], sizes: Iterable[int]) -> dict[int, bytes]:
    """The roots over the first so many leaves, for each size that there are leaves for; one pass for all."""
    wanted = set(sizes)
    frontier = Frontier()
    roots = {}
    for leaf in leaves:
        frontier.append(leaf)
        if frontier.size in wanted:
            roots[frontier.size] = frontier.root()
    return roots


def log_origin(first_hash: str) -> str:
    """The name of the log whose first event has that hash: no other ledger has the same."""
    return f"arborist/ledger/{first_hash[:16]}"


def public_key_file(home: Path) -> Path:
    return Home(home).public_key_file


def sign_checkpoint(home: Path, ledger: Ledger, key: SigningKey) -> SignedCheckpoint:
    """Sign the log as it stands, append `checkpoint_signed`, and write the note and the public key under `home`.

    Raises ProofError where the log contradicts a checkpoint that was signed before: a log must never sign that
    (tlog-checkpoint, Signatures).
    """
    log = AuditLog.of(ledger)
    signed = [event.value for event in ledger.events(types=[EventType.CHECKPOINT_SIGNED])]
    roots = roots_at(log.leaves, [earlier["size"] for earlier in signed])
    for earlier in signed:
        if roots.get(earlier["size"], b"").hex() != earlier["root"]:
            raise ProofError(
                f"{ledger.path}: the log contradicts the checkpoint signed of its first {earlier['size']} events, "
                "so none is signed now (see `arborist ledger fsck`)"
            )
    checkpoint = log.checkpoint()
    note = key.sign(checkpoint)
    verifier = key.verifier(checkpoint.origin)
    ledger.append_event(NewEvent(EventType.CHECKPOINT_SIGNED, checkpoint_payload(checkpoint, verifier, note)))
    path = Home(home).checkpoint_file(checkpoint.size)
    write_replacing(path, note.encode("utf-8"))
    write_replacing(public_key_file(home), f"{verifier.text()}\n".encode())
    return SignedCheckpoint(note, verifier, path)


def last_checkpoint(ledger: Ledger) -> tuple[str, VerifierKey, int] | None:
    """Note, public key and size of the last checkpoint that was signed; None where none was."""
    events = list(ledger.events(types=[EventType.CHECKPOINT_SIGNED]))
    if not events:
        return None
    value = events[-1].value
    return value["note"], VerifierKey.from_text(value["public_key"]), value["size"]


def checkpoint_payload(checkpoint: Checkpoint, key: VerifierKey, note: str) -> dict[str, str | int]:
    """The payload of `checkpoint_signed`; the note in it makes the file beside the ledger replaceable."""
    return {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": checkpoint.root.hex(),
        "public_key": key.text(),
        "note": note,
    }
