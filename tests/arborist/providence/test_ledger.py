"""What the ledger keeps, what it refuses, and what is left of it when the power goes."""

import os
import random
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arborist.answering.run_dag import cache_key, retrieval_nodes, run_dag_on_hit
from arborist.clock import FixedClock, iso_time
from arborist.errors import InputError, LedgerError
from arborist.hashing import Domain, hash_json
from arborist.home import Home
from arborist.policy import SELF_REFERENCE, ProvenancePolicy
from arborist.providence.audit_events import GENESIS, EventType, NewEvent
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger, RecordFilter
from arborist.providence.record import NewRecord
from arborist.providence.schema import VERSION, version_of
from tests.arborist.providence.runs import appending, evidence, new_record, retrieval, run


def test_a_record_reads_back_as_it_was_written(ledger: Ledger, clock: FixedClock) -> None:
    new = new_record("Who is at war?", ["Oceania"])
    record = ledger.append_record(new)
    assert ledger.record(new.cache_key) == record
    assert record.dag == new.dag
    assert record.created_at == iso_time(clock.now())
    assert record.falsification_state == "live"
    assert record.retired_at is None
    assert record.to_json()["retrieval_keywords"] == ["Oceania"]
    assert {"run_dag", "private_payloads"}.isdisjoint(record.to_json())
    assert ledger.sources(record.record_id) == new.sources


def test_a_record_stands_behind_the_events_of_its_run(ledger: Ledger) -> None:
    record = ledger.append_record(new_record("Who is at war?", ["Oceania"]))
    built, selected, recorded = ledger.events()
    assert [built.type, selected.type, recorded.type] == [
        EventType.RETRIEVAL_PLAN_BUILT,
        EventType.RETRIEVAL_RESULT_SELECTED,
        EventType.ANSWER_RECORDED,
    ]
    assert built.value["retrieval_keywords"] == ["Oceania"]
    assert built.value["retrieval_plan_hash"] == record.retrieval_plan_hash
    assert selected.value["context_root"] == record.context_root
    assert selected.value["source_count"] == 1
    assert recorded.value["run_dag_root"] == record.run_dag_root
    assert recorded.seq == record.record_id


def test_events_are_numbered_without_gaps_and_chained(ledger: Ledger) -> None:
    for number in range(5):
        ledger.append_record(new_record(f"Question {number}?"))
    events = list(ledger.events())
    assert [event.seq for event in events] == list(range(1, 16))
    assert [event.previous_hash for event in events] == [GENESIS, *(event.hash for event in events[:-1])]
    assert ledger.head() == (15, events[-1].hash)
    assert [event.seq for event in ledger.events(4, 7)] == [4, 5, 6]
    assert ledger.event_hashes() == [event.hash for event in events]


def test_many_events_are_read_in_order(ledger: Ledger) -> None:
    count = 1203
    with ledger._transaction():
        ledger._append_events([NewEvent(EventType.SHARD_EVICTED, {"number": number}) for number in range(count)])
    assert [event.value["number"] for event in ledger.events()] == list(range(count))


def test_a_second_record_in_use_under_one_key_is_refused_and_leaves_nothing(ledger: Ledger) -> None:
    ledger.append_record(new_record("Who is at war?"))
    before = ledger.head()
    with pytest.raises(LedgerError, match="is in use"):
        ledger.append_record(new_record("Who is at war?"))
    assert ledger.head() == before


def test_of_several_records_in_one_transaction_all_are_kept_or_none(ledger: Ledger) -> None:
    with pytest.raises(LedgerError):
        ledger.append_records([new_record("One?"), new_record("Two?"), new_record("One?")])
    assert ledger.head() == (0, GENESIS)
    assert len(ledger.append_records([new_record("One?"), new_record("Two?")])) == 2


def test_a_record_under_a_key_that_is_not_its_own_is_refused(ledger: Ledger) -> None:
    new = new_record("Who is at war?")
    with pytest.raises(InputError, match="not the cache key of this run"):
        ledger.append_record(NewRecord(new.dag, "0" * 64, (), new.sources, new.policy))
    assert ledger.head() == (0, GENESIS)


