"""The sensors ask for one run for one cause, at the moment of the cause, and at a price that does not grow."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from arborist_dagster.promotion_sensors import falsification_sensor, kindergarten_sensor
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.assets.answering_project import materialized, resource
from tests.corpora import WHEN_ALDER

WENN = "How long is the river Wenn?"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        yield made


class Ticking:
    """A sensor as the daemon ticks it: its cursor is kept, and a run key is heard once."""

    def __init__(self, sensor: dg.SensorDefinition, home: AnswersHome) -> None:
        self._sensor, self._home = sensor, home
        self._cursor: str | None = None
        self._keys: set[str | None] = set()

    def tick(self) -> int:
        """How many runs this tick starts."""
        context = dg.build_sensor_context(
            instance=dg.DagsterInstance.ephemeral(),
            cursor=self._cursor,
            resources={"workspace": resource(self._home)},
        )
        data = self._sensor.evaluate_tick(context)
        self._cursor = data.cursor
        new = {request.run_key for request in data.run_requests or ()} - self._keys
        self._keys |= new
        return len(new)


def test_it_wakes_when_a_window_passes_and_not_before(home: AnswersHome) -> None:
    sensor = Ticking(kindergarten_sensor, home)
    assert sensor.tick() == 0
    home.ask(WHEN_ALDER)
    home.clock.advance(HOUR - 1)
    assert sensor.tick() == 0
    home.clock.advance(1)
    assert sensor.tick() == 1


def test_it_asks_once_for_one_record_however_often_it_ticks_and_whatever_is_asked_meanwhile(
    home: AnswersHome,
) -> None:
    sensor = Ticking(kindergarten_sensor, home)
    home.ask(WHEN_ALDER)
    home.clock.advance(HOUR)
    runs = 0
    for _ in range(5):
        runs += sensor.tick()
        home.ask(WHEN_ALDER)
    assert runs == 1
    materialized(home)
    assert sensor.tick() == 0


def test_it_never_asks_twice_at_the_same_head(home: AnswersHome) -> None:
    sensor = Ticking(kindergarten_sensor, home)
    home.ask(WHEN_ALDER)
    home.clock.advance(60)
    home.ask(WENN)
    home.clock.advance(HOUR - 60)
    assert sensor.tick() == 1
    home.clock.advance(60)
    assert sensor.tick() == 0
    materialized(home)
    assert sensor.tick() == 0


def test_each_record_has_its_turn(home: AnswersHome) -> None:
    sensor = Ticking(kindergarten_sensor, home)
    home.ask(WHEN_ALDER)
    home.clock.advance(60)
    home.ask(WENN)
    home.clock.advance(HOUR - 60)
    assert sensor.tick() == 1
    materialized(home)
    assert sensor.tick() == 0
    home.clock.advance(60)
    assert sensor.tick() == 1


def test_a_record_that_is_not_strict_wakes_nobody(home: AnswersHome) -> None:
    home.ask("Who conducts the orchestra of Samarkand?")
    home.clock.advance(10 * HOUR)
    assert Ticking(kindergarten_sensor, home).tick() == 0


def test_a_clock_set_back_wakes_nobody(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.clock.advance(-2 * HOUR)
    assert Ticking(kindergarten_sensor, home).tick() == 0


def test_two_sensors_at_once_promote_once(home: AnswersHome) -> None:
    first, second = Ticking(kindergarten_sensor, home), Ticking(kindergarten_sensor, home)
    home.ask(WHEN_ALDER)
    home.clock.advance(HOUR)
    assert first.tick() == second.tick() == 1
    results = [materialized(home) for _ in range(2)]
    promoted = [
        result.get_asset_materialization_events()[0].step_materialization_data.materialization.metadata["promoted"]
        for result in results
    ]
    assert [item.value for item in promoted] == [1, 0]


@pytest.mark.parametrize("state", ["failed", "stale", "quarantined"])
def test_what_falls_is_retired_at_once(home: AnswersHome, state: str) -> None:
    sensor = Ticking(falsification_sensor, home)
    record = home.ask(WHEN_ALDER).record
    home.clock.advance(HOUR)
    materialized(home)
    assert sensor.tick() == 0
    home.ledger.set_state(record.cache_key, state, "wrong")
    assert [sensor.tick(), sensor.tick()] == [1, 0]
    assert materialized(home).success
    assert "providence-000" not in home.workspace.corpus.published_shards()
    assert sensor.tick() == 0
    home.ledger.set_state(record.cache_key, "live", "right after all")
    assert sensor.tick() == 1


def test_without_a_ledger_neither_has_anything_to_do(home: AnswersHome) -> None:
    home.ledger.close()
    home.workspace.home.ledger_file.unlink()
    assert Ticking(kindergarten_sensor, home).tick() == 0
    assert Ticking(falsification_sensor, home).tick() == 0
