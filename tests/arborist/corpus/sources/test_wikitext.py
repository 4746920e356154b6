"""MediaWiki markup to text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus.sources.wikitext import plain_text

MARKS = ("{{", "}}", "[[", "]]", "<ref", "{|", "|}", "'''", "<!--")


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("'''Anarchism''' is a ''political'' '''''idea'''''.", "Anarchism is a political idea."),
        ("[[politics]], [[state (polity)|states]]", "politics, states"),
        ("[[:Category:Ideas]] and [[:File:A.png|a file]]", "Category:Ideas and a file"),
        ("[http://example.org a label] and http://example.org/b", "a label and http://example.org/b"),
        ("a [http://example.org] b", "a b"),
        ("Text.<ref name=a>See [[x]] {{cite|b}}</ref> More.<ref name=a />", "Text. More."),
        ("a {{infobox|x={{y|[[z]]}}}} b", "a b"),
        ("{| class=a\n|-\n! head\n| cell [[x]]\n|}\nAfter.", "After."),
        ("Before.\n{|\n| outer\n{|\n| inner\n|}\n|}\nAfter.", "Before.\n\nAfter."),
        ("== History ==\nText.\n=== ''Early'' times ===\nMore.", "History\n\nText.\n\nEarly times\n\nMore."),
        ("[[File:A.png|thumb|A ''caption'' with [[a link]]]]Text.", "Text."),
        ("[[Image:A.png]]Text.\n[[Category:Ideas|sort]]\n[[fr:Idée]]", "Text."),
        ("a <!-- hidden [[x]] --> b", "a b"),
        ("so <math>x^{2}</math> and <gallery>\nA.png|b\n</gallery>", "so and"),
        ("a&nbsp;b &lt;c&gt; &eacute; &#233; &#xe9;", "a b <c> é é é"),
        ("* one\n** two\n# three\n; term : meaning\n: indented", "one\ntwo\nthree\nterm meaning\nindented"),
        ("&lt;b&gt; &amp;lt; &lt;stdio.h&gt; AT&T &copy", "<b> &lt; <stdio.h> AT&T &copy"),
        ("one<br />two<br>three", "one\ntwo\nthree"),
        ("H<sub>2</sub>O <small>small</small> <nowiki>as ''is''</nowiki>", "H2O small as is"),
        ("__NOTOC__\nText ({{lang|fr}}) here ( ; ).", "Text here."),
        ("a\n\n\n\n\nb   c \r\nd", "a\n\nb c\nd"),
        ("it's 'quoted' and rock 'n' roll", "it's 'quoted' and rock 'n' roll"),
        ("5 < 6 and a > b | c", "5 < 6 and a > b | c"),
        ("{{only a template}}", ""),
        ("", ""),
    ],
)
def test_markup_becomes_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a {{never closed", "a never closed"),
        ("a [[never closed", "a never closed"),
        ("a <ref>never closed", "a never closed"),
        ("a '''never closed", "a never closed"),
        ("a }} b ]] c", "a b c"),
        ("{|\n| a cell of a table that is never closed\n\nAfter.", "After."),
        ("a &#91;&#91;b&#93;&#93; &#123;{c}}", "a b c"),
        ("{<nowiki/>{a}<nowiki/>}", "a"),
        ("{{[[{|", ""),
        ("<nowiki>{{a}} [[b]] <ref></nowiki>", "a b"),
        ("&#xD800; &#0; &#x110000;x", "\ufffd \ufffd \ufffdx"),
    ],
)
def test_markup_that_is_broken_leaves_no_marks(markup: str, text: str) -> None:
    found = plain_text(markup)
    assert not [mark for mark in MARKS if mark in found]
    assert found == text


@pytest.mark.parametrize("mark", ["<ref>", "<!--", "{|\n", "[[", "'''", "(", " "])
def test_thousands_of_marks_that_are_never_closed_are_read_in_time(mark: str) -> None:
    start = time.process_time()
    assert not plain_text(mark * 5_000).strip("(")
    assert time.process_time() - start < 10


def test_a_wiki_of_another_language_names_its_own_namespaces() -> None:
    markup = "[[Datei:A.png|mini]]Ein [[Satz]].\n[[Kategorie:Ideen]]"
    assert plain_text(markup, frozenset({"datei", "kategorie"})) == "Ein Satz."


PIECES = st.sampled_from(
    (*MARKS, "''", "-->", "|-", "==", "*", "|", "{", "}", "[", "]", "<", ">", "\n", "a", " b ", "File:")
) | st.sampled_from(("<ref>", "</ref>", "<ref/>", "<nowiki>", "</nowiki>", "&#91;", "&lt;ref", "&amp;lt;"))


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_mark_is_ever_left(markup: str) -> None:
    text = plain_text(markup)
    assert not [mark for mark in MARKS if mark in text]
    assert text == text.strip()
