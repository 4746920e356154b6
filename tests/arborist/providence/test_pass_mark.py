"""What there is to do is told at the moment that there is something, and until a pass has done it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arborist.providence.pass_mark import promotion_due
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.corpora import WHEN_ALDER

WENN = "How long is the river Wenn?"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        yield made


def test_what_is_due_is_told_from_the_moment_the_window_passes_until_a_pass_is_made(home: AnswersHome) -> None:
    def due() -> tuple[bool, bool]:
        found = promotion_due(home.ledger, home.workspace.config.policy, home.clock.now())
        return found.matured_at is not None, found.fallen is not None

    record = home.ask(WHEN_ALDER).record
    home.clock.advance(HOUR - 1)
    assert due() == (False, False)
    home.clock.advance(1)
    assert due() == (True, False)
    home.promoter.promote()
    assert due() == (False, False)
    home.ledger.set_state(record.cache_key, "failed", "wrong")
    assert due() == (False, True)
    home.promoter.promote()
    assert due() == (False, False)


def test_a_record_dated_in_the_future_is_promoted_when_its_time_has_come(home: AnswersHome) -> None:
    home.clock.advance(10 * HOUR)
    home.ask(WENN)
    home.clock.advance(-10 * HOUR)
    home.ask(WHEN_ALDER)
    assert home.promote().promoted == 1
    assert home.promote(after=9 * HOUR).promoted == 0
    assert home.promote(after=HOUR).promoted == 1
