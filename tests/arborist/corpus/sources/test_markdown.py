"""Markdown, reStructuredText and text files as documents."""

import hashlib
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arborist.corpus.config import SourceKind
from arborist.corpus.document import Document, Skip
from arborist.errors import InputError

Read = Callable[..., list[Document]]
ReadWithSkips = Callable[..., tuple[list[Document], list[Skip]]]


def test_a_file_is_a_document(tmp_path: Path, read: Read) -> None:
    data = b"# Getting *started*\r\n\r\nCall `run`.\r\n"
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "start.md").write_bytes(data)
    assert read(SourceKind.MARKDOWN, tmp_path, name="handbook") == [
        Document(
            uri="handbook/guide/start.md",
            title="Getting started",
            text=data.decode(),
            source_type="markdown",
            source_revision=hashlib.sha256(data).hexdigest(),
        )
    ]


def test_a_source_may_be_one_file(tmp_path: Path, read: Read) -> None:
    (tmp_path / "note.text").write_text("Only words.")
    (document,) = read(SourceKind.MARKDOWN, tmp_path / "note.text")
    assert (document.uri, document.title) == ("s/note.text", "note")


def test_front_matter_is_cut_off_and_gives_the_title(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: The guide\nsort_rank: 1\n---\n\n# Another heading\n\nText.\n")
    (document,) = read(SourceKind.MARKDOWN, tmp_path)
    assert (document.title, document.text) == ("The guide", "\n# Another heading\n\nText.\n")


def test_a_file_of_nothing_but_front_matter_is_skipped_without_being_an_error(
    tmp_path: Path, read_with_skips: ReadWithSkips
) -> None:
    (tmp_path / "a.md").write_text("Text.")
    (tmp_path / "index.md").write_text("---\ntitle: Index\n---\n")
    documents, skips = read_with_skips(SourceKind.MARKDOWN, tmp_path, on_error="fail")
    assert [document.uri for document in documents] == ["s/a.md"]
    assert skips == [Skip("index.md", "nothing but front matter")]


def test_only_a_byte_order_mark_is_taken_from_the_text(tmp_path: Path, read: Read) -> None:
    text = "\ufeff# Title\x0c\r\rText\u2028 with\x01 odd\n\r\n characters \ufeff" + "x" * 1_000_000
    (tmp_path / "a.md").write_bytes(text.encode())
    assert read(SourceKind.MARKDOWN, tmp_path)[0].text == text[1:]


@pytest.mark.parametrize("name", ["a.rst", "a.txt"])
def test_rst_titles_are_read_where_the_name_says_so(tmp_path: Path, name: str, read: Read) -> None:
    (tmp_path / name).write_text("# no heading here\n\nTitle\n=====\n")
    assert read(SourceKind.MARKDOWN, tmp_path)[0].title == "Title"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"fine\nnot \xff fine\n", r"a\.md: line 2, byte 9: not UTF-8 \(on_error = "),
        ("# Title".encode("utf-16"), r"a\.md: line 1, byte 0: not UTF-8"),
        (b" \n\r\n", r"a\.md: empty: there is no text in it"),
        (b"", r"a\.md: empty"),
        (b"binary\0", r"a\.md: a NUL character"),
        (b"\xed\xa0\x80", r"a\.md: line 1, byte 0: not UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_an_error_or_a_skip(
    tmp_path: Path, data: bytes, message: str, read: Read, read_with_skips: ReadWithSkips
) -> None:
    (tmp_path / "a.md").write_bytes(data)
    (tmp_path / "b.md").write_text("Text.")
    with pytest.raises(InputError, match=message):
        read(SourceKind.MARKDOWN, tmp_path)
    documents, skips = read_with_skips(SourceKind.MARKDOWN, tmp_path)
    assert [document.uri for document in documents] == ["s/b.md"]
    assert [skip.place.partition(":")[0] for skip in skips] == ["a.md"]


@pytest.mark.parametrize(
    ("archive", "documents", "only_front_matter"),
    [("django-5.2", 242, 0), ("python-3.11", 390, 0), ("ruff", 15, 0), ("prometheus", 58, 13)],
)
def test_real_documentation_is_read_whole_and_every_page_has_its_heading(
    shared_data: Path,
    tmp_path: Path,
    read_with_skips: ReadWithSkips,
    archive: str,
    documents: int,
    only_front_matter: int,
) -> None:
    with tarfile.open(shared_data / "docs_faq" / f"{archive}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    found, skips = read_with_skips(SourceKind.MARKDOWN, tmp_path, on_error="fail")
    assert (len(found), len(skips)) == (documents, only_front_matter)
    assert len({document.uri for document in found}) == documents
    assert [document.uri for document in found if document.title == Path(document.uri).stem] == []
    assert not [document.title for document in found if "`" in document.title]
