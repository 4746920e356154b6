"""JSON read with the limits of `retained-retrieval-audit.md` section 4.2, and equality that keeps types apart."""

import hashlib
import json
import math
import re
from itertools import accumulate
from typing import Any, TypeGuard

from arborist.retrieval_audit.findings import BlockedError, Failure

DEPTH_LIMIT = 48
ARRAY_LIMIT = 1_000

JsonObject = dict[str, Any]

# Possessive and with an optional end: it never fails where it starts, so hostile text cannot make it quadratic.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_A_BRACKET = re.compile(r"[^][{}]+")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class _RejectedJsonError(ValueError):
    """A hook of the decoder met something that the decoder itself would allow."""

    def __init__(self, code: Failure) -> None:
        super().__init__()
        self.code = code


def decoded(data: bytes, at: str) -> Any:
    """The JSON value of UTF-8 bytes. Raises BlockedError at the pointer `at`, as `parsed` does."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BlockedError(Failure.TEXT_NOT_UTF8, at) from None
    return parsed(text, at)


def parsed(text: str, at: str) -> Any:
    """The JSON value of a text: RFC 8259, keys unique, numbers finite, 48 levels, 1 000 entries an array.

    Raises BlockedError with one of the `json-*` codes at the pointer `at`.
    """
    # Before decoding, because the decoder recurses once a level.
    if _depth(text) > DEPTH_LIMIT:
        raise BlockedError(Failure.JSON_TOO_DEEP, at)
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite)
    except _RejectedJsonError as rejected:
        raise BlockedError(rejected.code, at) from None
    except ValueError:
        raise BlockedError(Failure.JSON_INVALID, at) from None
    if _has_long_array(value):
        raise BlockedError(Failure.JSON_ARRAY_TOO_LONG, at)
    return value


def _depth(text: str) -> int:
    """The deepest nesting of brackets outside strings; exact for any text that decodes."""
    brackets = _NOT_A_BRACKET.sub("", _STRING.sub("", text))
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _unique_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RejectedJsonError(Failure.JSON_DUPLICATE_KEY)
    return members


def _no_constant(_name: str) -> None:
    raise _RejectedJsonError(Failure.JSON_NUMBER_INVALID)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _RejectedJsonError(Failure.JSON_NUMBER_INVALID)
    return number


def _has_long_array(value: Any) -> bool:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, dict):
            pending.extend(member for member in current.values() if isinstance(member, dict | list))
        elif isinstance(current, list):
            if len(current) > ARRAY_LIMIT:
                return True
            pending.extend(entry for entry in current if isinstance(entry, dict | list))
    return False


def same_json(left: Any, right: Any) -> bool:
    """Whether two decoded values are one JSON value: `true`, `1` and `1.0` differ, the order of keys is free."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def json_sha256(value: Any) -> str:
    """SHA-256, in lowercase hex, of the value with sorted keys, no blanks and everything beyond ASCII escaped."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def is_text(value: Any) -> TypeGuard[str]:
    """Whether the value is a string with at least one character that is not white space."""
    return isinstance(value, str) and bool(value.strip())


def is_whole_number(value: Any) -> TypeGuard[int]:
    """Whether the value is an integer; a boolean is not."""
    return type(value) is int
