"""JSON read with the limits of `retained-retrieval-audit.md` section 4.2, and equality that keeps types apart."""

import hashlib
import json
import math
import re
from typing import Any, TypeGuard

from arborist.retrieval_audit.findings import BlockedError, Failure

DEPTH_LIMIT = 48
ARRAY_LIMIT = 1_000

JsonObject = dict[str, Any]

# Possessive and with an optional end: it never fails where it starts, so hostile text cannot make it quadratic.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_OPENING = b"[{"
_COMMA, _CLOSE_ARRAY = b",]"
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b"[]{},")


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
    _check_structure(text.encode("utf-8", "surrogatepass"), at)
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite)
    except _RejectedJsonError as rejected:
        raise BlockedError(rejected.code, at) from None
    except ValueError:
        raise BlockedError(Failure.JSON_INVALID, at) from None


def _check_structure(data: bytes, at: str) -> None:
    """Hold nesting and arrays against their limits before decoding, which recurses and allocates."""
    outer: list[int] = []
    commas = 0
    for byte in _STRING.sub(b"", data).translate(None, _NOT_STRUCTURE):
        if byte == _COMMA:
            commas += 1
        elif byte in _OPENING:
            if len(outer) == DEPTH_LIMIT:
                raise BlockedError(Failure.JSON_TOO_DEEP, at)
            outer.append(commas)
            commas = 0
        elif not outer:
            # Nothing was open: the decoder fails here at the latest.
            return
        elif commas >= ARRAY_LIMIT and byte == _CLOSE_ARRAY:
            raise BlockedError(Failure.JSON_ARRAY_TOO_LONG, at)
        else:
            commas = outer.pop()


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
