"""The first heading of a marked-up text, as plain words.

ATX and setext headings, fences and the like are CommonMark's; section titles are docutils' (reStructuredText
Markup Specification, Sections).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?P<block>(?:[ \t]*(?:#[^\n]*)?\r?\n)*[\w\"'-]+[ \t]*:.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_FRONT_MATTER_TITLE = re.compile(r"^title[ \t]*:[ \t]*(?P<title>[^\r\n]*)", re.MULTILINE)
_QUOTED = re.compile(r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^']|'')*)'")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*")

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]+(?P<title>.*?))??(?:[ \t]+#+)?[ \t]*")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r"[ \t]{4}| {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||<)")

_MARKDOWN_INLINE = (
    (re.compile(r"!?\[(?P<kept>[^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])"), r"\g<kept>"),
    (re.compile(r"[ \t]*\{[#.:][^{}]*\}[ \t]*$"), ""),
    (re.compile(r"`+|\*+"), ""),
)

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*")
_RST_INLINE = (
    (re.compile(r":[\w:.+-]+:`~[\w.]*\.(?P<last>\w+)`"), r"\g<last>"),
    (re.compile(r":[\w:.+-]+:`[~!]?(?P<role>[^`]*)`"), r"`\g<role>`"),
    (re.compile(r"`(?P<kept>[^`<]*?)[ \t]*<[^`<>]*>`_{0,2}"), r"\g<kept>"),
    (re.compile(r"(?<!\\)[`*]+(?:_{1,2}(?!\w))?"), ""),
    (re.compile(r"\|(?P<kept>[^|]+)\|"), r"\g<kept>"),
    (re.compile(r"\\(?P<kept>.)"), r"\g<kept>"),
)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """How many characters at the start of a text are YAML front matter, and the title it gives or ""."""

    length: int
    title: str


def front_matter(text: str) -> FrontMatter:
    """The front matter of a text; none where the text merely begins with a thematic break."""
    found = _FRONT_MATTER.match(text)
    if not found:
        return FrontMatter(0, "")
    title = _FRONT_MATTER_TITLE.search(found["block"])
    return FrontMatter(found.end(), _yaml_scalar(title["title"]) if title else "")


def _yaml_scalar(text: str) -> str:
    quoted = _QUOTED.match(text)
    if quoted:
        if quoted["single"] is not None:
            return quoted["single"].replace("''", "'")
        return re.sub(r"\\(.)", r"\1", quoted["double"])
    plain = re.split(r"[ \t]#", text, maxsplit=1)[0].strip()
    return "" if _BLOCK_SCALAR.fullmatch(plain) else plain


def markdown_heading(text: str) -> str:
    """The first ATX or setext heading outside fenced code, without its inline markup; "" for none."""
    previous = ""
    for line in _unfenced(text.splitlines()):
        atx = _ATX.fullmatch(line)
        if atx and atx["title"]:
            return _without(_MARKDOWN_INLINE, atx["title"])
        if previous and _SETEXT.fullmatch(line):
            return _without(_MARKDOWN_INLINE, previous)
        previous = "" if _NO_PARAGRAPH.match(line) else line.strip()
    return ""


def _unfenced(lines: Sequence[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["fence"].startswith(fence) and not line.strip(f"{fence[0]} \t"):
                fence = ""
        elif mark:
            fence = mark["fence"]
            yield ""
        else:
            yield line


def rst_heading(text: str) -> str:
    """The first section title, underlined or also overlined, without its inline markup; "" for none."""
    lines = ["", *(line.rstrip() for line in text.splitlines())]
    for before, title, under in zip(lines, lines[1:], lines[2:], strict=False):
        if _is_title(before, title, under):
            return _without(_RST_INLINE, title.strip())
    return ""


def _is_title(before: str, title: str, under: str) -> bool:
    if not title.strip() or not _ADORNMENT.fullmatch(under) or _ADORNMENT.fullmatch(title):
        return False
    if before:
        return before == under and _width(title) <= len(under)
    return not title[0].isspace() and not title.startswith(".. ") and len(under) >= min(4, _width(title))


def _width(text: str) -> int:
    """Columns on a terminal: docutils compares these, and wide characters take two."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def _without(markup: Sequence[tuple[re.Pattern[str], str]], title: str) -> str:
    for pattern, replacement in markup:
        title = pattern.sub(replacement, title)
    return title.strip()
