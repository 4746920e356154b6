"""Tampering trials: whatever is done to a ledger is told from a sound one, with the right exit code."""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arborist.clock import FixedClock
from arborist.providence.audit_events import GENESIS, event_hash
from arborist.providence.audit_log import public_key_file, sign_checkpoint
from arborist.providence.checkpoint import SigningKey, VerifierKey
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from arborist.providence.schema import migrate
from arborist.providence.verification import EXIT_CODES, Anchor, Verdict, Verification, verify_ledger
from tests.arborist.providence.runs import appending, new_record


def columns_of_all_tables() -> list[tuple[str, str]]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, Path("in memory"))
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]


@dataclass(frozen=True)
class Target:
    """A copy of a ledger that may be attacked, and the checkpoint that was kept of it."""

    home: Path
    anchor: Anchor

    @property
    def file(self) -> Path:
        return self.home / "ledger.db"

    def verified(self) -> Verification:
        return verify_ledger(self.home, self.anchor, processes=1)

    @contextmanager
    def unguarded(self) -> Iterator[sqlite3.Connection]:
        """Without triggers, as an attacker has it who puts them back afterwards."""
        connection = sqlite3.connect(self.file)
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints = on")
        yield connection
        for _, sql in triggers:
            connection.execute(sql)
        connection.commit()
        connection.close()


def newest_note(home: Path) -> Anchor:
    note = max((home / "checkpoints").iterdir()).read_text(encoding="utf-8")
    return Anchor(note, VerifierKey.from_text(public_key_file(home).read_text(encoding="utf-8")))


@pytest.fixture
def target(eventful_home: Path, tmp_path: Path) -> Target:
    home = tmp_path / "home"
    shutil.copytree(eventful_home, home)
    return Target(home, newest_note(home))


def test_a_ledger_of_everything_is_sound(target: Target) -> None:
    found = target.verified()
    assert found.faults == ()
    assert found.verdict == Verdict.SOUND
    assert found.anchored_events == found.events - 4


def test_putting_the_triggers_back_leaves_no_trace(target: Target) -> None:
    with target.unguarded():
        pass
    assert target.verified().verdict == Verdict.SOUND


def test_without_a_checkpoint_it_is_unanchored_and_never_called_sound(target: Target) -> None:
    found = verify_ledger(target.home, None, processes=1)
    assert found.verdict == Verdict.UNANCHORED
    assert found.anchored_events == 0


def flipped(value: Any, chance: random.Random) -> Any:
    """The value with one bit changed; text may end up as bytes that are not UTF-8."""
    if isinstance(value, int):
        return value ^ 1 << chance.randrange(40)
    raw = bytearray(value.encode() if isinstance(value, str) else value)
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return bytes(raw)


def overwrite(connection: sqlite3.Connection, table: str, column: str, rowid: int, value: Any, old: Any) -> None:
    cast = "CAST(? AS TEXT)" if isinstance(old, str) else "?"
    connection.execute(f"UPDATE {table} SET {column} = {cast} WHERE rowid = ?", (value, rowid))


def filled_rows(file: Path, table: str, column: str) -> list[tuple[int, Any]]:
    connection = sqlite3.connect(file)
    connection.text_factory = bytes
    rows = connection.execute(
        f"SELECT rowid, {column}, typeof({column}) FROM {table} WHERE {column} IS NOT NULL AND {column} <> ''"
    ).fetchall()
    connection.close()
    return [(rowid, value.decode() if kind == b"text" else value) for rowid, value, kind in rows]


def flip_a_bit(target: Target, table: str, column: str, chance: random.Random) -> None:
    rows = filled_rows(target.file, table, column)
    with target.unguarded() as connection:
        done = False
        while not done:
            rowid, old = chance.choice(rows)
            # A number that another row has already is no way to tamper: the file has unique keys.
            with suppress(sqlite3.IntegrityError):
                overwrite(connection, table, column, rowid, flipped(old, chance), old)
                done = True


