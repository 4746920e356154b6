"""The sample of records that is audited: drawn by the ledger's head, of grounded and live records only."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arborist.providence.record_audits import RecordAudit, sampled_audits
from tests.arborist.providence.answers import AnswersHome
from tests.corpora import WHEN_ALDER, build, write_rows

QUESTIONS = (
    WHEN_ALDER,
    "How long is the river Wenn?",
    "Who was the architect of the Cedar Viaduct?",
    "What freezes every January?",
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as opened:
        yield opened


def sample(home: AnswersHome, size: int = 10) -> list[RecordAudit]:
    return list(sampled_audits(home.workspace, home.ledger, size))


def test_the_same_head_draws_the_same_sample(home: AnswersHome) -> None:
    keys = {home.ask(question).record.cache_key for question in QUESTIONS}
    drawn = [audit.cache_key for audit in sample(home, 2)]
    assert [audit.cache_key for audit in sample(home, 2)] == drawn
    assert len(drawn) == 2 and keys.issuperset(drawn)


def test_in_time_every_record_is_drawn(home: AnswersHome) -> None:
    keys = {home.ask(question).record.cache_key for question in QUESTIONS}
    drawn: set[str] = set()
    for _ in range(40):
        drawn |= {audit.cache_key for audit in sample(home, 1)}
        home.ask(WHEN_ALDER)
    assert drawn == keys


def test_what_is_not_grounded_or_has_fallen_is_not_drawn(home: AnswersHome) -> None:
    home.ask("Who won the regatta?")
    fallen = home.ask(WHEN_ALDER).record
    home.ledger.set_state(fallen.cache_key, "failed", "the source was wrong")
    kept = home.ask("How long is the river Wenn?").record
    assert [audit.cache_key for audit in sample(home)] == [kept.cache_key]


def test_a_record_that_cannot_be_repeated_leaves_its_place_to_another(home: AnswersHome) -> None:
    old = home.ask(WHEN_ALDER).record
    write_rows(home.workspace.config.path.parent / "people.jsonl", {"people/x": ("X", "Someone else.")})
    build(home.workspace)
    new = home.ask("How long is the river Wenn?").record
    audits = {audit.cache_key: audit for audit in sample(home)}
    assert audits[old.cache_key].report is None
    assert "people-000 has moved" in audits[old.cache_key].hindrance
    report = audits[new.cache_key].report
    assert report is not None and report["structural_status"] == "passed"