def test_a_run_without_all_its_payloads_is_not_recorded(ledger: Ledger) -> None:
    new = new_record("Who is at war?")
    with pytest.raises(InputError, match="payloads of all its stages"):
        NewRecord(new.dag.without_payloads(), new.cache_key, (), new.sources, new.policy)
    assert ledger.head() == (0, GENESIS)


def test_a_retired_record_stays_and_its_key_is_free_again(ledger: Ledger, clock: FixedClock) -> None:
    first = ledger.append_record(new_record("Who is at war?"))
    clock.advance(10)
    retired = ledger.retire(first.cache_key, "asked anew")
    assert retired.retired_at == iso_time(clock.now())
    assert ledger.record(first.cache_key) is None
    assert ledger.find(first.cache_key) == retired
    second = ledger.append_record(new_record("Who is at war?"))
    assert ledger.find(first.cache_key) == second
    assert ledger.history(first.cache_key) == [retired, second]
    with pytest.raises(LedgerError, match="no record in use"):
        ledger.retire("f" * 64, "never there")


def test_a_record_changes_its_state_together_with_an_event(ledger: Ledger) -> None:
    record = ledger.append_record(new_record("Who is at war?"))
    assert ledger.set_state(record.cache_key, "failed", "wrong").falsification_state == "failed"
    assert ledger.set_state(record.cache_key, "failed", "again").falsification_state == "failed"
    assert ledger.set_state(record.cache_key, "live", "right after all").falsification_state == "live"
    changes = list(ledger.events(types=[EventType.RECORD_FALSIFIED, EventType.RECORD_REVIVED]))
    assert [(event.type, event.value["reason"]) for event in changes] == [
        ("record_falsified", "wrong"),
        ("record_revived", "right after all"),
    ]
    with pytest.raises(InputError, match="live, failed, stale, quarantined"):
        ledger.set_state(record.cache_key, "doubtful", "no such state")


def test_only_a_retired_record_is_burned_and_the_log_keeps_its_digests(ledger: Ledger) -> None:
    record = ledger.append_record(new_record("Who is at war?"))
    with pytest.raises(LedgerError, match="retire it first"):
        ledger.burn(record.record_id, "too early")
    ledger.retire(record.cache_key, "never matured")
    ledger.burn(record.record_id, "never matured")
    assert ledger.history(record.cache_key) == []
    assert ledger.sources(record.record_id) == ()
    assert ledger.event(record.record_id).value["run_dag_root"] == record.run_dag_root
    assert fsck(ledger.path.parent).faults == ()


def test_what_is_said_of_a_record_is_not_said_without_it(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="together with"):
        ledger.append_event(NewEvent(EventType.RECORD_RETIRED, {"record_id": 1}))


def test_a_hit_keeps_the_plan_and_the_root_of_its_own_run(ledger: Ledger) -> None:
    record = ledger.append_record(new_record("Who is at war?", ["Oceania"]))
    own = retrieval("Who is at war?", ["Eastasia"])
    dag = run_dag_on_hit(retrieval_nodes(own), record.dag)
    hit = ledger.append_hit(record, dag, ["Eastasia"])
    assert hit.value["run_dag_root"] == dag.root != record.run_dag_root == hit.value["record_run_dag_root"]
    built = ledger.event(hit.seq - 2)
    assert own.plan is not None
    assert built.value["retrieval_plan"] == own.plan.canonical()
    assert fsck(ledger.path.parent).faults == ()


