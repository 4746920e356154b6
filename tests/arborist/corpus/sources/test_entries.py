"""What the corpus can hold as a document, and what an entry that cannot be used does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus.config import OnError, SourceConfig, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources.entries import Entry, EntrySource, Fault, checked, title_line
from arborist.errors import InputError
from arborist.hashing import canonical_json

FILE = Path("file.md")


def document(uri: str = "s/a", title: str = "A", text: str = "Text.") -> Document:
    return Document(uri, title, text, "markdown", "1")


class ListedSource(EntrySource):
    READER_VERSION = "listed-1"

    def __init__(self, config: SourceConfig, *entries: Entry) -> None:
        super().__init__(config)
        self._entries = entries

    def entries(self) -> Iterator[Entry]:
        yield from self._entries

    def input_content(self) -> Any:
        return len(self._entries)


def listed(on_error: OnError, *entries: Entry) -> ListedSource:
    config = SourceConfig("s", SourceKind.MARKDOWN, Path("docs"), on_error=on_error)
    return ListedSource(config, *entries)


def test_a_fault_stops_the_build_with_file_place_and_remedy() -> None:
    source = listed(OnError.FAIL, document(), Fault(Path("docs/b.md"), "line 3", "not UTF-8"), document())
    skips: list[Skip] = []
    stream = source.documents(skips.append)
    assert next(stream) == document()
    with pytest.raises(InputError) as caught:
        next(stream)
    assert str(caught.value) == (
        "docs/b.md: line 3: not UTF-8 "
        '(on_error = "skip" in table [sources.s] leaves such entries out and lists them)'
    )


def test_a_fault_is_left_out_and_listed_where_the_table_says_so() -> None:
    source = listed(OnError.SKIP, Fault(Path("docs/x/b.md"), "line 3", "not UTF-8"), document())
    skips: list[Skip] = []
    assert list(source.documents(skips.append)) == [document()]
    assert skips == [Skip("x/b.md: line 3", "not UTF-8")]


def test_a_skip_is_no_error() -> None:
    skips: list[Skip] = []
    assert list(listed(OnError.FAIL, Skip("a", "normal"), document()).documents(skips.append)) == [document()]
    assert skips == [Skip("a", "normal")]


@pytest.mark.parametrize("on_error", OnError)
def test_a_source_of_nothing_but_skips_is_an_error(on_error: OnError) -> None:
    skips: list[Skip] = []
    with pytest.raises(InputError, match=r"docs: table \[sources.s\]: the source has no documents"):
        list(listed(on_error, Skip("a", "normal")).documents(skips.append))
    assert skips == [Skip("a", "normal")]


def test_the_digest_tells_readers_names_and_treatment_of_errors_apart() -> None:
    class Renewed(ListedSource):
        READER_VERSION = "listed-2"

    config = SourceConfig("s", SourceKind.MARKDOWN, Path("docs"))
    digests = {
        listed(OnError.FAIL).input_digest(),
        listed(OnError.SKIP).input_digest(),
        listed(OnError.FAIL, document()).input_digest(),
        Renewed(config).input_digest(),
        ListedSource(SourceConfig("t", SourceKind.MARKDOWN, Path("docs"))).input_digest(),
    }
    assert len(digests) == 5
    assert listed(OnError.FAIL).input_digest() == ListedSource(config).input_digest()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (document(uri=" "), "the uri is empty"),
        (document(uri="s/a\x00"), "control character"),
        (document(uri="s/a\nb"), "control character"),
        (document(uri="s/\ud800"), "no Unicode characters"),
        (document(title="\udfff"), "the title holds a lone surrogate"),
        (document(text=""), "empty"),
        (document(text=" \r\n\t\u00a0"), "empty"),
        (document(text="a\0b"), "NUL"),
        (document(text="a\ud800b"), "lone surrogate"),
    ],
)
def test_what_the_corpus_cannot_hold_is_a_fault(bad: Document, reason: str) -> None:
    fault = checked(bad, FILE, "line 1")
    assert isinstance(fault, Fault)
    assert (fault.path, fault.place) == (FILE, "line 1")
    assert reason in fault.reason


@given(st.builds(document, st.text(), st.text(), st.text()))
def test_what_passes_has_a_canonical_header_and_text_unchanged(candidate: Document) -> None:
    result = checked(candidate, FILE, "")
    if isinstance(result, Document):
        assert result == candidate
        assert canonical_json(result.header("c1"))
        assert "\0" not in result.text and result.text.strip()


@given(st.text())
def test_a_title_is_one_trimmed_line(text: str) -> None:
    title = title_line(text)
    assert title == " ".join(title.split())
    assert title_line(title) == title


@pytest.mark.parametrize("control", ["\0", "\x1b", "\x7f", "\x85", "\t", "\n"])
def test_a_title_holds_no_control_characters(control: str) -> None:
    assert title_line(f"{control}A{control}{control}b") == "A b"
