"""Text for people: what documents and questions hold is shown, never obeyed by the terminal."""

import unicodedata

import click

from arborist.corpus.store import Corpus

SHOWN_SHARDS = 5


def shown(text: str) -> str:
    """The text with control characters escaped, line ends and tabs aside: a document may not move the cursor."""
    return "".join(character if _is_harmless(character) else _escaped(character) for character in text)


def echo_text(text: str) -> None:
    """Print text that holds words of documents or questions."""
    click.echo(shown(text))


def warn_of_missing_shards(corpus: Corpus) -> None:
    """Say on stderr which shards a search has to do without; where there is none at all, the search says so."""
    missing = corpus.unpublished_shards()
    if missing and corpus.published_shards():
        names = ", ".join(missing[:SHOWN_SHARDS]) + (", ..." if len(missing) > SHOWN_SHARDS else "")
        click.echo(
            f"Warning: {len(missing)} shards are not built, not searched: {names} (`arborist build`)", err=True
        )


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
