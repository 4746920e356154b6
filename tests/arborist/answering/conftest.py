"""Evidence to verify against, and recorded answers of chat endpoints."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chat_endpoint import Answer, Endpoint, playing_endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with playing_endpoint() as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def recordings(shared_data: Path) -> dict[str, Answer]:
    """The recorded exchanges by id, as answers to play back."""
    found = {}
    for path in sorted((shared_data / "openai_recordings").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kept = ("content-type", "retry-after")
            headers = tuple((name, value) for name, value in _headers(row) if name in kept)
            body = row.get("response_text")
            found[row["id"]] = Answer(
                json.dumps(row["response_json"]) if body is None else body, row["status"], headers
            )
    return found


def _headers(row: dict[str, Any]) -> list[tuple[str, str]]:
    headers = row["response_headers"]
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [(name.lower(), value if isinstance(value, str) else value[0]) for name, value in pairs]
