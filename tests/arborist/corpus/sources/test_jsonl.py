"""JSON Lines files."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arborist.corpus.config import FieldNames, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources import Source
from arborist.errors import InputError

Read = Callable[..., list[Document]]
ReadWithSkips = Callable[..., tuple[list[Document], list[Skip]]]


def line(uri: str, text: str = "Text.") -> bytes:
    return json.dumps({"uri": uri, "title": uri.upper(), "text": text}).encode() + b"\n"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
@pytest.mark.parametrize("path", ["folder", "file"])
def test_every_line_is_a_document(tmp_path: Path, name: str, path: str, read: Read) -> None:
    data = line("b") + b"\n  \r\n" + line("a").rstrip() + b"\r\n" + line("c").rstrip()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    documents = read(SourceKind.JSONL, tmp_path if path == "folder" else tmp_path / name)
    assert [(document.uri, document.title) for document in documents] == [("b", "B"), ("a", "A"), ("c", "C")]


def test_a_byte_order_mark_and_a_very_long_line_do_no_harm(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + line("a", "x" * 5_000_000))
    (document,) = read(SourceKind.JSONL, tmp_path)
    assert len(document.text) == 5_000_000


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8")).filter(lambda text: text.strip() and "\0" not in text))
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_texts_arrive_as_they_were_written(tmp_path: Path, read: Read, texts: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(line(f"u{number}", text) for number, text in enumerate(["first", *texts])))
    assert [document.text for document in read(SourceKind.JSONL, path)] == ["first", *texts]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b'{"uri": "b", "text": \n', r"a\.jsonl: line 2, column 22: not valid JSON"),
        (b'{"uri": "b", "text": "\xe9"}\n', r"a\.jsonl: line 2, byte 22 of it: not UTF-8"),
        (b'["b"]\n', r"a\.jsonl: line 2: not a JSON object"),
        (b'{"text": "no uri"}\n', r"a\.jsonl: line 2: there is no `uri` in it"),
        (b'{"uri": "b", "text": "\\ud800"}\n', r"a\.jsonl: line 2: `text` holds a lone surrogate"),
        (b'{"uri": "b", "text": "\\u0000"}\n', r"a\.jsonl: line 2: a NUL"),
        (b'{"uri": "b", "text": " "}\n', r"a\.jsonl: line 2: empty"),
        (b"[" * 200_000 + b"\n", r"a\.jsonl: line 2: JSON beyond what can be read"),
        (b'{"n": ' + b"9" * 5000 + b"}\n", r"a\.jsonl: line 2: JSON beyond what can be read"),
        (b"\0\0\n", r"a\.jsonl: line 2, column 1: not valid JSON"),
    ],
)
def test_a_bad_line_is_named_or_left_out(
    tmp_path: Path, bad: bytes, message: str, read: Read, read_with_skips: ReadWithSkips
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line("a") + bad + line("c"))
    with pytest.raises(InputError, match=message + r".* \(on_error = \"skip\" in table \[sources\.s\]"):
        read(SourceKind.JSONL, tmp_path)
    documents, skips = read_with_skips(SourceKind.JSONL, tmp_path)
    assert [document.uri for document in documents] == ["a", "c"]
    assert len(skips) == 1
    assert skips[0].place.startswith("a.jsonl: line 2")


@pytest.mark.parametrize("damage", ["cut", "overwritten", "no gzip"])
def test_what_stands_before_the_damage_of_a_packed_file_is_kept(
    tmp_path: Path, damage: str, read_with_skips: ReadWithSkips, read: Read
) -> None:
    packed = gzip.compress(b"".join(line(f"u{number}", f"Text {number**9}.") for number in range(20_000)))
    half = len(packed) // 2
    (tmp_path / "b.jsonl.gz").write_bytes(
        {"cut": packed[:half], "overwritten": packed[:half] + b"\xff" * half, "no gzip": b"plain"}[damage]
    )
    (tmp_path / "a.jsonl").write_bytes(line("a"))
    documents, skips = read_with_skips(SourceKind.JSONL, tmp_path)
    assert (len(documents) > 1000) == (damage != "no gzip")
    (skip,) = skips
    assert skip.place.startswith(f"b.jsonl.gz: after line {len(documents) - 1}")
    assert "the compressed file is damaged" in skip.reason
    with pytest.raises(InputError, match=r"b\.jsonl\.gz: after line \d+: the compressed file is damaged"):
        read(SourceKind.JSONL, tmp_path)


def test_the_digest_follows_the_field_names(tmp_path: Path, source: Callable[..., Source]) -> None:
    (tmp_path / "a.jsonl").write_bytes(line("a"))
    plain = source(SourceKind.JSONL, tmp_path)
    mapped = source(SourceKind.JSONL, tmp_path, fields=FieldNames(title="uri"))
    assert plain.input_digest() != mapped.input_digest()


def test_real_paragraphs_are_read(shared_data: Path, read: Read) -> None:
    path = shared_data / "squad2_wiki" / "docs_gold.jsonl"
    documents = read(SourceKind.JSONL, path, fields=FieldNames(uri="doc_id"))
    assert len({document.uri for document in documents}) == len(path.read_text().splitlines()) == 1271
    assert documents[0].uri == "normans-001"
