"""How a document's text is cut into chunks, and the label under which that is known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: `text == document.text[start:end]`, offsets in characters."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Chunker:
    """Cuts at the largest semantic unit that fits `max_characters`; white space between chunks is left out."""

    max_characters: int

    @cached_property
    def version(self) -> str:
        """`chunking_version`: the splitter, its version and its parameters; upgrading the library changes it."""
        return f"semantic-text-splitter/{version('semantic-text-splitter')}/characters/max={self.max_characters}"

    def chunks(self, text: str) -> list[Chunk]:
        """The chunks in order: at least one for a text that is not empty, also where it is white space alone."""
        limit = self.max_characters
        # The splitter leaves white space out, which must not make a document vanish.
        blank = ((start, text[start : start + limit]) for start in range(0, len(text), limit))
        pieces = self._splitter(text) or blank
        return [Chunk(start, start + len(piece), piece) for start, piece in pieces]

    @cached_property
    def _splitter(self) -> Callable[[str], list[tuple[int, str]]]:
        from semantic_text_splitter import TextSplitter

        split: Callable[[str], list[tuple[int, str]]] = TextSplitter(self.max_characters).chunk_indices
        return split
