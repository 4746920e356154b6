"""The checks of promoted answers: silent on a sound home, and they name what is wrong on any other."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from arborist.providence.gates import GatePolicy
from arborist.providence.promotion_checks import (
    PromotionFault,
    evidence_faults,
    gate_faults,
    lineage_faults,
)
from arborist.workspace import Workspace
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.corpora import WHEN_ALDER, build, opened


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        made.ask(WHEN_ALDER)
        made.ask("How long is the river Wenn?")
        made.promote()
        yield made


def gates(home: AnswersHome) -> list[PromotionFault]:
    policy = home.workspace.config.policy
    chunking = home.workspace.corpus.chunker.version
    return list(gate_faults(home.ledger, GatePolicy.of(chunking, policy.answering, policy.promotion)))


def lineage(home: AnswersHome) -> list[PromotionFault]:
    return list(lineage_faults(home.workspace.corpus, home.ledger))


def evidence(home: AnswersHome) -> list[PromotionFault]:
    return list(evidence_faults(home.workspace.corpus, home.ledger))


def alder_uri(home: AnswersHome) -> str:
    return next(
        f"arborist://providence/{record.cache_key}"
        for record in home.ledger.records()
        if record.question == WHEN_ALDER
    )


def tampered(home: AnswersHome, statement: str) -> None:
    """Change the ledger as its triggers do not allow."""
    with closing(sqlite3.connect(home.ledger.path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("check", [gates, lineage, evidence])
def test_a_sound_home_has_no_faults(
    home: AnswersHome, check: Callable[[AnswersHome], list[PromotionFault]]
) -> None:
    assert check(home) == []


def test_a_fallen_document_that_is_served_is_named_until_the_next_pass(home: AnswersHome) -> None:
    uri = alder_uri(home)
    home.ledger.set_state(uri.rpartition("/")[2], "failed", "wrong")
    (served,), (closed,) = lineage(home), gates(home)
    assert (served.uri, closed.uri) == (uri, uri)
    assert "is failed" in served.problem
    assert "falsification-state" in closed.problem
    home.promote(after=1)
    assert lineage(home) == gates(home) == []


def test_a_document_that_was_put_into_the_index_from_outside_is_named(home: AnswersHome) -> None:
    connection = apsw.Connection(str(home.workspace.home.shard_file("providence-000")))
    connection.execute("UPDATE documents SET document_root = ? WHERE id = 1", ("0" * 64,))
    connection.close()
    (fault,) = lineage(home)
    assert "no record of this ledger" in fault.problem


def test_an_index_that_is_behind_the_ledger_is_named(home: AnswersHome) -> None:
    home.workspace.home.shard_file("providence-000").unlink()
    (fault,) = evidence(home)
    assert fault.uri == "providence-000"


def test_a_record_promoted_before_its_window_had_passed_is_named(home: AnswersHome) -> None:
    tampered(home, f"UPDATE promotions SET kindergarten_seconds = {HOUR + 1}")
    assert {fault.problem for fault in gates(home)} == {
        "the gate kindergarten was closed to it when it was promoted"
    }


def test_a_record_that_no_longer_recomputes_is_named(home: AnswersHome) -> None:
    tampered(
        home,
        "UPDATE providence_records "
        "SET run_dag = CAST(replace(run_dag, 'opened in 1932', 'opened in 1933') AS BLOB) "
        f"WHERE question = '{WHEN_ALDER}'",
    )
    (fault,) = evidence(home)
    assert (fault.uri, fault.moved) == (alder_uri(home), False)


def test_a_corpus_that_has_moved_on_is_told_apart_from_evidence_that_is_wrong(
    home: AnswersHome, tmp_path: Path
) -> None:
    rows = (tmp_path / "land.jsonl").read_text().replace("1932", "1934")
    (tmp_path / "land.jsonl").write_text(rows)
    home.workspace = Workspace(home.workspace.home, opened(tmp_path).config, home.clock)
    build(home.workspace)
    (fault,) = evidence(home)
    assert (fault.uri, fault.moved) == (alder_uri(home), True)


def test_a_cited_text_that_does_not_give_its_leaf_is_named(home: AnswersHome) -> None:
    for shard in home.workspace.config.shard_names:
        connection = apsw.Connection(str(home.workspace.home.shard_file(shard)))
        connection.execute("UPDATE chunks SET text = replace(text, '1932', '1934')")
        connection.close()
    (fault,) = evidence(home)
    assert (fault.uri, fault.moved) == (alder_uri(home), False)
    assert "bridges/alder" in fault.problem
