"""A backup is the ledger of one moment, in one file, and becomes a ledger again."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from arborist.clock import FixedClock
from arborist.errors import InputError, LedgerError
from arborist.home import Home
from arborist.providence.backup import back_up, restore
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from tests.arborist.providence.proven import ProvenHome

CLOCK = FixedClock()


@pytest.fixture(scope="module")
def asked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a few records; not to be changed."""
    home = tmp_path_factory.mktemp("asked")
    with Ledger.open(home, CLOCK) as ledger:
        ProvenHome.of(home, ledger).chain()
    return home


@pytest.fixture
def home(asked_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(asked_home, tmp_path / "home"))


def _head(home: Path) -> tuple[int, str]:
    with Ledger.open_readonly(home, CLOCK) as ledger:
        return ledger.head()


def test_a_backup_taken_while_a_writer_is_at_work_is_the_last_whole_state(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "backups" / "monday.db"
    head = _head(home)
    with closing(sqlite3.connect(Home(home).ledger_file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute(
            "INSERT INTO audit_events SELECT seq + 1, type, payload, time, hash, hash || 'x' "
            "FROM audit_events ORDER BY seq DESC LIMIT 1"
        )
        copy = back_up(home, target, CLOCK)
        writer.execute("ROLLBACK")
    assert (copy.events, copy.head, copy.size) == (*head, target.stat().st_size)
    assert [path.name for path in target.parent.iterdir() if not path.name.startswith(".")] == ["monday.db"]


def test_a_restored_ledger_is_sound_and_goes_on(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "kept.db", CLOCK)
    elsewhere = tmp_path / "elsewhere"
    restored = restore(tmp_path / "kept.db", elsewhere, CLOCK)
    assert (restored.events, restored.head) == _head(home)
    assert fsck(elsewhere).faults == ()
    with Ledger.open(elsewhere, CLOCK) as ledger:
        assert ledger.head() == _head(home)
        assert [record.cache_key for record in ledger.records()]


def test_a_second_backup_replaces_the_first(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "kept.db"
    assert back_up(home, target, CLOCK) == back_up(home, target, CLOCK)


def test_a_home_that_has_a_ledger_keeps_it(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "kept.db", CLOCK)
    before = Home(home).ledger_file.read_bytes()
    with pytest.raises(InputError, match=r"has a ledger.*move ledger\.db"):
        restore(tmp_path / "kept.db", home, CLOCK)
    assert Home(home).ledger_file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"not a database at all", None])
def test_what_is_no_ledger_is_not_restored(tmp_path: Path, content: bytes | None) -> None:
    backup = tmp_path / "kept.db"
    if content is not None:
        backup.write_bytes(content)
    with pytest.raises((InputError, LedgerError), match=r"kept\.db"):
        restore(backup, tmp_path / "home", CLOCK)
    assert not Home(tmp_path / "home").ledger_file.exists()


def test_a_backup_onto_the_ledger_itself_or_of_none_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the ledger itself"):
        back_up(home, Home(home).ledger_file, CLOCK)
    with pytest.raises(LedgerError, match="no ledger yet"):
        back_up(tmp_path / "empty", tmp_path / "kept.db", CLOCK)
    assert not (tmp_path / "kept.db").exists()