@pytest.mark.parametrize(("table", "column"), columns_of_all_tables())
def test_a_bit_in_any_column_of_any_table_is_noticed(target: Target, table: str, column: str) -> None:
    flip_a_bit(target, table, column, random.Random(f"{table}.{column}"))
    assert target.verified().verdict == Verdict.TAMPERED


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), columns_of_all_tables())
def test_twenty_bits_in_any_column_are_each_noticed(
    eventful_home: Path, tmp_path: Path, table: str, column: str
) -> None:
    chance = random.Random(f"{table}.{column}.slow")
    for trial in range(20):
        home = tmp_path / str(trial)
        shutil.copytree(eventful_home, home)
        target = Target(home, newest_note(home))
        flip_a_bit(target, table, column, chance)
        assert target.verified().verdict == Verdict.TAMPERED


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("retired_at", "2023-11-14T22:13:20.000000Z"),
        ("private_payloads", b"{}"),
        ("falsification_state", "stale"),
    ],
)
def test_a_column_that_was_empty_or_usual_cannot_be_filled(target: Target, column: str, value: Any) -> None:
    with target.unguarded() as connection:
        connection.execute(f"UPDATE providence_records SET {column} = ? WHERE record_id = 3", (value,))
    assert target.verified().verdict == Verdict.TAMPERED


@pytest.mark.parametrize(
    "column", ["retrieval_keywords", "retrieval_plan_hash", "retrieval_mode", "ranking_policy_hash"]
)
def test_a_column_cannot_be_emptied(target: Target, column: str) -> None:
    with target.unguarded() as connection:
        connection.execute(f"UPDATE providence_records SET {column} = NULL WHERE record_id = 3")
    assert target.verified().verdict == Verdict.TAMPERED


@pytest.mark.parametrize(
    ("old", "new", "stage"),
    [
        (b'"text":"Oceania is at war', b'"text":"Eurasia is at war', "answer"),
        (b'"retrieval_keywords":["Oceania"', b'"retrieval_keywords":["Eurasia"', "retrieval_plan"),
        (b"Answer from the evidence.", b"Answer from your opinion.", "prompt"),
        (b'"top_k":8', b'"top_k":9', "retrieval_plan"),
        (b'"score":"1.5"', b'"score":"9.5"', "retrieval_result"),
        (b'"audit_mode":"STRICT"', b'"audit_mode":"HYBRID"', "final_label"),
        (b'"question":"Who', b'"question":"Why', "question"),
    ],
)
def test_a_changed_byte_of_a_record_is_named_with_record_and_stage(
    target: Target, old: bytes, new: bytes, stage: str
) -> None:
    with target.unguarded() as connection:
        (blob, key) = connection.execute(
            "SELECT run_dag, cache_key FROM providence_records WHERE record_id = 3"
        ).fetchone()
        assert blob.count(old) >= 1
        connection.execute(
            "UPDATE providence_records SET run_dag = ? WHERE record_id = 3", (blob.replace(old, new),)
        )
    faults = fsck(target.home).faults
    assert ("record 3", key, stage) in {(fault.place, fault.cache_key, fault.stage) for fault in faults}


def test_a_deleted_tail_is_noticed(target: Target) -> None:
    with target.unguarded() as connection:
        keep = connection.execute("SELECT max(seq) FROM audit_events").fetchone()[0] - 8
        connection.execute("DELETE FROM audit_events WHERE seq > ?", (keep,))
        connection.execute("DELETE FROM record_sources WHERE record_id > ?", (keep,))
        connection.execute("DELETE FROM providence_records WHERE record_id > ?", (keep,))
    found = target.verified()
    assert found.verdict == Verdict.TAMPERED
    assert any("later ones were cut off" in fault.problem for fault in found.faults)