def test_records_are_found_by_what_their_columns_say(ledger: Ledger) -> None:
    war = ledger.append_record(new_record("Who is at war?", ["Oceania", "always"]))
    bare = ledger.append_record(new_record("Who is not?"))
    gone = ledger.append_record(new_record("Who was?", ["Oceania"]))
    ledger.retire(gone.cache_key, "asked anew")
    gone = ledger.find(gone.cache_key)
    ledger.set_state(bare.cache_key, "stale", "moved")
    bare = ledger.find(bare.cache_key)

    def found(limit: int | None = None, **wanted: object) -> list[object]:
        return list(ledger.records(RecordFilter(**wanted), limit))  # type: ignore[arg-type]

    assert found() == [bare, war]
    assert found(1) == [bare]
    assert found(with_retired=True) == [gone, bare, war]
    assert found(keyword="Oceania") == [war]
    assert found(keyword="Oceania", with_retired=True) == [gone, war]
    assert found(keyword="Ocean") == []
    assert found(retrieval_mode="fts5") == [bare]
    assert found(plan=war.retrieval_plan_hash) == [war]
    assert found(audit_mode="STRICT") == [bare, war]
    assert found(audit_mode="HYBRID") == []
    assert found(state="stale") == [bare]
    assert found(stale_ranking_policy=war.ranking_policy_hash) == []
    assert found(stale_ranking_policy="0" * 64) == [bare, war]


def test_more_records_than_a_page_are_listed_while_they_change(ledger: Ledger) -> None:
    ledger.append_records([new_record(f"Question {number}?") for number in range(501)])
    seen = []
    for record in ledger.records():
        ledger.set_state(record.cache_key, "stale", "walked over")
        seen.append(record.question)
    assert seen == [f"Question {number}?" for number in reversed(range(501))]


def test_a_record_is_found_by_the_beginning_of_its_key(ledger: Ledger) -> None:
    record = ledger.append_record(new_record("Who is at war?"))
    assert ledger.find(record.cache_key[:8].upper()) == record
    for prefix, told in [(record.cache_key[:7], "first 8"), ("not hex digits", "first 8"), ("f" * 20, "begins")]:
        with pytest.raises(InputError, match=told):
            ledger.find(prefix)


def test_a_prefix_of_several_keys_is_told_from_each(ledger: Ledger) -> None:
    ledger.append_record(new_record("Who is at war?"))
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER records_keep_what_is_bound")
    connection.execute("UPDATE providence_records SET cache_key = ?", ("ab" * 32,))
    connection.commit()
    ledger.append_record(new_record("Who is not?"))
    connection.execute("UPDATE providence_records SET cache_key = ? WHERE record_id = 6", ("ab" * 31 + "cd",))
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="several records"):
        ledger.find("ab" * 10)
    assert ledger.find("ab" * 31 + "c").question == "Who is not?"


def test_what_leans_on_a_promoted_answer_is_found_at_any_depth_in_either_spelling(ledger: Ledger) -> None:
    first = ledger.append_record(new_record("First?"))
    item = evidence(uri=f"arborist://providence/{first.cache_key}", role=SELF_REFERENCE)
    second = ledger.append_record(new_record("Second?", (), [item]))
    item = evidence(uri=f"aborist://providence/{second.cache_key}", role=SELF_REFERENCE)
    third = ledger.append_record(new_record("Third?", (), [item]))
    ledger.append_record(new_record("Fourth?"))
    assert ledger.leaning_on(first.cache_key) == sorted([second.cache_key, third.cache_key])
    assert ledger.leaning_on(third.cache_key) == []
    assert ledger.citing(item.document_root) == [third.cache_key]


@pytest.mark.parametrize("privacy", ["full", "hashes"])
def test_privacy_changes_the_blob_and_not_the_root(ledger: Ledger, privacy: str) -> None:
    policy = ProvenancePolicy(dag_privacy=privacy)  # type: ignore[arg-type]
    new = new_record("Who is at war?", ["Oceania"], provenance=policy)
    record = ledger.append_record(new)
    assert record.run_dag_root == new.dag.root
    assert (b"Oceania" in record.run_dag) == (privacy == "full")
    assert record.dag == new.dag
    assert fsck(ledger.path.parent).faults == ()


