"""Timestamps: the grammar of `retained-retrieval-audit.md` section 7 and nothing beside it."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.retrieval_audit.findings import BlockedError, Failure
from arborist.retrieval_audit.instants import NANOSECONDS, current_instant, instant

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=offsets))
def test_an_instant_is_the_time_since_the_epoch_whatever_the_zone(moment: datetime) -> None:
    written = moment.isoformat(timespec="microseconds")
    assert instant(written, "/x") == (moment - EPOCH) // timedelta(microseconds=1) * 1_000
    assert current_instant(moment.replace(year=2026, month=5)) == instant(
        moment.replace(year=2026, month=5).isoformat(), "/x"
    )


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.1234567Z", 123_456_700),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("9999-12-31T23:59:59-23:59", (253_402_300_799 + 86_340) * NANOSECONDS),
    ],
)
def test_fractions_and_zones_count(text: str, nanoseconds: int) -> None:
    assert instant(text, "/x") == nanoseconds


@pytest.mark.parametrize(
    "value",
    [
        "2026-09-14T12:00:00",
        "2026-09-14",
        "2026-09-14 12:00:00Z",
        "2026-09-14t12:00:00Z",
        "2026-09-14T12:00:00z",
        "2026-09-14T12:00Z",
        "2026-09-14T12:00:00.Z",
        "2026-09-14T12:00:00,5Z",
        "2026-09-14T12:00:00.1234567890Z",
        "2026-09-14T12:00:00+0200",
        "2026-09-14T12:00:00+24:00",
        "2026-09-14T12:00:00+02:60",
        "2026-02-30T12:00:00Z",
        "2026-09-14T24:00:00Z",
        "2026-09-14T12:00:60Z",
        "0000-01-01T00:00:00Z",
        "２026-09-14T12:00:00Z",
        "2026-09-14T12:00:00Z\n",
        " 2026-09-14T12:00:00Z",
        "20260914T120000Z",
        1_789_387_200,
        None,
        ["2026-09-14T12:00:00Z"],
    ],
)
def test_anything_else_is_no_timestamp(value: Any) -> None:
    with pytest.raises(BlockedError) as blocked:
        instant(value, "/x")
    assert (blocked.value.finding.code, blocked.value.finding.at) == (Failure.TIMESTAMP_INVALID, "/x")


def test_now_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        current_instant(datetime(2026, 9, 14))


def test_without_a_time_the_machine_is_asked() -> None:
    before = datetime.now(UTC)
    assert current_instant(before) <= current_instant(None) <= current_instant(before + timedelta(minutes=1))
