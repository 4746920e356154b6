"""Byte strings as Python text: what is not UTF-8 is carried as PEP 383 surrogates, so no byte is ever lost.

Ids, questions and hard classes may be in legacy encodings. `retrieval-bytes-v1` is their form in JSON.
"""

import base64
import binascii
from typing import Any

from arborist.errors import InputError

TAG_ENCODING = "base64"
TAG_VERSION = "retrieval-bytes-v1"


def byte_text(data: bytes) -> str:
    """The text that stands for `data`; every byte string has exactly one."""
    return data.decode("utf-8", "surrogateescape")


def text_bytes(text: str) -> bytes:
    """The bytes that `text` stands for. Raises UnicodeEncodeError for surrogates that stand for no byte."""
    return text.encode("utf-8", "surrogateescape")


def is_byte_text(text: object) -> bool:
    """Whether `text` is the one text of some byte string."""
    if not isinstance(text, str):
        return False
    try:
        return byte_text(text_bytes(text)) == text
    except UnicodeEncodeError:
        return False


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def tagged(data: bytes) -> str | dict[str, str]:
    """`data` as a JSON value: plain text where it is UTF-8, else the `retrieval-bytes-v1` object."""
    if is_utf8(data):
        return data.decode("utf-8")
    value = base64.b64encode(data).decode("ascii")
    return {"encoding": TAG_ENCODING, "version": TAG_VERSION, "value": value}


def untagged(value: Any) -> str:
    """Inverse of `tagged`, as text.

    Raises InputError for anything else, also for Base64 that encoding again would not give back.
    """
    if isinstance(value, str):
        if not is_byte_text(value) or not is_utf8(text_bytes(value)):
            raise InputError("text with a lone surrogate")
        return value
    if not isinstance(value, dict):
        raise InputError("neither text nor a tagged byte string")
    if {key: value.get(key) for key in ("encoding", "version")} != {
        "encoding": TAG_ENCODING,
        "version": TAG_VERSION,
    } or set(value) != {"encoding", "version", "value"}:
        raise InputError(f"not a byte string tagged {TAG_VERSION}")
    return byte_text(_strict_base64(value["value"]))


def _strict_base64(text: Any) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise InputError("a tagged byte string whose value is not Base64") from None
    if base64.b64encode(data).decode("ascii") != text:
        raise InputError("a tagged byte string whose Base64 is not in its one form")
    return data
