"""The text blocks of a response and the ids they use (`retained-retrieval-audit.md` section 10, Text blocks)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arborist.retrieval_audit.findings import BlockedError, Failure, Findings
from arborist.retrieval_audit.strict_json import is_text, is_whole_number, parsed

CITATION_LIMIT = 1_000

_OPENING = "[ref_id:"
_MARKER = re.compile(r"\[ref_id:([^\]\r\n]+)\]")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One block of text and its place."""

    text: str
    at: str


@dataclass(frozen=True, slots=True)
class UsedId:
    """One use of a reference's id in a text: by an extract row or by a citation marker."""

    identifier: str
    at: str


def text_blocks(response: list[Any], at: str) -> list[TextBlock]:
    """Every block of every message. Raises BlockedError at the first message or block that is not plain text."""
    blocks = []
    for message_index, message in enumerate(response):
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            raise BlockedError(Failure.RESPONSE_INVALID, f"{at}/{message_index}")
        for index, block in enumerate(content):
            blocks.append(_text_block(block, f"{at}/{message_index}/content/{index}"))
    return blocks


def _text_block(block: Any, at: str) -> TextBlock:
    if not isinstance(block, dict):
        raise BlockedError(Failure.RESPONSE_INVALID, at)
    if block.get("type") != "text":
        raise BlockedError(Failure.RESPONSE_CONTENT_UNSUPPORTED, at)
    text = block.get("text")
    if not isinstance(text, str):
        raise BlockedError(Failure.RESPONSE_INVALID, f"{at}/text")
    if not is_text(text):
        raise BlockedError(Failure.RESPONSE_CONTENT_BLANK, f"{at}/text")
    return TextBlock(text, f"{at}/text")


def extract_ids(blocks: Iterable[TextBlock], findings: Findings) -> list[UsedId]:
    """The ids of all extract rows, integers as decimal strings. Raises BlockedError at a malformed row."""
    used: list[UsedId] = []
    known: set[str] = set()
    for block in blocks:
        rows = parsed(block.text, block.at)
        if not isinstance(rows, list):
            raise BlockedError(Failure.EXTRACT_TEXT_INVALID, block.at)
        for index, row in enumerate(rows):
            row_at = f"{block.at}/{index}"
            identifier = _row_id(row, row_at)
            if identifier in known:
                raise BlockedError(Failure.EXTRACT_ID_DUPLICATE, row_at)
            if not any(is_text(value) for key, value in row.items() if key != "ref_id"):
                findings.add(Failure.EXTRACT_PAYLOAD_MISSING, row_at)
            known.add(identifier)
            _use(used, UsedId(identifier, row_at))
    return used


def _row_id(row: Any, at: str) -> str:
    identifier = row.get("ref_id") if isinstance(row, dict) else None
    if is_text(identifier):
        return identifier
    if is_whole_number(identifier) and identifier >= 0:
        return str(identifier)
    raise BlockedError(Failure.EXTRACT_ROW_INVALID, at)


def marker_ids(blocks: Iterable[TextBlock]) -> list[UsedId]:
    """The ids in all markers `[ref_id:<id>]`, untrimmed, with repeats. Raises BlockedError at a malformed one."""
    used: list[UsedId] = []
    for block in blocks:
        position = block.text.find(_OPENING)
        while position >= 0:
            marker = _MARKER.match(block.text, position)
            if marker is None or _OPENING in marker[1]:
                raise BlockedError(Failure.CITATION_MARKER_MALFORMED, block.at)
            _use(used, UsedId(marker[1], block.at))
            position = block.text.find(_OPENING, marker.end())
    return used


def _use(used: list[UsedId], use: UsedId) -> None:
    if len(used) == CITATION_LIMIT:
        raise BlockedError(Failure.CITATION_COUNT_EXCEEDED, use.at)
    used.append(use)
