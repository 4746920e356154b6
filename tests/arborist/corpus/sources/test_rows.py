"""A row of named fields as a document."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus.config import FieldNames, SourceConfig, SourceKind
from arborist.corpus.document import Document
from arborist.corpus.sources.entries import Fault
from arborist.corpus.sources.rows import row_document

FILE = Path("rows.jsonl")
ROW = {"uri": "https://example.org/a", "title": "A", "text": "Text."}


def document(row: dict[str, Any], fields: FieldNames | None = None) -> Document | Fault:
    config = SourceConfig("s", SourceKind.JSONL, FILE, fields=fields or FieldNames())
    return row_document(config, row, FILE, "line 1")


def revision(row: dict[str, Any]) -> str:
    found = document(row)
    assert isinstance(found, Document)
    return found.source_revision


def test_a_row_keeps_its_uri_as_it_is() -> None:
    found = document(ROW | {"revision": "r7"})
    assert found == Document("https://example.org/a", "A", "Text.", "jsonl", "r7")


def test_fields_go_by_other_names() -> None:
    found = document({"id": 4983, "heading": "H", "body": "B", "v": 2}, FieldNames("id", "heading", "body", "v"))
    assert found == Document("4983", "H", "B", "jsonl", "2")


@pytest.mark.parametrize("title", [{}, {"title": None}, {"title": " \n"}])
def test_a_row_without_a_title_goes_by_its_uri(title: dict[str, Any]) -> None:
    found = document({"uri": "a", "text": "Text."} | title)
    assert isinstance(found, Document)
    assert found.title == "a"


def test_without_a_revision_the_digest_of_what_is_read_serves() -> None:
    assert revision(ROW) == revision(ROW | {"another": 1, "revision": None})
    assert len({revision(ROW), revision(ROW | {"text": "T"}), revision(ROW | {"title": "B"})}) == 3


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "there is no `uri` in it"),
        ({"uri": None, "text": "t"}, "there is no `uri` in it"),
        ({"uri": "a"}, "there is no `text` in it"),
        (ROW | {"uri": ""}, "the uri is empty"),
        (ROW | {"uri": 1.5}, "`uri` is not text"),
        (ROW | {"uri": True}, "`uri` is not text"),
        (ROW | {"text": 3}, "`text` is not text"),
        (ROW | {"text": ["a", "b"]}, "`text` is not text"),
        (ROW | {"title": {"en": "A"}}, "`title` is not text"),
        (ROW | {"revision": [1]}, "`revision` is not text"),
        (ROW | {"uri": "a\ud800"}, "`uri` holds a lone surrogate"),
        (ROW | {"title": "a\ud800"}, "`title` holds a lone surrogate"),
        (ROW | {"text": "a\ud800"}, "`text` holds a lone surrogate"),
        (ROW | {"revision": "a\ud800"}, "`revision` holds a lone surrogate"),
        (ROW | {"text": "\t "}, "empty"),
        (ROW | {"text": "a\0"}, "NUL"),
        (ROW | {"uri": "a\nb"}, "control character"),
    ],
)
def test_a_row_that_is_no_document_is_a_fault(row: dict[str, Any], reason: str) -> None:
    fault = document(row)
    assert isinstance(fault, Fault)
    assert (fault.path, fault.place) == (FILE, "line 1")
    assert reason in fault.reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["uri", "title", "text", "revision"]), JSON))
def test_no_row_is_anything_but_a_document_or_a_fault(row: dict[str, Any]) -> None:
    assert isinstance(document(row), Document | Fault)
