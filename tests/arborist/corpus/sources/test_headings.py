"""The first heading of a text, in the three ways to write one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus.sources.headings import FrontMatter, front_matter, markdown_heading, rst_heading


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Title", "Title"),
        ("text\n\n###### Deep ##\n", "Deep"),
        ("#hashtag\n\n# C#\n", "C#"),
        ("#\n\n## Second\n", "Second"),
        ("####### seven\n", ""),
        ("    # code\n", ""),
        ("```\n# a comment\n```\n# Title\n", "Title"),
        ("~~~~ sh\n# one\n~~~\n# two\n~~~~\n# Title\n", "Title"),
        ("```\n# never closed\n", ""),
        ("Title\n=====\n", "Title"),
        ("Title\r\n---\r\n", "Title"),
        ("\n---\n\n# Title\n", "Title"),
        ("- a\n---\n# Title\n", "Title"),
        ("> quote\n---\n# Title\n", "Title"),
        ("| a | b |\n---\n# Title\n", "Title"),
        ("# The `run` *call* **now**", "The run call now"),
        ("# [Docs](https://example.org) and [more][1]", "Docs and more"),
        ("# Title {#anchor .class}", "Title"),
        ("# `__init__` and snake_case", "__init__ and snake_case"),
        ("no heading", ""),
        ("", ""),
    ],
)
def test_markdown_headings(text: str, heading: str) -> None:
    assert markdown_heading(text) == heading


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Title\n=====\n", "Title"),
        ("=====\nTitle\n=====\n", "Title"),
        ("=======\n Title\n=======\n", "Title"),
        (".. _label:\n\nTitle\n~~~~~\n", "Title"),
        ("text\n----\n\n----\n\nTitle\n^^^^^\n", "text"),
        ("a paragraph\nof lines\n--------\n", ""),
        ("para\n\n----------\n\nTitle\n++++++++\n", "Title"),
        (".. note\n=======\n", ""),
        ("Too long a title\n--\n", ""),
        ("日本語\n======\n", "日本語"),
        ("日本語\n===\n", ""),
        ("====  ====\na     b\n====  ====\n", ""),
        (":mod:`shlex` --- Simple ``lexical`` *analysis*\n==========\n", "shlex --- Simple lexical analysis"),
        ("The :class:`~email.policy.Policy` API\n=========\n", "The Policy API"),
        ("See :ref:`the guide <guide>` and `site <https://example.org>`_\n========\n", "See the guide and site"),
        ("What does \\*args mean in |python|?\n=========\n", "What does *args mean in python?"),
        ("", ""),
    ],
)
def test_rst_titles(text: str, heading: str) -> None:
    assert rst_heading(text) == heading


@pytest.mark.parametrize(
    ("matter", "title"),
    [
        ("---\ntitle: A: b # comment\n---\n", "A: b"),
        ('---\ntitle: "A \\"b\\" # c"\n---\n', 'A "b" # c'),
        ("---\ntitle: 'it''s'\n---\n", "it's"),
        ("---\r\ntitle: A\r\n---\r\n", "A"),
        ("---\n# a comment\n\ntags: [a]\ntitle: A\n...\n", "A"),
        ("---\ntags: [a]\nnested:\n  title: B\n---\n", ""),
        ("---\ntitle: >-\n  folded\n---\n", ""),
    ],
)
@pytest.mark.parametrize("rest", ["", "text", "\n# Heading\n\n---\n"])
def test_front_matter_ends_where_the_text_begins(matter: str, title: str, rest: str) -> None:
    assert front_matter(matter + rest) == FrontMatter(len(matter), title)


@pytest.mark.parametrize(
    "text",
    ["", "---\n\nA thematic break.\n\n---\n", "---\ntitle: never closed\n", "text\n---\ntitle: A\n---\n"],
)
def test_a_text_without_front_matter_is_left_alone(text: str) -> None:
    assert front_matter(text) == FrontMatter(0, "")


MARKUP = st.lists(
    st.sampled_from(
        ["#", "=", "-", "~", "`", "*", "[", "](", ")", "\n", "\r\n", " ", "a", "title:", "---\n", "```\n"]
    )
).map("".join)


@given(MARKUP)
def test_a_heading_is_one_trimmed_line_whatever_the_text(text: str) -> None:
    for heading in (markdown_heading(text), rst_heading(text)):
        assert heading == heading.strip()
        assert "\n" not in heading


@given(MARKUP)
def test_front_matter_is_a_beginning_of_the_text(text: str) -> None:
    matter = front_matter(text)
    assert matter.length == 0 or text[: matter.length].startswith("---")
    assert 0 <= matter.length <= len(text)
