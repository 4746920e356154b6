"""A MediaWiki export as documents with aliases."""

import csv
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from arborist.corpus.config import SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources import Source
from arborist.errors import InputError

Read = Callable[..., list[Document]]
ReadWithSkips = Callable[..., tuple[list[Document], list[Skip]]]

HEAD = "<mediawiki><siteinfo><namespaces></namespaces></siteinfo>\n"
REAL = "enwiki-2016-pages-articles-206pages.xml.bz2"
MARKS = ("{{", "}}", "[[", "]]", "<ref", "{|", "|}", "'''", "''", "<!--", "&nbsp;", "<math", "\n==")


def page(title: str, text: str = "", redirect: str = "", namespace: int = 0) -> str:
    target = f'<redirect title="{redirect}" />' if redirect else ""
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>1</id>{target}"
        f"<revision><id>7</id><text>{text}</text></revision></page>\n"
    )


def dump(path: Path, *pages: str, tail: str = "</mediawiki>") -> Path:
    path.write_text(HEAD + "".join(pages) + tail)
    return path


def test_a_page_is_a_document_with_its_redirects_as_aliases(
    tmp_path: Path, read_with_skips: ReadWithSkips
) -> None:
    path = dump(
        tmp_path / "wiki.xml",
        page("Before", redirect="Ada Lovelace"),
        page("Ada Lovelace", "'''Ada''' wrote [[notes]]."),
        page("After", redirect="Before"),
    )
    documents, skips = read_with_skips(SourceKind.MEDIAWIKI, path, name="wiki")
    assert documents == [
        Document(
            uri="wiki/Ada_Lovelace",
            title="Ada Lovelace",
            text="Ada wrote notes.",
            source_type="mediawiki",
            source_revision="7",
            aliases=("After", "Before"),
        )
    ]
    assert skips == []


def test_redirects_that_lead_nowhere_are_counted_and_no_error(
    tmp_path: Path, read_with_skips: ReadWithSkips
) -> None:
    path = dump(
        tmp_path / "wiki.xml",
        page("A", "Text."),
        page("B", redirect="C"),
        page("C", redirect="B"),
        page("D", redirect="X"),
    )
    documents, skips = read_with_skips(SourceKind.MEDIAWIKI, path, on_error="fail")
    assert [document.aliases for document in documents] == [()]
    assert [skip.place for skip in skips] == ['page "B"', 'page "C"', 'page "D"']
    assert skips[2].reason == 'redirects to "X", which leads to no page of the source'


def test_only_the_namespaces_asked_for_are_read(tmp_path: Path, read: Read) -> None:
    path = dump(
        tmp_path / "wiki.xml", page("A", "a"), page("Talk:A", "b", namespace=1), page("WP:A", "c", namespace=4)
    )
    assert [document.uri for document in read(SourceKind.MEDIAWIKI, path)] == ["s/A"]
    assert [document.uri for document in read(SourceKind.MEDIAWIKI, path, namespaces=(0, 4))] == ["s/A", "s/WP:A"]


def test_a_dump_in_several_files_is_one_wiki(tmp_path: Path, read: Read) -> None:
    dump(tmp_path / "a.xml", page("B", redirect="A"))
    dump(tmp_path / "b.xml", page("A", "Text."))
    (document,) = read(SourceKind.MEDIAWIKI, tmp_path)
    assert document.aliases == ("B",)


def test_a_page_of_nothing_but_templates_is_skipped_and_no_error(
    tmp_path: Path, read_with_skips: ReadWithSkips
) -> None:
    path = dump(tmp_path / "wiki.xml", page("A", "Text."), page("B", "{{soft redirect}}"))
    _, skips = read_with_skips(SourceKind.MEDIAWIKI, path, on_error="fail")
    assert [skip.place for skip in skips] == ['wiki.xml: page "B"']


def test_an_empty_page_is_an_error_or_a_skip(tmp_path: Path, read: Read, read_with_skips: ReadWithSkips) -> None:
    path = dump(tmp_path / "wiki.xml", page("A", "Text."), page("B", " \n"))
    with pytest.raises(InputError, match=r'wiki\.xml: page "B": empty: there is no text in it \(on_error'):
        read(SourceKind.MEDIAWIKI, path)
    documents, skips = read_with_skips(SourceKind.MEDIAWIKI, path)
    assert [document.title for document in documents] == ["A"]
    assert [skip.place for skip in skips] == ['wiki.xml: page "B"']


