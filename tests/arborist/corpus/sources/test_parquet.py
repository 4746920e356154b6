"""Parquet files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arborist.corpus.config import FieldNames, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources import Source
from arborist.errors import InputError

Read = Callable[..., list[Document]]
ReadWithSkips = Callable[..., tuple[list[Document], list[Skip]]]


def written(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_every_row_is_a_document(tmp_path: Path, read: Read) -> None:
    numbers = range(1000)
    written(
        tmp_path / "a.parquet",
        id=list(numbers),
        title=pa.array(["A", "B"] * 500).dictionary_encode(),
        text=pa.array([f"Text {number}." for number in numbers], pa.large_string()),
        another=[0.5] * 1000,
    )
    documents = read(SourceKind.PARQUET, tmp_path, fields=FieldNames(uri="id"))
    assert [document.uri for document in documents] == [str(number) for number in numbers]
    assert documents[999].title == "B"
    assert documents[999].text == "Text 999."


def test_revisions_are_used_where_there_are_any(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.parquet", uri=["a", "b"], text=["A", "B"], revision=["7", None])
    first, second = read(SourceKind.PARQUET, path)
    assert first.source_revision == "7"
    assert len(second.source_revision) == 64


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"uri": ["a", None], "text": ["A", "B"]}, r"a\.parquet: row 2: there is no `uri` in it"),
        ({"uri": ["a", "b"], "text": ["A", " "]}, r"a\.parquet: row 2: empty"),
        ({"uri": ["a", "b"], "text": ["A", "B\0"]}, r"a\.parquet: row 2: a NUL"),
        (
            {"uri": ["a", "b"], "text": pa.array([b"A", b"\xff"]).view(pa.string())},
            r"a\.parquet: row 2: not UTF-8",
        ),
    ],
)
def test_a_bad_row_is_named_or_left_out(
    tmp_path: Path, columns: dict[str, Any], message: str, read: Read, read_with_skips: ReadWithSkips
) -> None:
    written(tmp_path / "a.parquet", **columns)
    with pytest.raises(InputError, match=message):
        read(SourceKind.PARQUET, tmp_path)
    documents, skips = read_with_skips(SourceKind.PARQUET, tmp_path)
    assert [document.uri for document in documents] == ["a"]
    assert [skip.place for skip in skips] == ["a.parquet: row 2"]


@pytest.mark.parametrize("missing", ["uri", "text"])
def test_a_file_without_a_column_is_named(tmp_path: Path, missing: str, read: Read) -> None:
    columns = {"uri": ["a"], "text": ["A"]}
    del columns[missing]
    written(tmp_path / "a.parquet", **columns)
    with pytest.raises(InputError, match=rf"a\.parquet: there is no column `{missing}` in it"):
        read(SourceKind.PARQUET, tmp_path)


@pytest.mark.parametrize("damage", ["cut", "overwritten", "empty", "no parquet"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str, read: Read, read_with_skips: ReadWithSkips) -> None:
    numbers = range(2000)
    path = written(tmp_path / "a.parquet", uri=[str(n) for n in numbers], text=[f"{n**9}" for n in numbers])
    data = path.read_bytes()
    third = len(data) // 3
    path.write_bytes(
        {
            "cut": data[:third],
            "overwritten": data[:third] + b"\xff" * third + data[2 * third :],
            "empty": b"",
            "no parquet": b"plain text, not Parquet",
        }[damage]
    )
    with pytest.raises(InputError, match=r"a\.parquet: .*not a Parquet file, or a damaged one"):
        read(SourceKind.PARQUET, tmp_path)
    written(tmp_path / "b.parquet", uri=["b"], text=["B"])
    documents, skips = read_with_skips(SourceKind.PARQUET, tmp_path)
    assert documents[-1].uri == "b"
    assert len(skips) == 1


def test_the_digest_follows_the_field_names(tmp_path: Path, source: Callable[..., Source]) -> None:
    path = written(tmp_path / "a.parquet", uri=["a"], text=["A"])
    plain = source(SourceKind.PARQUET, path)
    mapped = source(SourceKind.PARQUET, path, fields=FieldNames(title="uri"))
    assert plain.input_digest() != mapped.input_digest()


def test_a_file_with_any_byte_changed_is_read_or_named(tmp_path: Path, read: Read) -> None:
    path = written(tmp_path / "a.parquet", uri=["a", "b"], text=["A", "B"])
    whole = path.read_bytes()
    failures = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read(SourceKind.PARQUET, path)
        except InputError as error:
            assert "a.parquet" in str(error)
            failures += 1
    assert failures > len(whole) // 4
