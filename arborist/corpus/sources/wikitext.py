"""MediaWiki markup to plain text: prose, list items and headings stay, apparatus goes.

Left out are templates, tables, references, file and category links, comments, formulas, galleries and code
blocks; a link leaves its label, a heading its words on a line of its own.
"""

import html
import re
from collections.abc import Collection
from typing import Any

NO_LINK_NAMESPACES = frozenset({"file", "image", "media", "category"})
"""Names of namespaces, in lower case, whose links are not prose; a dump adds those of its language."""

_DROPPED_TAGS = frozenset(
    {"categorytree", "ce", "chem", "gallery", "graph", "hiero", "imagemap", "indicator", "inputbox", "mapframe"}
    | {"maplink", "math", "ref", "references", "score", "script", "section", "source", "style", "syntaxhighlight"}
    | {"table", "templatedata", "templatestyles", "timeline"}
)
_LINE_TAGS = frozenset({"blockquote", "br", "center", "dd", "div", "dl", "dt", "hr", "li", "ol", "p", "ul"})
_LANGUAGE_LINK = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*:")

_COMMENT = (re.compile("<!--"), re.compile("-->"))
_REFERENCE = (re.compile(r"<ref\b[^<>]*>", re.IGNORECASE), re.compile(r"</ref\s*>", re.IGNORECASE))
_UNPARSED_TABLE = (re.compile(r"^[ :*#]*\{\|", re.MULTILINE), re.compile(r"^[ \t]*\|\}", re.MULTILINE))
_TABLE_ROW = re.compile(r"^[ \t]*(?:\{\||\|).*$", re.MULTILINE)
_UNPARSED_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>\n]*|/)?>")
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")
_SWITCH = re.compile(r"__[A-Z]+__")
_STYLE_MARKS = re.compile(r"'{2,}")
_RESIDUE = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|<!--|-->|</?ref|'{3,}", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r" ?\([\s,;:]*\)")
_INDENT_MARKS = re.compile(r"^[ \t]*[*#:;]+[ \t]*", re.MULTILINE)
_BLANKS = re.compile(r"[ \t\xa0]+")
_LINE_EDGES = re.compile(r" *\r?\n *")
_EMPTY_LINES = re.compile(r"\n{3,}")


def plain_text(markup: str, no_link_namespaces: Collection[str] = NO_LINK_NAMESPACES) -> str:
    """The readable text of a page, paragraphs apart by an empty line; "" where it holds nothing to read.

    None of MediaWiki's double brackets, table brackets, reference tags or style quotes is ever in it, even
    from markup that is never closed. Raises ValueError for markup that the parser gives up on.
    """
    # the parser loads slowly, and only this kind of source needs it
    import mwparserfromhell

    # half of a page is references, and the parser would take its time to take them apart
    markup = _without_spans(_without_spans(markup, *_COMMENT), *_REFERENCE)
    try:
        # style marks that do not match cost the parser time without end, and here they only go away
        tree = mwparserfromhell.parse(markup, skip_style_tags=True)
    except mwparserfromhell.parser.ParserError as error:
        raise ValueError("the parser gives up on this markup") from error
    return _tidy(_without_unparsed(_text(tree, no_link_namespaces)))


def _without_spans(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    """The text without what stands from each opening to the next closing mark; one alone stays."""
    # one pattern for the whole span would search to the end of the text from each mark that is never closed
    kept, position = [], 0
    while start := opening.search(text, position):
        end = start if start[0].endswith("/>") else closing.search(text, start.end())
        if end is None:
            break
        kept.append(text[position : start.start()])
        position = end.end()
    return "".join((*kept, text[position:]))


def _text(tree: Any, no_link_namespaces: Collection[str]) -> str:
    return "".join(_node_text(node, no_link_namespaces) for node in tree.nodes)


def _node_text(node: Any, no_link_namespaces: Collection[str]) -> str:
    # by name: the classes come with the parser, which this module loads late
    match type(node).__name__:
        case "Text":
            return str(node.value)
        case "Wikilink":
            return _link_text(node, no_link_namespaces)
        case "ExternalLink":
            return _text(node.title, no_link_namespaces) if node.title else "" if node.brackets else str(node.url)
        case "Heading":
            return f"\n\n{_text(node.title, no_link_namespaces).strip()}\n\n"
        case "HTMLEntity":
            return str(node)
        case "Tag":
            return _tag_text(node, no_link_namespaces)
        case _:
            return ""


def _link_text(link: Any, no_link_namespaces: Collection[str]) -> str:
    target = str(link.title).strip()
    # a leading colon makes an ordinary link of one to a file, a category or another language
    if not target.startswith(":"):
        if target.partition(":")[0].strip().lower().replace("_", " ") in no_link_namespaces:
            return ""
        if link.text is None and _LANGUAGE_LINK.match(target):
            return ""
    if link.text is not None:
        return _text(link.text, no_link_namespaces)
    return _text(link.title, no_link_namespaces).strip().removeprefix(":")


def _tag_text(tag: Any, no_link_namespaces: Collection[str]) -> str:
    name = str(tag.tag).strip().lower()
    if name in _DROPPED_TAGS:
        return ""
    # the mark of a list item is a tag without contents; its text follows it
    inner = _text(tag.contents, no_link_namespaces) if tag.contents else ""
    if tag.wiki_markup or name not in _LINE_TAGS:
        return inner
    return f"\n{inner}\n" if inner else "\n"


def _without_unparsed(text: str) -> str:
    """The text without markup that the parser took for text because it is never closed or wrongly nested."""
    text = _without_spans(_without_spans(text, *_UNPARSED_TABLE), *_REFERENCE)
    for pattern in (_TABLE_ROW, _UNPARSED_TAG, _SWITCH, _STYLE_MARKS):
        text = pattern.sub("", text)
    # only now, or a bracket that the author wrote as an entity would pass for markup
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    # taking one mark out can bring the halves of another together
    while _RESIDUE.search(text):
        text = _RESIDUE.sub("", text)
    return text


def _tidy(text: str) -> str:
    text = _EMPTY_BRACKETS.sub("", _BLANKS.sub(" ", text))
    text = _LINE_EDGES.sub("\n", _INDENT_MARKS.sub("", text))
    return _EMPTY_LINES.sub("\n\n", text).strip()