def test_a_file_that_breaks_off_keeps_what_stands_before(
    tmp_path: Path, source: Callable[..., Source], read_with_skips: ReadWithSkips
) -> None:
    path = dump(tmp_path / "wiki.xml", page("B", redirect="A"), page("A", "Text."), tail="<page><title>C")
    documents, skips = read_with_skips(SourceKind.MEDIAWIKI, path)
    assert [(document.title, document.aliases) for document in documents] == [("A", ("B",))]
    assert [skip.place for skip in skips] == ['wiki.xml: line 4, column 14, after page "A"']
    with pytest.raises(InputError, match=r'line 4, column 14, after page "A": the XML is broken'):
        next(source(SourceKind.MEDIAWIKI, path).documents(print))


def test_the_digest_follows_the_namespaces(tmp_path: Path, source: Callable[..., Source]) -> None:
    path = dump(tmp_path / "wiki.xml", page("A", "a"))
    one, two, same = (
        source(SourceKind.MEDIAWIKI, path, namespaces=chosen).input_digest() for chosen in ((0, 4), (0,), (4, 0))
    )
    assert one == same != two


@pytest.fixture(scope="module")
def expected(shared_data: Path) -> list[dict[str, str]]:
    with (shared_data / "enwiki_dump" / "pages.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def real(shared_data: Path, read_with_skips: ReadWithSkips) -> tuple[list[Document], list[Skip]]:
    path = shared_data / "enwiki_dump" / REAL
    return read_with_skips(SourceKind.MEDIAWIKI, path, namespaces=(0, 4), on_error="fail")


@pytest.mark.slow
def test_a_real_dump_is_read_page_by_page(
    expected: list[dict[str, str]], real: tuple[list[Document], list[Skip]]
) -> None:
    documents, skips = real
    articles = [row for row in expected if not row["redirect_to"]]
    redirects = {row["title"]: row["redirect_to"] for row in expected if row["redirect_to"]}
    assert (len(expected), len(articles), len(redirects)) == (206, 106, 100)

    found = [(document.title, document.source_revision) for document in documents]
    assert found == [(row["title"], row["rev_id"]) for row in articles]
    assert len({document.uri for document in documents}) == 106

    aliases = {alias: document.title for document in documents for alias in document.aliases}
    assert {alias: redirects[alias] for alias in aliases} == aliases
    assert len(aliases) == 13
    assert len(skips) == 87
    assert {skip.place for skip in skips} == {f'page "{title}"' for title in redirects if title not in aliases}

    for document in documents:
        assert not [mark for mark in MARKS if mark in document.text], document.title


@pytest.mark.slow
def test_the_text_of_a_real_article_is_its_prose(real: tuple[list[Document], list[Skip]]) -> None:
    texts = {document.title: document.text for document in real[0]}
    assert texts["Albedo"].startswith("Albedo or reflection coefficient, derived from Latin albedo")
    assert "\n\nTerrestrial albedo\n\n" in texts["Albedo"]
    assert "Category:" not in texts["Anarchism"]
    assert len(texts["Anarchism"]) > 60_000


def test_a_real_dump_that_is_cut_off_keeps_the_pages_before(
    shared_data: Path, tmp_path: Path, read_with_skips: ReadWithSkips
) -> None:
    data = (shared_data / "enwiki_dump" / REAL).read_bytes()
    path = tmp_path / "cut.xml.bz2"
    path.write_bytes(data[:400_000])
    documents, skips = read_with_skips(SourceKind.MEDIAWIKI, path)
    assert documents[0].title == "Anarchism"
    broken = [skip for skip in skips if "redirects" not in skip.reason]
    assert len(broken) == 1
    assert broken[0].reason == "the compressed file is damaged, or ends too early"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump(tmp_path: Path, source: Callable[..., Source]) -> None:
    def peak(count: int) -> int:
        names = range(count)
        pages = (page(f"P{name}", f"[[Words]] of {name}. " + "and more " * 3_000) for name in names)
        redirects = (page(f"R{name}", redirect=f"P{name}") for name in names)
        path = dump(tmp_path / f"{count}.xml", *pages, *redirects)
        tracemalloc.start()
        try:
            found = sum(1 for _ in source(SourceKind.MEDIAWIKI, path).documents(print))
            return tracemalloc.get_traced_memory()[1] if found == count else 0
        finally:
            tracemalloc.stop()

    peak(10)  # what is loaded and cached at first use
    small, large = peak(20), peak(200)
    assert 0 < large < small * 1.5