@pytest.mark.parametrize("privacy", ["full", "hashes"])
@pytest.mark.parametrize("shown", [False, True])
def test_keywords_that_are_not_to_be_kept_are_nowhere_in_the_file(
    tmp_path: Path, clock: FixedClock, privacy: str, shown: bool
) -> None:
    policy = ProvenancePolicy(store_keywords_on_record=False, dag_privacy=privacy)  # type: ignore[arg-type]
    new = new_record("Who is at war?", ["Goldstein"], provenance=policy, show_keywords_to_model=shown)
    with Ledger.open(tmp_path, clock) as ledger:
        record = ledger.append_record(new)
        dag = run_dag_on_hit(retrieval_nodes(retrieval("Who is at war?", ["Winston"])), new.dag)
        if not shown:
            ledger.append_hit(record, dag, None)
    assert record.retrieval_keywords is None
    assert record.run_dag_root == new.dag.root
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Goldstein" not in kept
    assert b"Winston" not in kept
    assert fsck(tmp_path).faults == ()


@pytest.mark.parametrize(
    "policy",
    [ProvenancePolicy(retrieval_plan_affects_cache_key=True), ProvenancePolicy(keywords_affect_cache_key=True)],
)
def test_a_key_that_binds_more_than_eight_parts_is_recognised(ledger: Ledger, policy: ProvenancePolicy) -> None:
    new = new_record("Who is at war?", ["Oceania"], provenance=policy)
    assert new.cache_key != cache_key(new.dag.cache_key_parts())
    ledger.append_record(new)
    assert fsck(ledger.path.parent).faults == ()


def test_a_strict_key_is_recognised_where_the_dag_does_not_bind_the_keywords(ledger: Ledger) -> None:
    bound = run("Who is at war?")
    plan = bound.node("retrieval_plan").payload | {"retrieval_keywords": ["Oceania"]}
    key = cache_key(bound.cache_key_parts(), retrieval_plan_hash=hash_json(Domain.RETRIEVAL_PLAN, plan))
    policy = ProvenancePolicy(bind_keywords_in_run_dag=False, retrieval_plan_affects_cache_key=True)
    ledger.append_record(NewRecord.of_run(bound, key, (evidence(),), ["Oceania"], policy))
    assert ledger.find(key).to_json()["retrieval_keywords"] == ["Oceania"]
    assert fsck(ledger.path.parent).faults == ()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET payload = '{}' WHERE seq = 1",
        "DELETE FROM audit_events WHERE seq = 3",
        "INSERT INTO audit_events VALUES (9, 'x', '{}', '', '', '')",
        "INSERT INTO audit_events VALUES (4, 'x', '{}', '', 'not the last hash', '')",
        "INSERT OR REPLACE INTO audit_events SELECT * FROM audit_events WHERE seq = 1",
        "UPDATE providence_records SET answer = 'another'",
        "UPDATE providence_records SET falsification_state = 'doubtful'",
        "DELETE FROM providence_records",
        "INSERT OR REPLACE INTO providence_records SELECT * FROM providence_records",
        "UPDATE record_sources SET uri = 'elsewhere'",
        "DELETE FROM record_sources",
    ],
)
def test_the_file_itself_refuses_to_be_rewritten(ledger: Ledger, statement: str) -> None:
    ledger.append_record(new_record("Who is at war?"))
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()


def test_a_clock_that_runs_backwards_is_recorded_as_it_was(ledger: Ledger, clock: FixedClock) -> None:
    ledger.append_record(new_record("First?"))
    clock.advance(-3600)
    record = ledger.append_record(new_record("Second?"))
    assert record.created_at == iso_time(clock.now())
    assert fsck(ledger.path.parent).faults == ()


def test_a_ledger_of_a_newer_version_is_left_alone(tmp_path: Path, clock: FixedClock) -> None:
    Ledger.open(tmp_path, clock).close()
    connection = sqlite3.connect(tmp_path / "ledger.db")
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    for opening in (Ledger.open, Ledger.open_readonly):
        with pytest.raises(LedgerError, match="newer arborist"):
            opening(tmp_path, clock)


def test_another_program_s_file_is_left_alone(tmp_path: Path, clock: FixedClock) -> None:
    connection = sqlite3.connect(tmp_path / "ledger.db")
    connection.execute("CREATE TABLE theirs (value)")
    connection.commit()
    connection.close()
    before = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(LedgerError, match="another program"):
        Ledger.open(tmp_path, clock)
    assert (tmp_path / "ledger.db").read_bytes() == before


