"""Telling whoever watches that a unit of work is done, without the engine knowing who that is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def done(unit: str) -> None:
    """Say that `unit` (`chunks handbook-000`) is done."""
    listener = _listener.get()
    if listener is not None:
        listener(unit)


@contextmanager
def watched_by(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` for every unit that is done inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