def test_a_cut_in_the_middle_is_noticed(target: Target) -> None:
    with target.unguarded() as connection:
        connection.execute("DELETE FROM audit_events WHERE seq = 5")
    assert any(str(fault) == "event 5: it is missing" for fault in fsck(target.home).faults)


def test_a_ledger_restored_from_yesterday_is_noticed(tmp_path: Path) -> None:
    clock = FixedClock()
    with Ledger.open(tmp_path, clock) as ledger:
        ledger.append_record(new_record("Yesterday?"))
    yesterday = (tmp_path / "ledger.db").read_bytes()
    with Ledger.open(tmp_path, clock) as ledger:
        ledger.append_record(new_record("Today?"))
        sign_checkpoint(tmp_path, ledger, SigningKey.of_home(tmp_path))
    anchor = newest_note(tmp_path)
    (tmp_path / "ledger.db").write_bytes(yesterday)
    assert verify_ledger(tmp_path, None).verdict == Verdict.UNANCHORED
    assert verify_ledger(tmp_path, anchor).verdict == Verdict.TAMPERED
    with Ledger.open(tmp_path, clock) as ledger:
        ledger.append_records([new_record("Instead?"), new_record("And then?"), new_record("And then some?")])
    found = verify_ledger(tmp_path, anchor)
    assert [fault.problem for fault in found.faults] == ["the first 6 events are not those that were signed"]


@pytest.mark.parametrize("first", ["Yesterday?", "Another beginning?"])
def test_a_ledger_replaced_by_a_consistent_one_is_noticed(tmp_path: Path, first: str) -> None:
    homes = tmp_path / "theirs", tmp_path / "ours"
    for home, questions in zip(homes, [(first, "Forged?", "More?"), ("Yesterday?", "Today?")], strict=True):
        with Ledger.open(home, FixedClock()) as ledger:
            ledger.append_records([new_record(question) for question in questions])
            sign_checkpoint(home, ledger, SigningKey.of_home(home))
    anchor = newest_note(homes[1])
    assert verify_ledger(homes[0], newest_note(homes[0])).verdict == Verdict.SOUND
    shutil.copy(homes[0] / "ledger.db", homes[1] / "ledger.db")
    assert verify_ledger(homes[1], anchor).verdict == Verdict.TAMPERED


def test_a_swapped_key_is_noticed(target: Target) -> None:
    kept = target.anchor
    shutil.rmtree(target.home / "keys")
    with Ledger.open(target.home, FixedClock()) as ledger:
        swapped = sign_checkpoint(target.home, ledger, SigningKey.of_home(target.home))
    own_key = VerifierKey.from_text(public_key_file(target.home).read_text(encoding="utf-8"))
    assert own_key == swapped.key != kept.key
    for anchor in (Anchor(kept.note, swapped.key), Anchor(swapped.note, kept.key)):
        found = verify_ledger(target.home, anchor)
        assert found.verdict == Verdict.TAMPERED
        assert "not signed by the key" in found.faults[0].problem


def rechained(connection: sqlite3.Connection) -> None:
    """Give every event the hashes it would have if it had always stood where it stands now."""
    previous = GENESIS
    rows = connection.execute("SELECT seq, type, payload, time FROM audit_events ORDER BY seq").fetchall()
    for seq, kind, payload, time in rows:
        digest = event_hash(seq, kind, payload, time, previous)
        connection.execute(
            "UPDATE audit_events SET previous_hash = ?, hash = ? WHERE seq = ?", (previous, digest, seq)
        )
        previous = digest


@pytest.mark.parametrize("chained_anew", [False, True])
def test_reordered_events_are_noticed(target: Target, chained_anew: bool) -> None:
    with target.unguarded() as connection:
        rows = connection.execute("SELECT type, payload, time FROM audit_events WHERE seq IN (1, 4)").fetchall()
        for seq, row in zip((4, 1), rows, strict=True):
            connection.execute(
                "UPDATE audit_events SET type = ?, payload = ?, time = ? WHERE seq = ?", (*row, seq)
            )
        if chained_anew:
            rechained(connection)
    assert target.verified().verdict == Verdict.TAMPERED


