"""The one clock. Everything that needs the time takes a `Clock`, so that tests decide what time it is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Seconds since the Unix epoch, as a whole number of microseconds divided by a million."""

    def now(self) -> float: ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        return datetime.now(UTC).timestamp()


class FixedClock:
    """A clock that stands still until it is set or moved; for tests and simulations."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds

    def set(self, moment: float) -> None:
        self._now = moment


def iso_time(moment: float) -> str:
    """The moment in UTC as ISO 8601 with microseconds, `2026-01-31T12:00:00.000000Z`; sorts as text."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_iso_time(text: str) -> float:
    """Inverse of `iso_time`. Raises ValueError for anything else."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp()
