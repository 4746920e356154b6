"""A copy of the ledger, taken while it is in use, and put in place of one that was lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from arborist.clock import Clock
from arborist.errors import InputError, LedgerError
from arborist.files import replacing
from arborist.home import Home
from arborist.providence.ledger import Ledger

PAGES_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class LedgerCopy:
    """What a copy holds: how many events, the hash of the last, and how large its file is."""

    path: Path
    events: int
    head: str
    size: int


def back_up(home: Path, target: Path, clock: Clock) -> LedgerCopy:
    """Copy the ledger of `home` to the file `target`, which is replaced as a whole or left as it was.

    The copy is of one moment; others may write meanwhile. It is one file that needs none beside it. Raises
    LedgerError where there is no ledger, InputError where the copy cannot be written.
    """
    source = Home(home).ledger_file
    with Ledger.open_readonly(home, clock):
        pass
    if target.absolute() == source.absolute():
        raise InputError.at(target, "", "that is the ledger itself", "name another file")
    with _told(target), replacing(target) as partial:
        _copy(source, partial)
    return _described(target, clock)


def restore(backup: Path, home: Path, clock: Clock) -> LedgerCopy:
    """Make a backup the ledger of a home that has none. Raises InputError where it has one, or for no backup."""
    target = Home(home).ledger_file
    if target.exists():
        remedy = f"move {target.name}, {target.name}-wal and {target.name}-shm away first, and keep them"
        raise InputError.at(target, "", "the home has a ledger", remedy)
    if not backup.is_file():
        raise InputError.at(backup, "", "there is no such file", "check the path")
    with _told(backup), replacing(target) as partial:
        _copy(backup, partial)
        with _opened(partial) as copy:
            names = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {"audit_events", "providence_records"} <= names:
                raise InputError.at(backup, "", "not a ledger", "give what `arborist ledger backup` wrote")
    return _described(target, clock)


def _copy(source: Path, target: Path) -> None:
    with _opened(source) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new, pages=PAGES_AT_ONCE)
        # As a journal beside it the copy would not be whole in one file.
        new.execute("PRAGMA journal_mode = delete")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"{path}: cannot be copied: damaged, not a ledger, or the disk is full") from error
    except OSError as error:
        raise InputError.at(error.filename or path, "", error.strerror or "cannot be written") from error


def _described(path: Path, clock: Clock) -> LedgerCopy:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        events, head = Ledger(connection, path, clock).head()
    return LedgerCopy(path, events, head, path.stat().st_size)
