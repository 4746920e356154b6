"""Canonical JSON, digests and the identity of a question."""

import hashlib
import json
import math
import unicodedata
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from arborist.errors import InputError
from arborist.hashing import Domain, canonical_json, hash_json, normalized_question, question_hash

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_canonical_json_reads_back_to_the_same_value(value: object) -> None:
    text = canonical_json(value)
    read = json.loads(text, parse_int=float)
    assert read == value
    assert canonical_json(read) == text


class Spelled(StrEnum):
    """Text of a type of its own."""

    NAME = 'nam\u00e9 "quoted"'


@given(JSON_VALUES)
def test_canonical_json_is_that_of_the_rfc8785_package(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        *([chr(code)] for code in range(160)),
        {"\U0001f600": 1, "\uffff": 2, "\u00e9": 3, "e": 4, "": 5, "a\n": 6},
        {Spelled.NAME: Spelled.NAME},
        [(), {}, [], None, True, False, 0, -1, 1.0, 0.1, 1e21, 2**53 - 1, 1 - 2**53],
    ],
)
def test_corners_are_written_as_the_rfc8785_package_writes_them(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@given(st.dictionaries(st.text(), st.integers(0, 9)))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, 2**53 + 1, "\ud800", {"\udfff": 1}, {1: 2}, object(), b"bytes", {"a": {1, 2}}],
)
def test_what_canonical_json_cannot_hold_is_a_clear_error(value: object) -> None:
    with pytest.raises(InputError, match="not representable as canonical JSON"):
        canonical_json(value)


def test_a_value_nested_without_end_is_a_clear_error() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="nested too deeply"):
        canonical_json(value)


def test_the_six_official_canonical_json_files_agree(shared_data: Path) -> None:
    inputs = sorted((shared_data / "jcs" / "input").glob("*.json"))
    assert len(inputs) == 6
    for path in inputs:
        expected = (shared_data / "jcs" / "output" / path.name).read_bytes()
        assert canonical_json(json.loads(path.read_bytes())) == expected, path.name


def test_a_digest_is_domain_zero_byte_canonical_json() -> None:
    expected = hashlib.sha256(b'arborist-retrieval-plan-v1\x00{"a":1,"b":2}').hexdigest()
    assert hash_json(Domain.RETRIEVAL_PLAN, {"b": 2, "a": 1}) == expected


@given(JSON_VALUES)
def test_equal_values_in_different_domains_differ(value: object) -> None:
    assert hash_json(Domain.QUESTION, value) != hash_json(Domain.CONVERSATION, value)


def test_domains_are_unique_and_versioned() -> None:
    values = [domain.value for domain in Domain]
    assert len(set(values)) == len(values)
    assert all(value.startswith("arborist-") and value.rsplit("-v", 1)[1].isdigit() for value in values)


@given(st.text())
def test_white_space_and_unicode_form_do_not_make_another_question(text: str) -> None:
    spaced = "  " + "\u00a0\n\t".join(text.split(" ")) + " "
    assert normalized_question(spaced) == normalized_question(text)
    assert normalized_question(unicodedata.normalize("NFD", text)) == normalized_question(text)


def test_case_makes_another_question() -> None:
    assert question_hash("What is US?") != question_hash("What is us?")
