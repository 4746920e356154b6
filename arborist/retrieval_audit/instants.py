"""Times of day as the service and the operator write them (`retained-retrieval-audit.md` section 7)."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from arborist.retrieval_audit.findings import BlockedError, Failure

NANOSECONDS = 1_000_000_000

_EPOCH = datetime(1970, 1, 1)
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)


def instant(value: Any, at: str) -> int:
    """Nanoseconds since the Unix epoch of `YYYY-MM-DDThh:mm:ss`, then up to nine digits of fraction, then a zone.

    The zone is `Z` or `±hh:mm`. Raises BlockedError `timestamp-invalid` at the pointer `at` for anything else.
    """
    match = _TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BlockedError(Failure.TIMESTAMP_INVALID, at)
    local, fraction, sign, hours, minutes = match.groups()
    try:
        seconds = (datetime.fromisoformat(local) - _EPOCH) // timedelta(seconds=1)
    except ValueError:
        raise BlockedError(Failure.TIMESTAMP_INVALID, at) from None
    # Plain integers, because an offset may lead out of the years that datetime can hold.
    offset = 60 * (60 * int(hours) + int(minutes)) if sign else 0
    utc_seconds = seconds + offset if sign == "-" else seconds - offset
    return utc_seconds * NANOSECONDS + int((fraction or "").ljust(9, "0"))


def current_instant(now: datetime | None) -> int:
    """Nanoseconds since the Unix epoch of `now`, or of the machine's clock. Raises ValueError without a zone."""
    if now is None:
        return time.time_ns()
    if now.tzinfo is None:
        raise ValueError("now needs a time zone")
    since = now.astimezone(UTC).replace(tzinfo=None) - _EPOCH
    return since // timedelta(microseconds=1) * 1_000
