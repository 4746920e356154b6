"""Checkpoints: size and root of the audit log as C2SP signed notes (c2sp.org/signed-note and /tlog-checkpoint).

A checkpoint that is kept elsewhere is what tells a ledger that was cut or replaced from the one it was signed of.
"""

import base64
import binascii
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from arborist.errors import InputError, ProofError
from arborist.hashing import hash_bytes
from arborist.home import Home
from arborist.merkle import HASH_SIZE

ED25519 = b"\x01"
"""The signature type byte of Ed25519 in a signed note."""

_DASH = "— "
_MOST_SIGNATURES = 16
_LARGEST_NOTE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is signed: the log's name, how many events it has, and the Merkle root over them."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The note text of tlog-checkpoint."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"

    @classmethod
    def from_text(cls, text: str) -> "Checkpoint":
        """Inverse of `text`; extension lines are allowed and dropped. Raises InputError for anything else."""
        lines = text.split("\n")[:-1]
        if len(lines) < 3 or not all(lines):
            raise InputError("not a checkpoint: it has fewer than three lines, or an empty one")
        origin, size, root = lines[:3]
        if not size.isascii() or not size.isdecimal() or str(int(size[:20])) != size:
            raise InputError("not a checkpoint: its second line is not a size")
        digest = _from_base64(root)
        if len(digest) != HASH_SIZE:
            raise InputError("not a checkpoint: its third line is not a root hash")
        return cls(origin, int(size), digest)


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key and the name it signs under; as text `name+key id+base64(type, key)`."""

    name: str
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The first four bytes of SHA-256(name, newline, type, key), as c2sp.org/signed-note has it."""
        return bytes.fromhex(hash_bytes(self.name.encode() + b"\n" + ED25519 + self.public))[:4]

    def text(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{_base64(ED25519 + self.public)}"

    @classmethod
    def from_text(cls, text: str) -> "VerifierKey":
        """Inverse of `text`. Raises InputError for anything else."""
        # The base64 part may hold a plus itself, the name and the key id may not.
        name, _, rest = text.strip().partition("+")
        key_id, _, encoded = rest.partition("+")
        data = _from_base64(encoded)
        key = cls(name, data[1:])
        if not _is_name(name) or data[:1] != ED25519 or len(data) != 33 or key.key_id.hex() != key_id:
            raise InputError("not a public key (it looks like name+1a2b3c4d+base64)")
        return key

    def verifies(self, text: str, signature: bytes) -> bool:
        """Whether the signature is this key's over the note text."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key; the name it signs under is that of the log it signs."""

    private: Ed25519PrivateKey

    @classmethod
    def of_home(cls, home: Path) -> "SigningKey":
        """The key of that home, made on first use, for its owner's eyes only."""
        path = Home(home).signing_key_file
        if not path.exists():
            _make_key(path)
        return cls.from_file(path)

    @classmethod
    def from_file(cls, path: Path) -> "SigningKey":
        """The Ed25519 key in a PEM file, unencrypted (PKCS 8).

        Raises InputError where it is something else, cannot be read, or can be read by other users.
        """
        try:
            others = stat.S_IMODE(path.stat().st_mode) & 0o077
            data = path.read_bytes()
        except OSError as error:
            raise InputError.at(
                path, "", "the key cannot be read", "check the path and its permissions"
            ) from error
        if others:
            raise InputError.at(path, "", "other users have access to this private key", f"chmod 600 {path}")
        try:
            key = load_pem_private_key(data, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError.at(
                path, "", "not an unencrypted Ed25519 private key", "openssl genpkey -algorithm ed25519 makes one"
            )
        return cls(key)

    def verifier(self, name: str) -> VerifierKey:
        """The public key under that name. Raises InputError for a name that a signed note cannot hold."""
        if not _is_name(name):
            raise InputError(f"{name!r} cannot name a key: it is empty, or has white space or a plus")
        return VerifierKey(name, self.private.public_key().public_bytes_raw())

    def sign(self, checkpoint: Checkpoint) -> str:
        """The checkpoint as a signed note; the key's name is the checkpoint's origin."""
        text = checkpoint.text()
        key = self.verifier(checkpoint.origin)
        signature = _base64(key.key_id + self.private.sign(text.encode()))
        return f"{text}\n{_DASH}{key.name} {signature}\n"


def open_checkpoint(note: str, key: VerifierKey) -> Checkpoint:
    """The checkpoint in a signed note, once the signature by `key` holds; signatures of other keys are ignored.

    Raises InputError for what is not a signed note, ProofError where no signature of that key verifies.
    """
    text, signatures = _parts(note)
    checkpoint = Checkpoint.from_text(text)
    own = [data[4:] for name, data in signatures if name == key.name and data[:4] == key.key_id]
    if not own:
        raise ProofError(f"the checkpoint is not signed by the key {key.text()}")
    if not all(key.verifies(text, signature) for signature in own):
        raise ProofError(f"the checkpoint's signature by {key.name} does not hold")
    return checkpoint


def _parts(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """The note text, and key name and signature bytes of each signature line."""
    head, separator, tail = note.rpartition("\n\n")
    lines = tail.split("\n")
    control = any(character < " " and character != "\n" for character in note)
    if not separator or control or len(note) > _LARGEST_NOTE or lines.pop() != "" or not lines:
        raise InputError("not a signed note: a text, an empty line, then signature lines")
    if len(lines) > _MOST_SIGNATURES:
        raise InputError(f"a signed note of more than {_MOST_SIGNATURES} signatures")
    return head + "\n", list(_signatures(lines))


def _signatures(lines: list[str]) -> Iterator[tuple[str, bytes]]:
    for line in lines:
        name, _, encoded = line.removeprefix(_DASH).partition(" ")
        data = _from_base64(encoded)
        if not line.startswith(_DASH) or not _is_name(name) or len(data) <= 4:
            raise InputError("not a signed note: a line after the empty one is not a signature")
        yield name, data


def _make_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        # A link does not replace: of two processes that make a key at once, both go on with the first one's.
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and name.isprintable() and not any(map(str.isspace, name))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    """The bytes, or none for what is not their one base64 form."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return data if _base64(data) == text else b""