def test_a_rewritten_reason_is_noticed_even_where_the_chain_was_made_anew(target: Target) -> None:
    with target.unguarded() as connection:
        connection.execute("UPDATE audit_events SET payload = replace(payload, 'was wrong', 'was right')")
        rechained(connection)
    found = target.verified()
    assert found.verdict == Verdict.TAMPERED
    assert any(fault.place == "checkpoint" for fault in found.faults)


def test_a_record_that_no_event_made_is_noticed(target: Target) -> None:
    with target.unguarded() as connection:
        connection.execute("CREATE TEMP TABLE copy AS SELECT * FROM providence_records WHERE record_id = 3")
        connection.execute("UPDATE copy SET record_id = 100000, cache_key = 'ff'")
        connection.execute("INSERT INTO providence_records SELECT * FROM copy")
    assert [fault.place for fault in fsck(target.home).faults] == ["record 100000"]


def test_a_record_that_was_taken_out_is_noticed(target: Target) -> None:
    with target.unguarded() as connection:
        connection.execute("DELETE FROM providence_records WHERE record_id = 3")
    assert "record 3: it is missing, its event is there" in [str(fault) for fault in fsck(target.home).faults]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER audit_events_are_not_updated",
        "DROP INDEX records_by_cache_key",
        "CREATE TABLE extra (value)",
        "ALTER TABLE providence_records ADD COLUMN extra TEXT",
        "DROP TABLE record_sources",
    ],
)
def test_a_changed_schema_is_noticed(target: Target, statement: str) -> None:
    connection = sqlite3.connect(target.file)
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert target.verified().verdict == Verdict.TAMPERED


def test_a_damaged_file_is_noticed(target: Target) -> None:
    connection = sqlite3.connect(target.file)
    connection.execute("PRAGMA wal_checkpoint(truncate)")
    connection.close()
    raw = bytearray(target.file.read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 4096] = bytes(4096)
    target.file.write_bytes(raw)
    assert target.verified().verdict == Verdict.TAMPERED


def test_a_large_ledger_is_walked_by_several_processes_to_the_same_end(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arborist.providence.fsck.RANGE", 7)
    with target.unguarded() as connection:
        connection.execute("UPDATE audit_events SET payload = payload || ' ' WHERE seq IN (6, 7, 8, 20)")
    seen: list[tuple[int, int]] = []
    faults = fsck(target.home, 2, lambda done, total: seen.append((done, total))).faults
    assert faults == fsck(target.home, 1).faults
    assert {fault.place for fault in faults} >= {"event 6", "event 7", "event 8", "event 20"}
    assert seen[-1][0] == seen[-1][1]


def test_no_alarm_while_others_append(tmp_path: Path) -> None:
    Ledger.open(tmp_path, FixedClock()).close()
    others = appending(tmp_path, "other", 60)
    walks = 0
    while others.poll() is None:
        assert fsck(tmp_path, 1).faults == ()
        walks += 1
    assert others.returncode == 0
    assert walks > 1
    assert fsck(tmp_path, 1).records == 60


@pytest.mark.slow
def test_no_alarm_in_ten_thousand_honest_appends(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, FixedClock()) as ledger:
        for start in range(0, 10_000, 100):
            ledger.append_records([new_record(f"Question {number}?") for number in range(start, start + 100)])
            if start == 5_000:
                sign_checkpoint(tmp_path, ledger, SigningKey.of_home(tmp_path))
    found = verify_ledger(tmp_path, newest_note(tmp_path))
    assert found.faults == ()
    assert found.verdict == Verdict.SOUND
    assert found.records == 10_000


def test_each_verdict_has_an_exit_code_of_its_own() -> None:
    assert len({*EXIT_CODES.values(), 2}) == len(Verdict) + 1
