"""Markdown, reStructuredText and plain text: one document a file."""

from collections.abc import Iterator
from pathlib import Path

from arborist.corpus.document import Document, Skip
from arborist.corpus.sources.entries import Entry, Fault, checked, entry_name, printable, title_line
from arborist.corpus.sources.files import FileSource, read_text
from arborist.corpus.sources.headings import front_matter, markdown_heading, rst_heading

_RST_SUFFIXES = (".rst", ".txt")


class MarkdownSource(FileSource):
    """The text is the file's, without YAML front matter; the title its front matter's or its first heading's."""

    READER_VERSION = "markdown-1"

    def entries(self) -> Iterator[Entry]:
        return self.each_file(self._document)

    def _document(self, path: Path) -> Iterator[Entry]:
        file = read_text(path)
        if isinstance(file, Fault):
            yield file
            return
        matter = front_matter(file.text)
        text = file.text[matter.length :]
        if matter.length and not text.strip():
            yield Skip(printable(entry_name(self.config, path)), "nothing but front matter")
            return
        heading = rst_heading if path.suffix.lower() in _RST_SUFFIXES else markdown_heading
        document = Document(
            uri=self.file_uri(path),
            title=title_line(matter.title or heading(text)) or path.stem,
            text=text,
            source_type=self.config.kind.value,
            source_revision=file.digest,
        )
        yield checked(document, path, "")
