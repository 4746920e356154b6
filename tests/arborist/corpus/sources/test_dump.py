"""Pages of a MediaWiki export file."""

import bz2
import gc
import gzip
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from arborist.corpus.sources.dump import Page, pages
from arborist.corpus.sources.entries import Fault

HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo><sitename>W</sitename><namespaces>'
    '<namespace key="0" case="first-letter" /><namespace key="6" case="first-letter">Datei</namespace>'
    '<namespace key="14" case="first-letter">Kategorie</namespace></namespaces></siteinfo>\n'
)
PACKERS: dict[str, Callable[[bytes], bytes]] = {".xml": bytes, ".xml.bz2": bz2.compress, ".xml.gz": gzip.compress}


def revision(number: int, text: str, timestamp: str = "2020-01-01T00:00:00Z", model: str = "wikitext") -> str:
    return (
        f"<revision><id>{number}</id><timestamp>{timestamp}</timestamp><model>{model}</model>"
        f"<text>{text}</text></revision>"
    )


def page(title: str, *revisions: str, redirect: str = "") -> str:
    target = f'<redirect title="{redirect}" />' if redirect else ""
    return f"<page><title>{title}</title><ns>0</ns><id>1</id>{target}{''.join(revisions)}</page>\n"


def dump(folder: Path, *parts: str, suffix: str = ".xml") -> Path:
    path = folder / f"wiki{suffix}"
    path.write_bytes(PACKERS[suffix]((HEAD + "".join(parts) + "</mediawiki>").encode()))
    return path


@pytest.mark.parametrize("suffix", PACKERS)
def test_pages_are_read_from_packed_and_plain_files(tmp_path: Path, suffix: str) -> None:
    path = dump(tmp_path, page("A", revision(7, "Text &amp; more.")), page("B_b", revision(8, "b")), suffix=suffix)
    first, second = pages(path)
    assert first == Page("A", 0, "", "7", "Text & more.", frozenset({"datei", "kategorie"}))
    assert isinstance(second, Page)
    assert (second.title, second.revision) == ("B b", "8")


def test_of_several_revisions_the_newest_counts(tmp_path: Path) -> None:
    (found,) = pages(
        dump(
            tmp_path,
            page(
                "A",
                revision(1, "old", "2019-01-01T00:00:00Z"),
                revision(3, "new", "2021-01-01T00:00:00Z"),
                revision(2, "between", "2020-01-01T00:00:00Z"),
            ),
        )
    )
    assert isinstance(found, Page)
    assert (found.revision, found.markup) == ("3", "new")


@pytest.mark.parametrize(
    ("element", "text", "target"),
    [
        ("B", "#REDIRECT [[C]]", "B"),
        ("b_b#section", "", "B b"),
        ("", "#redirect: [[b_b#section|label]] {{R from move}}", "B b"),
        ("", "Text about #REDIRECT [[B]]", ""),
    ],
)
def test_redirects_are_read_from_the_element_or_else_the_text(
    tmp_path: Path, element: str, text: str, target: str
) -> None:
    (found,) = pages(dump(tmp_path, page("A", revision(1, text), redirect=element)))
    assert isinstance(found, Page)
    assert found.redirect == target


def test_pages_that_were_read_do_not_stay_in_memory(tmp_path: Path) -> None:
    path = dump(tmp_path, *(page(f"P{number}", revision(number, "text")) for number in range(1000)))
    stream = pages(path)
    for _ in range(990):
        next(stream)
    assert sum(isinstance(thing, Element) for thing in gc.get_objects()) < 300


def test_text_that_is_hidden_or_no_wikitext_is_none(tmp_path: Path) -> None:
    hidden = revision(1, "").replace("<text></text>", '<text deleted="deleted" />')
    found = list(pages(dump(tmp_path, page("A", hidden), page("B", revision(2, "{}", model="json")))))
    assert [item.markup for item in found if isinstance(item, Page)] == [None, None]


GOOD = page("A", revision(1, "a"))


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        ("", "before the first page", "the XML is broken"),
        ("no XML", "before the first page", "the XML is broken"),
        ("<html></html>", "before the first page", "not as the MediaWiki export schema"),
        ("<mediawiki></mediawiki>", "before the first page", "not as the MediaWiki export schema"),
        (HEAD + GOOD, 'line 3, column 0, after page "A"', "the XML is broken, or ends too early"),
        (HEAD + GOOD + "<page><title>B</ti", 'line 3, column 14, after page "A"', "the XML is broken"),
        (HEAD + GOOD + "<page>&</page>", 'line 3, column 7, after page "A"', "the XML is broken"),
        (HEAD + GOOD + "\x01", 'line 3, column 0, after page "A"', "the XML is broken"),
        (HEAD + GOOD + "<page></page>", 'after page "A"', "not as the MediaWiki export schema"),
        (HEAD + GOOD + "<page><id>x</id></page>", 'after page "A"', "not as the MediaWiki export schema"),
        (HEAD + GOOD + "<other></other>", 'after page "A"', "not as the MediaWiki export schema"),
    ],
)
def test_where_a_file_breaks_off_is_told_last(tmp_path: Path, content: str, place: str, reason: str) -> None:
    path = tmp_path / "wiki.xml"
    path.write_text(content)
    *before, fault = pages(path)
    assert [item.title for item in before if isinstance(item, Page)] == (["A"] if GOOD in content else [])
    assert isinstance(fault, Fault)
    assert fault.place == place
    assert reason in fault.reason


@pytest.mark.parametrize("suffix", [".xml.bz2", ".xml.gz"])
@pytest.mark.parametrize("damage", ["cut", "overwritten", "not packed"])
def test_a_damaged_packed_file_is_told_last(tmp_path: Path, suffix: str, damage: str) -> None:
    texts = ["".join(chr(97 + (number * step) % 26) for step in range(997)) for number in range(1500)]
    path = dump(tmp_path, *(page(f"P{n}", revision(n, text)) for n, text in enumerate(texts)), suffix=suffix)
    data = path.read_bytes()
    half = len(data) // 2
    damaged = {"cut": data[:half], "overwritten": data[:half] + bytes(half), "not packed": b"<mediawiki>"}
    path.write_bytes(damaged[damage])
    *before, fault = pages(path)
    assert isinstance(fault, Fault)
    assert "damaged" in fault.reason
    assert all(isinstance(item, Page) for item in before)


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    (fault,) = pages(tmp_path / "wiki.xml")
    assert isinstance(fault, Fault)
    assert "No such file" in fault.reason
