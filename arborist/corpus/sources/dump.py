"""Pages of a MediaWiki XML export, one at a time, from a file of any size."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from arborist.corpus.sources.entries import Fault
from arborist.corpus.sources.files import open_stream, unreadable

FILE_NAMESPACES = (-2, 6, 14)
"""Numbers of the namespaces Media, File and Category, the same in every wiki."""

_REDIRECT = re.compile(r"\s*#REDIRECT\s*:?\s*\[\[(?P<target>[^\[\]|#]+)", re.IGNORECASE)
_WIKITEXT = ("wikitext", None)


@dataclass(frozen=True, slots=True)
class Page:
    """A page in its newest revision. `markup` is None where the dump hides it or it is no wikitext.

    `redirect` is the title it redirects to or "". `file_namespaces`: the wiki's own names, in lower case, for
    its namespaces of files and categories.
    """

    title: str
    namespace: int
    redirect: str
    revision: str
    markup: str | None
    file_namespaces: frozenset[str]


def pages(path: Path) -> Iterator[Page | Fault]:
    """The pages of an export file (.xml, .xml.bz2 or .xml.gz); a Fault, where it breaks off, is the last."""
    # a quarter of a second to load, and only this kind of source needs it
    from mwxml.errors import MalformedXML

    place = _Place(path)
    try:
        with open_stream(path) as stream:
            for page in _pages(stream):
                place.title = page.title
                yield page
    except ParseError as error:
        # mwxml makes its own ParseError of the first one, without a position
        line, column = getattr(error, "position", (0, 0))
        yield place.fault("the XML is broken, or ends too early", f"line {line}, column {column}" if line else "")
    except (EOFError, zlib.error):
        yield place.fault("the compressed file is damaged, or ends too early")
    except OSError as error:
        # a damaged bzip2 or gzip file is an OSError that the system knows nothing of
        yield unreadable(path, error) if error.errno else place.fault("the compressed file is damaged")
    except (MalformedXML, ValueError, TypeError, AttributeError, AssertionError):
        # mwxml does not look before it converts: a page without a title, an id that is no number
        yield place.fault("not as the MediaWiki export schema has it")


@dataclass(slots=True)
class _Place:
    """Where the reader is: after which page."""

    path: Path
    title: str = ""

    def fault(self, reason: str, position: str = "") -> Fault:
        after = f'after page "{self.title}"' if self.title else "before the first page"
        return Fault(self.path, ", ".join(filter(None, (position, after))), reason)


def _pages(stream: Any) -> Iterator[Page]:
    import mwxml
    from mwxml.element_iterator import ElementIterator

    root = ElementIterator.from_file(stream)
    if root.tag != "mediawiki":
        raise mwxml.errors.MalformedXML(root.tag)
    dump = mwxml.Dump.from_element(root)
    file_namespaces = frozenset(
        str(namespace.name).lower()
        for namespace in dump.site_info.namespaces or ()
        if int(namespace.id) in FILE_NAMESPACES
    )
    for page in dump.pages:
        newest = max(page, key=lambda revision: (str(revision.timestamp), revision.id or 0))
        yield _page(page, newest, file_namespaces)
        # mwxml empties the elements it has read but leaves them hanging on the root, one a page
        del root.element[:]


def _page(page: Any, revision: Any, file_namespaces: frozenset[str]) -> Page:
    main = revision.slots.contents["main"]
    markup = (main.text or "") if main.model in _WIKITEXT and not main.deleted else None
    return Page(
        title=page.title,
        namespace=page.namespace,
        redirect=_title(page.redirect or _redirect_target(markup or "")),
        revision=str(revision.id),
        markup=markup,
        file_namespaces=file_namespaces,
    )


def _redirect_target(markup: str) -> str:
    """For exports older than the `redirect` element (schema 0.4)."""
    found = _REDIRECT.match(markup)
    return found["target"] if found else ""


def _title(target: str) -> str:
    """The target as titles are written: blanks, a capital first, no section."""
    title = " ".join(target.partition("#")[0].replace("_", " ").split())
    return title[:1].upper() + title[1:]
