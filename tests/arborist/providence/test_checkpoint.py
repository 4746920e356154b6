"""Checkpoints as signed notes."""

import base64
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from arborist.errors import InputError, ProofError
from arborist.providence.checkpoint import Checkpoint, SigningKey, VerifierKey, open_checkpoint

ORIGIN = "arborist/ledger/0123456789abcdef"


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return SigningKey.of_home(tmp_path_factory.mktemp("key"))


@pytest.fixture(scope="session")
def note(key: SigningKey) -> str:
    return key.sign(Checkpoint(ORIGIN, 12, bytes(range(32))))


def test_keys_and_signatures_are_those_of_the_go_implementation() -> None:
    """The example in the documentation of golang.org/x/mod/sumdb/note."""
    key = VerifierKey.from_text("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    signature = base64.b64decode(
        "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    )
    assert signature[:4] == key.key_id
    assert key.verifies(text, signature[4:])
    assert not key.verifies(text + "\n", signature[4:])
    assert key.text() == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"


def test_a_note_has_the_form_of_tlog_checkpoint(note: str, key: SigningKey) -> None:
    origin, size, root, empty, signature, end = note.split("\n")
    assert (origin, size, empty, end) == (ORIGIN, "12", "", "")
    assert base64.b64decode(root) == bytes(range(32))
    assert signature.startswith(f"— {ORIGIN} ")
    assert base64.b64decode(signature.split(" ")[2])[:4] == key.verifier(ORIGIN).key_id


def test_a_note_opens_under_the_key_that_signed_it(note: str, key: SigningKey) -> None:
    assert open_checkpoint(note, key.verifier(ORIGIN)) == Checkpoint(ORIGIN, 12, bytes(range(32)))


def test_a_note_does_not_open_under_another_key(note: str, tmp_path: Path) -> None:
    other = SigningKey.of_home(tmp_path)
    with pytest.raises(ProofError, match="not signed by the key"):
        open_checkpoint(note, other.verifier(ORIGIN))


def test_signatures_of_unknown_keys_are_ignored(note: str, key: SigningKey, tmp_path: Path) -> None:
    other = SigningKey.of_home(tmp_path).sign(Checkpoint(ORIGIN, 12, bytes(range(32))))
    both = note + other.rsplit("\n\n")[1]
    assert open_checkpoint(both, key.verifier(ORIGIN)).size == 12


def test_one_bad_signature_of_a_known_key_spoils_the_note(note: str, key: SigningKey) -> None:
    forged = key.sign(Checkpoint(ORIGIN, 13, bytes(range(32)))).rsplit("\n\n")[1]
    with pytest.raises(ProofError, match="does not hold"):
        open_checkpoint(note + forged, key.verifier(ORIGIN))


@given(st.data())
def test_no_byte_of_a_note_can_be_another(note: str, key: SigningKey, data: st.DataObject) -> None:
    raw = bytearray(note.encode())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises((InputError, ProofError, UnicodeDecodeError)):
        open_checkpoint(raw.decode(), key.verifier(ORIGIN))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line\n",
        "origin\n12\n",
        "origin\n012\n" + "A" * 43 + "=\n",
        "origin\n-1\n" + "A" * 43 + "=\n",
        "origin\n١\n" + "A" * 43 + "=\n",
        "origin\n12\nAAAA\n",
        "origin\n12\n" + "A" * 43 + "=\n\nextension\n",
    ],
)
def test_what_is_not_a_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a checkpoint"):
        Checkpoint.from_text(text)


def test_extension_lines_are_allowed() -> None:
    text = Checkpoint(ORIGIN, 12, bytes(32)).text()
    assert Checkpoint.from_text(text + "extension\n") == Checkpoint(ORIGIN, 12, bytes(32))


def test_a_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    first = SigningKey.of_home(tmp_path).verifier(ORIGIN)
    assert SigningKey.of_home(tmp_path).verifier(ORIGIN) == first
    assert stat.S_IMODE((tmp_path / "keys" / "checkpoint.pem").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["checkpoint.pem"]


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    SigningKey.of_home(tmp_path)
    path = tmp_path / "keys" / "checkpoint.pem"
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        SigningKey.from_file(path)


def test_a_file_that_is_no_ed25519_key_is_refused(tmp_path: Path) -> None:
    curve = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for name, data in [("curve.pem", curve), ("text.pem", b"not a key")]:
        path = tmp_path / name
        path.write_bytes(data)
        path.chmod(0o600)
        with pytest.raises(InputError, match="not an unencrypted Ed25519"):
            SigningKey.from_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        SigningKey.from_file(tmp_path / "missing.pem")


@pytest.mark.parametrize("text", ["", "name", "name+00000000+AAAA", "na me+1+2", "+c74f20a3+ARpc2Q=="])
def test_text_that_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a public key"):
        VerifierKey.from_text(text)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "tab\tbed"])
def test_a_name_that_a_note_cannot_hold_is_refused(key: SigningKey, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a key"):
        key.verifier(name)
