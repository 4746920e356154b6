"""A MediaWiki XML export: one document a page, with the redirects to it as its aliases."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arborist.corpus.document import Document, Skip
from arborist.corpus.sources.dump import Page, pages
from arborist.corpus.sources.entries import Entry, Fault, checked, entry_name, printable
from arborist.corpus.sources.files import FileSource, listed_files
from arborist.corpus.sources.redirects import Redirects
from arborist.corpus.sources.wikitext import NO_LINK_NAMESPACES, plain_text


class MediaWikiSource(FileSource):
    """The files are read twice, first for redirects, which may stand before or after what they lead to.

    Left out as a matter of course: pages of other namespaces (untold, they were not asked for), redirects
    that lead to no page of the source, and pages of nothing but templates, tables and the like.
    """

    READER_VERSION = "mediawiki-1"

    def reader_options(self) -> dict[str, Any]:
        return {"namespaces": sorted(self.config.namespaces)}

    def entries(self) -> Iterator[Entry]:
        with (
            TemporaryDirectory(prefix="arborist-") as folder,
            closing(Redirects(Path(folder) / "redirects.db")) as redirects,
        ):
            # a break is told by the first reading: where it stops the build, it stops it early
            yield from self._collected(redirects)
            for path, page in self._pages():
                if isinstance(page, Page) and not page.redirect:
                    yield self._document(path, page, redirects.aliases(page.title))
            for title, target in redirects.unresolved():
                yield Skip(f'page "{title}"', f'redirects to "{target}", which leads to no page of the source')

    def _collected(self, redirects: Redirects) -> Iterator[Skip | Fault]:
        for _, page in self._pages():
            if not isinstance(page, Page):
                yield page
            elif page.redirect:
                redirects.add_redirect(page.title, page.redirect)
            else:
                redirects.add_page(page.title)

    def _pages(self) -> Iterator[tuple[Path, Page | Skip | Fault]]:
        for found in listed_files(self.config):
            if not isinstance(found, Path):
                yield self.config.path or Path(), found
                continue
            for page in pages(found):
                if isinstance(page, Fault) or page.namespace in self.config.namespaces:
                    yield found, page

    def _document(self, path: Path, page: Page, aliases: tuple[str, ...]) -> Entry:
        place = f'page "{page.title}"'
        if page.markup is None:
            return Skip(self._place(path, place), "the text is hidden, or no wikitext")
        try:
            text = plain_text(page.markup, NO_LINK_NAMESPACES | page.file_namespaces)
        except ValueError:
            return Fault(path, place, "the markup cannot be parsed")
        if page.markup.strip() and not text:
            return Skip(self._place(path, place), "nothing but templates, tables, links to files and the like")
        document = Document(
            uri=f"{self.config.name}/{page.title.replace(' ', '_')}",
            title=page.title,
            text=text,
            source_type=self.config.kind.value,
            source_revision=page.revision,
            aliases=aliases,
        )
        return checked(document, path, place)

    def _place(self, path: Path, place: str) -> str:
        return printable(f"{entry_name(self.config, path)}: {place}")
