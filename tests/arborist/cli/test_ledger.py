"""`arborist ledger`, `prove` and `verify-bundle`: what they print, and what they exit with."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from arborist.clock import FixedClock
from arborist.providence.ledger import Ledger
from tests.arborist.cli.conftest import Arborist
from tests.arborist.providence.proven import ProvenHome


@pytest.fixture(scope="module")
def built_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with Ledger.open(home, FixedClock()) as ledger:
        ProvenHome.of(home, ledger).chain()
    return home


@pytest.fixture
def home(built_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built_home, tmp_path / "home"))


@pytest.fixture
def kept(arborist: Arborist, home: Path, tmp_path: Path) -> Path:
    """A checkpoint that was printed, and kept elsewhere."""
    result = arborist("ledger", "checkpoint", "--home", home)
    assert result.returncode == 0
    path = tmp_path / "kept.txt"
    path.write_text(result.stdout, encoding="utf-8")
    return path


def change_an_answer(home: Path) -> None:
    connection = sqlite3.connect(home / "ledger.db")
    connection.execute("DROP TRIGGER records_keep_what_is_bound")
    connection.execute("UPDATE providence_records SET answer = 'Eurasia.' WHERE record_id = 3")
    connection.commit()
    connection.close()


def test_a_kept_checkpoint_makes_a_ledger_sound(arborist: Arborist, home: Path, kept: Path) -> None:
    result = arborist("ledger", "verify", "--home", home, "--checkpoint", kept)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "sound: 3 records, 10 events, the first 9 anchored\n"


def test_without_one_it_is_unanchored(arborist: Arborist, home: Path) -> None:
    result = arborist("ledger", "verify", "--home", home)
    assert result.returncode == 5
    assert result.stdout.startswith("unanchored: 3 records, 9 events\n")


def test_tampering_names_the_record(arborist: Arborist, home: Path, kept: Path) -> None:
    change_an_answer(home)
    for command in (["verify", "--checkpoint", str(kept)], ["verify"], ["fsck"]):
        result = arborist("ledger", *command, "--home", home)
        assert result.returncode == 4
        assert "record 3, cache key" in result.stdout
        assert "answer" in result.stdout
        assert "records_keep_what_is_bound is missing" in result.stdout


def test_faults_are_given_to_machines_with_record_and_stage(arborist: Arborist, home: Path) -> None:
    change_an_answer(home)
    value = json.loads(arborist("ledger", "verify", "--home", home, "--json").stdout)
    assert value["verdict"] == "tampered"
    (fault, *_) = [fault for fault in value["faults"] if fault["place"] == "record 3"]
    assert set(fault) == {"place", "cache_key", "stage", "problem"}


def test_a_sound_ledger_has_no_faults(arborist: Arborist, home: Path) -> None:
    result = arborist("ledger", "fsck", "--home", home)
    assert (result.returncode, result.stdout) == (0, "0 faults in 3 records and 9 events\n")


def test_a_swapped_key_is_tampering(arborist: Arborist, home: Path, kept: Path) -> None:
    shutil.rmtree(home / "keys")
    assert arborist("ledger", "checkpoint", "--home", home).returncode == 0
    result = arborist("ledger", "verify", "--home", home, "--checkpoint", kept)
    assert result.returncode == 4
    assert "not signed by the key" in result.stdout


def test_a_key_of_one_s_own_signs_and_is_trusted_by_its_text(
    arborist: Arborist, home: Path, tmp_path: Path
) -> None:
    arborist("ledger", "checkpoint", "--home", home)
    own = tmp_path / "own.pem"
    shutil.copy(home / "keys" / "checkpoint.pem", own)
    shutil.rmtree(home / "keys")
    signed = json.loads(arborist("ledger", "checkpoint", "--home", home, "--key", own, "--json").stdout)
    assert not (home / "keys" / "checkpoint.pem").exists()
    note = tmp_path / "note.txt"
    note.write_text(signed["checkpoint"], encoding="utf-8")
    key = signed["public_key"]
    assert arborist("ledger", "verify", "--home", home, "--checkpoint", note, "--public-key", key).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ledger", "verify", "--home", "{empty}"], "there is no ledger"),
        (["ledger", "fsck", "--home", "{empty}"], "there is no ledger"),
        (["ledger", "checkpoint", "--home", "{empty}"], "the ledger is empty"),
        (["ledger", "verify", "--home", "{home}", "--checkpoint", "{empty}/none"], "cannot be read"),
        (
            ["ledger", "verify", "--home", "{home}", "--checkpoint", "{note}", "--public-key", "x+y"],
            "--public-key",
        ),
        (["ledger", "checkpoint", "--home", "{home}", "--key", "{empty}/none"], "the key cannot be read"),
        (
            ["prove", "ffffffff", "-o", "{empty}/b.json", "--home", "{home}"],
            "a cache key that begins with ffffffff",
        ),
        (["prove", "short", "-o", "{empty}/b.json", "--home", "{home}"], "first 8 hex digits"),
        (["verify-bundle", "{empty}/none"], "cannot be read"),
        (["ledger", "verify", "--no-such-option"], "No such option"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_2(
    arborist: Arborist, home: Path, kept: Path, tmp_path: Path, arguments: list[str], told: str
) -> None:
    places = {"home": home, "note": kept, "empty": tmp_path / "empty"}
    places["empty"].mkdir()
    result = arborist(*(text.format(**places) for text in arguments))
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_record_is_proven_and_its_bundle_verified(arborist: Arborist, home: Path, tmp_path: Path) -> None:
    with Ledger.open_readonly(home, FixedClock()) as ledger:
        record = next(iter(ledger.records()))
    bundle = tmp_path / "bundle.json"
    result = arborist("prove", record.cache_key[:12], "-o", bundle, "--home", home)
    assert (result.returncode, result.stderr) == (0, "")
    assert record.cache_key in result.stdout
    found = json.loads(arborist("verify-bundle", bundle, "--json").stdout)
    assert found["run_dag_root"] == record.run_dag_root
    assert found["records"] == 3
    key = found["public_key"]
    assert arborist("verify-bundle", bundle, "--public-key", key).returncode == 0
    bundle.write_bytes(bundle.read_bytes().replace(b"always", b"seldom", 1))
    refused = arborist("verify-bundle", bundle)
    assert (refused.returncode, refused.stdout) == (4, "")
    assert refused.stderr.startswith(f"refused: {bundle}: ")


def test_a_backup_is_restored_into_a_home_without_a_ledger(arborist: Arborist, home: Path, tmp_path: Path) -> None:
    kept, elsewhere = tmp_path / "kept.db", tmp_path / "elsewhere"
    told = arborist("ledger", "backup", kept, "--home", home, "--json")
    assert told.returncode == 0 and json.loads(told.stdout)["bytes"] == kept.stat().st_size
    assert arborist("ledger", "restore", kept, "--home", elsewhere).returncode == 0
    assert arborist("ledger", "fsck", "--home", elsewhere).returncode == 0
    refused = arborist("ledger", "restore", kept, "--home", home)
    assert refused.returncode == 2 and "the home has a ledger" in refused.stderr
