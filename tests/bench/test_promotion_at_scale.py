"""Promotion over a long ledger costs what is new in it."""

from pathlib import Path

import pytest

from bench.promotion_at_scale import costs


@pytest.mark.slow
def test_a_hundred_new_records_cost_less_than_a_twentieth_of_all(
    tmp_path: Path,
) -> None:
    by_name = {cost.name: cost.cpu for cost in costs(tmp_path, 20_000, 1)}
    assert by_name["pass over 100 new records"] < by_name["pass over all 20000 records"] / 20
    assert by_name["sensor tick, nothing new, median of 20"] < 0.05
    assert by_name["pass with nothing new"] < 0.5