def test_a_file_that_is_no_database_is_told_plainly(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "ledger.db").write_bytes(b"not a database " * 100)
    with pytest.raises(LedgerError, match="not an SQLite file"):
        Ledger.open(tmp_path, clock)


def test_reading_needs_a_ledger_that_is_there(tmp_path: Path, clock: FixedClock) -> None:
    with pytest.raises(LedgerError, match="no ledger yet"):
        Ledger.open_readonly(tmp_path, clock)
    assert not list(tmp_path.iterdir())


def test_a_reader_cannot_write(ledger: Ledger, clock: FixedClock) -> None:
    record = ledger.append_record(new_record("Who is at war?"))
    with Ledger.open_readonly(ledger.path.parent, clock) as reader:
        assert reader.record(record.cache_key) == record
        with pytest.raises(LedgerError, match="cannot be written"):
            reader.retire(record.cache_key, "no right to")


def test_several_processes_append_to_one_chain(tmp_path: Path) -> None:
    processes = [appending(tmp_path, name, 15) for name in ("one", "two", "three")]
    keys = {key for process in processes for key in process.communicate()[0].split()}
    assert [process.returncode for process in processes] == [0, 0, 0]
    report = fsck(tmp_path)
    assert report.faults == ()
    assert len(keys) == report.records == 45


def test_threads_that_open_a_new_home_at_once_make_one_ledger(tmp_path: Path, clock: FixedClock) -> None:
    def recorded(number: int) -> str:
        with Ledger.open(tmp_path, clock) as ledger:
            return ledger.append_record(new_record(f"Question {number}?")).cache_key

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(recorded, range(6)))) == 6
    assert fsck(tmp_path).records == 6


def test_a_home_is_opened_for_the_first_time_by_many_again_and_again(tmp_path: Path, clock: FixedClock) -> None:
    for trial in range(15):
        home = tmp_path / str(trial)
        with ThreadPoolExecutor(8) as pool:
            opened = [pool.submit(lambda home=home: Ledger.open(home, clock).close()) for _ in range(8)]
        assert [made.exception() for made in opened] == [None] * 8


class OvertakenConnection(sqlite3.Connection):
    """A connection between whose first statement and second somebody else makes the ledger."""

    statements = 0

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.statements += 1
        if self.statements == 2:
            ((_, _, path),) = super().execute("PRAGMA database_list").fetchall()
            Ledger.open(Path(path).parent, FixedClock()).close()
        return super().execute(*arguments)


def test_a_ledger_that_is_made_while_another_opens_it_is_no_other_programs_file(tmp_path: Path) -> None:
    path = Home(tmp_path).ledger_file
    with closing(sqlite3.connect(path, factory=OvertakenConnection, isolation_level=None)) as connection:
        assert version_of(connection, path) == 0
        assert version_of(connection, path) == VERSION


def killed_while_appending(home: Path, trial: int, lines: int) -> None:
    """Kill an appending process after so many records, at whatever point of the next one it is."""
    process = appending(home, f"trial {trial}", 10_000)
    assert process.stdout is not None
    durable = [process.stdout.readline().strip() for _ in range(lines)]
    os.kill(process.pid, signal.SIGKILL)
    durable += process.stdout.read().split("\n")[:-1]
    process.wait()
    assert process.returncode == -signal.SIGKILL
    report = fsck(home)
    assert report.faults == ()
    with Ledger.open_readonly(home, FixedClock()) as ledger:
        kept = {record.cache_key for record in ledger.records()}
    assert set(durable) <= kept


def test_a_process_killed_while_appending_leaves_whole_records_only(tmp_path: Path) -> None:
    for trial in range(3):
        killed_while_appending(tmp_path, trial, lines=1 + trial)


@pytest.mark.slow
def test_twenty_kills_at_random_leave_whole_records_only(tmp_path: Path) -> None:
    chance = random.Random(20)
    for trial in range(20):
        killed_while_appending(tmp_path, trial, lines=chance.randint(0, 60))
