"""The table of promotions is what the events make of it, in whatever order documents come and go."""

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arborist.clock import FixedClock
from arborist.errors import LedgerError
from arborist.providence.audit_events import EventType, NewEvent
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from arborist.providence.promotions import (
    PROMOTION_EVENTS,
    NewPromotion,
    Promotion,
    Retirement,
    count_in_use,
    numbers_changed_after,
    promotion_of_document,
    promotions_in_use,
    promotions_of,
    write_promotions,
)
from arborist.providence.record import ProvidenceRecord
from tests.arborist.providence.runs import new_record


def promotion(record: ProvidenceRecord, supersedes: str | None = None) -> NewPromotion:
    return NewPromotion(
        document_root=record.run_dag_root,
        cache_key=record.cache_key,
        record_id=record.record_id,
        run_dag_root=record.run_dag_root,
        question_hash=record.question_hash,
        conversation_hash=record.conversation_hash,
        kindergarten_seconds=3600,
        supersedes=supersedes,
    )


def retirement(record: ProvidenceRecord, reason: str = "falsification-state") -> Retirement:
    return Retirement(record.run_dag_root, record.cache_key, reason)


def table(ledger: Ledger) -> dict[str, Promotion]:
    columns = ", ".join(Promotion.__slots__)
    return {row[1]: Promotion(*row) for row in ledger.rows(f"SELECT {columns} FROM promotions")}


steps = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["promote", "retire", "supersede"])), max_size=12)


@settings(max_examples=25, deadline=None)
@given(steps)
def test_the_table_is_what_the_events_make_of_it(done: list[tuple[int, str]]) -> None:
    with TemporaryDirectory() as folder, Ledger.open(Path(folder), FixedClock()) as ledger:
        records = [ledger.append_record(new_record(f"Question {number}?")) for number in range(4)]
        for number, step in done:
            record, other = records[number], records[(number + 1) % 4]
            known = promotion_of_document(ledger, record.run_dag_root)
            if step == "promote" or known is None:
                write_promotions(ledger, [promotion(record)], [])
            elif step == "retire":
                write_promotions(ledger, [], [retirement(record)])
            else:
                write_promotions(ledger, [promotion(other, record.run_dag_root)], [])
        assert table(ledger) == promotions_of(ledger.events(types=PROMOTION_EVENTS))
        assert count_in_use(ledger) == len(list(promotions_in_use(ledger)))
        assert fsck(Path(folder)).faults == ()


def test_a_document_keeps_its_number_when_it_comes_back(ledger: Ledger) -> None:
    first, second = (ledger.append_record(new_record(question)) for question in ("First?", "Second?"))
    write_promotions(ledger, [promotion(first), promotion(second)], [])
    write_promotions(ledger, [], [retirement(first)])
    head = ledger.head()[0]
    write_promotions(ledger, [promotion(first)], [])
    assert [item.number for item in promotions_in_use(ledger)] == [1, 2]
    assert numbers_changed_after(ledger, head) == [1]


@pytest.mark.parametrize("meanwhile", ["falsified", "retired"])
def test_a_record_that_fell_since_it_was_judged_is_left_out(ledger: Ledger, meanwhile: str) -> None:
    fallen, standing = (ledger.append_record(new_record(question)) for question in ("First?", "Second?"))
    if meanwhile == "falsified":
        ledger.set_state(fallen.cache_key, "failed", "wrong")
    else:
        ledger.retire(fallen.cache_key, "asked anew")
    made = write_promotions(ledger, [promotion(fallen), promotion(standing)], [])
    assert [item.cache_key for item in made] == [standing.cache_key]
    assert count_in_use(ledger) == 1


def test_a_promotion_is_only_written_with_its_row(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="written together"):
        ledger.append_event(NewEvent(EventType.RECORD_PROMOTED, {}))
    connection = sqlite3.connect(ledger.path)
    row = (1, "r", "k", 1, "d", "q", "c", 1, 0)
    with pytest.raises(sqlite3.IntegrityError, match="comes with its event"):
        connection.execute(f"INSERT INTO promotions VALUES ({', '.join('?' * 9)}, NULL, NULL, NULL)", row)
    connection.close()
