"""Two halves of a labelled set, told apart by the hash of the id: one to tune on, the other to report."""

import hashlib
from typing import Literal

Half = Literal["tune", "report"]


def half_of(identifier: str) -> Half:
    """The half a row belongs to; the same on every machine."""
    return "tune" if hashlib.sha256(identifier.encode()).digest()[0] % 2 == 0 else "report"
