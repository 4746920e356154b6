"""Byte strings as text, and the `retrieval-bytes-v1` tag."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.errors import InputError
from arborist.evaluation.bytestrings import byte_text, is_byte_text, tagged, text_bytes, untagged


@given(st.binary())
def test_every_byte_string_comes_back_from_its_text_and_from_its_tag(data: bytes) -> None:
    assert text_bytes(byte_text(data)) == data
    assert is_byte_text(byte_text(data))
    assert text_bytes(untagged(tagged(data))) == data


@given(st.text(st.characters(codec=None, categories=None)))
def test_text_is_byte_text_exactly_when_bytes_give_it_back(text: str) -> None:
    try:
        expected = byte_text(text_bytes(text)) == text
    except UnicodeEncodeError:
        expected = False
    assert is_byte_text(text) is expected


def test_utf8_spelled_in_surrogates_is_not_a_second_text_of_the_same_bytes() -> None:
    assert text_bytes("\udcc3\udca9") == "é".encode()
    assert not is_byte_text("\udcc3\udca9")


def test_only_what_is_not_utf8_is_tagged() -> None:
    assert tagged("Straße".encode()) == "Straße"
    assert tagged(b"doc\xff") == {"encoding": "base64", "version": "retrieval-bytes-v1", "value": "ZG9j/w=="}


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        ["a"],
        "\ud800",
        {"encoding": "base64", "value": "ZG9j/w=="},
        {"encoding": "base64", "version": "retrieval-bytes-v2", "value": "ZG9j/w=="},
        {"encoding": "hex", "version": "retrieval-bytes-v1", "value": "ZG9j/w=="},
        {"encoding": "base64", "version": "retrieval-bytes-v1", "value": "ZG9j/w=="} | {"more": 1},
        {"encoding": "base64", "version": "retrieval-bytes-v1", "value": None},
        {"encoding": "base64", "version": "retrieval-bytes-v1", "value": "ZG9j/w"},
        {"encoding": "base64", "version": "retrieval-bytes-v1", "value": "ZG9j/x=="},
        {"encoding": "base64", "version": "retrieval-bytes-v1", "value": "ZG9 j/w=="},
    ],
)
def test_a_tag_in_any_other_form_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        untagged(value)
