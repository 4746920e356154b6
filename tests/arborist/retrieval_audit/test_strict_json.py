"""JSON with limits, equality with types, digests."""

import hashlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.retrieval_audit.findings import BlockedError, Failure
from arborist.retrieval_audit.strict_json import (
    ARRAY_LIMIT,
    DEPTH_LIMIT,
    decoded,
    is_text,
    is_whole_number,
    json_sha256,
    parsed,
    same_json,
)

# A negative zero equals zero and is written otherwise.
numbers = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0.0)
scalars = st.none() | st.booleans() | st.integers() | numbers | st.text('ab[]{}"\\\n')
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab[]{}"\\'), inner, max_size=4),
    max_leaves=20,
)


def rejection(text: str) -> Failure | None:
    try:
        parsed(text, "/x")
    except BlockedError as blocked:
        assert blocked.finding.at == "/x"
        assert isinstance(blocked.finding.code, Failure)
        return blocked.finding.code
    return None


@given(values)
def test_what_json_writes_is_read_back(value: Any) -> None:
    assert same_json(parsed(json.dumps(value), "/x"), value)
    assert same_json(decoded(json.dumps(value, indent=1, ensure_ascii=False).encode(), "/x"), value)


@given(values, st.integers(0, DEPTH_LIMIT + 3), st.text('[]{}"\\a'))
def test_depth_counts_brackets_outside_strings(value: Any, levels: int, noise: str) -> None:
    def depth(part: Any) -> int:
        if isinstance(part, dict):
            return 1 + max(map(depth, part.values()), default=0)
        return 1 + max(map(depth, part), default=0) if isinstance(part, list) else 0

    nested: Any = [noise, value]
    for level in range(levels):
        nested = [noise, nested] if level % 2 else {noise: nested}
    expected = Failure.JSON_TOO_DEEP if depth(nested) > DEPTH_LIMIT else None
    assert rejection(json.dumps(nested)) is expected


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', '"\\"[', '["\\\\",'])
def test_hostile_depth_does_not_exhaust_the_stack(opening: str) -> None:
    assert rejection(opening * 500_000) in (Failure.JSON_TOO_DEEP, Failure.JSON_INVALID)


@pytest.mark.parametrize("text", ['"' + '\\"' * 2_000_000, '"\\' * 2_000_000, "\\" * 4_000_000, '""' * 2_000_000])
def test_hostile_strings_take_linear_time(text: str) -> None:
    started = time.process_time()
    assert rejection(text) is Failure.JSON_INVALID
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", Failure.JSON_INVALID),
        (" ", Failure.JSON_INVALID),
        ("\ufeff{}", Failure.JSON_INVALID),
        ("{} {}", Failure.JSON_INVALID),
        ("[1,]", Failure.JSON_INVALID),
        ("{'a': 1}", Failure.JSON_INVALID),
        ('"a\nb"', Failure.JSON_INVALID),
        ("01", Failure.JSON_INVALID),
        ("\u00a01", Failure.JSON_INVALID),
        ("9" * 5_000, Failure.JSON_INVALID),
        ('{"a": {"b": 1, "b": 2}}', Failure.JSON_DUPLICATE_KEY),
        ('{"a": 1, "\\u0061": 2}', Failure.JSON_DUPLICATE_KEY),
        ("NaN", Failure.JSON_NUMBER_INVALID),
        ("[Infinity]", Failure.JSON_NUMBER_INVALID),
        ("[-Infinity]", Failure.JSON_NUMBER_INVALID),
        ("-1e999", Failure.JSON_NUMBER_INVALID),
        (json.dumps([0] * (ARRAY_LIMIT + 1)), Failure.JSON_ARRAY_TOO_LONG),
        (json.dumps({"a": [{"b": [[]] * (ARRAY_LIMIT + 1)}]}), Failure.JSON_ARRAY_TOO_LONG),
        (json.dumps({"a": [{"b": [[]] * ARRAY_LIMIT}]}), None),
        ("[" * 48 + "]" * 48, None),
        ("[" * 49 + "]" * 49, Failure.JSON_TOO_DEEP),
        ('"\\ud800"', None),
    ],
)
def test_text_is_accepted_or_rejected_with_its_code(text: str, code: Failure | None) -> None:
    assert rejection(text) is code


@pytest.mark.parametrize("data", [b"\xff", b'"\xed\xa0\x80"', "{}".encode("utf-16"), b'"\xc0\x80"'])
def test_bytes_that_are_not_utf8_are_named_so(data: bytes) -> None:
    with pytest.raises(BlockedError) as blocked:
        decoded(data, "/x")
    assert blocked.value.finding.code is Failure.TEXT_NOT_UTF8


@pytest.mark.parametrize(
    ("left", "right"), [(True, 1), (1, 1.0), (0, False), ([1], [1.0]), ({"a": 0}, {"a": False})]
)
def test_equality_keeps_types_apart(left: Any, right: Any) -> None:
    assert not same_json(left, right)


def test_equality_ignores_the_order_of_keys_alone() -> None:
    assert same_json({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1})
    assert not same_json([1, 2], [2, 1])
    assert not same_json({"a": 1}, {"a": 1, "b": None})
    assert not same_json("\u00e9", "e\u0301")


@given(values, values)
def test_values_are_the_same_when_their_digests_are(left: Any, right: Any) -> None:
    assert same_json(left, json.loads(json.dumps(left)))
    assert same_json(left, right) == (json_sha256(left) == json_sha256(right))


def test_a_digest_is_that_of_the_documented_form() -> None:
    digest = hashlib.sha256(rb'{"a":[1,null],"b":"\u00e9"}').hexdigest()
    assert json_sha256({"b": "é", "a": [1, None]}) == digest


@pytest.mark.parametrize("value", ["a", " a ", "\u00e9"])
def test_text_has_a_character_that_is_not_white(value: Any) -> None:
    assert is_text(value)


@pytest.mark.parametrize("value", ["", " \t\u2003", 1, None, ["a"]])
def test_blank_strings_and_other_types_are_not_text(value: Any) -> None:
    assert not is_text(value)


def test_whole_numbers_are_not_booleans_nor_floats_nor_text() -> None:
    values: list[Any] = [0, -1, 10**30, True, 1.0, "1", None]
    assert [value for value in values if is_whole_number(value)] == [0, -1, 10**30]
