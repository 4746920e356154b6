"""A source read to its end, as tests of every kind need it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arborist.corpus.config import DEFAULT_INCLUDE, OnError, SourceConfig, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources import Source, open_source


def opened(kind: SourceKind, path: Path | None, **options: Any) -> Source:
    options = {"name": "s", "include": DEFAULT_INCLUDE[kind]} | options
    return open_source(SourceConfig(kind=kind, path=path, **options))


@pytest.fixture(scope="session")
def source() -> Callable[..., Source]:
    """`source(kind, path, **options)` opens a source named `s`."""
    return opened


@pytest.fixture(scope="session")
def read() -> Callable[..., list[Document]]:
    """`read(kind, path, **options)`: the documents of a source of which nothing may be left out."""

    def documents(kind: SourceKind, path: Path | None, **options: Any) -> list[Document]:
        skips: list[Skip] = []
        found = list(opened(kind, path, **options).documents(skips.append))
        assert not skips
        return found

    return documents


@pytest.fixture(scope="session")
def read_with_skips() -> Callable[..., tuple[list[Document], list[Skip]]]:
    """`read_with_skips(kind, path, **options)`: documents and skips under `on_error = "skip"`."""

    def both(kind: SourceKind, path: Path, **options: Any) -> tuple[list[Document], list[Skip]]:
        skips: list[Skip] = []
        options = {"on_error": OnError.SKIP} | options
        return list(opened(kind, path, **options).documents(skips.append)), skips

    return both
