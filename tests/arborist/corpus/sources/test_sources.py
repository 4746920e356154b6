"""Every kind of source opens behind the one door."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from arborist.corpus.config import SourceKind, load_corpus_config
from arborist.corpus.sources import Source, open_source


@pytest.mark.parametrize("kind", SourceKind)
def test_every_kind_has_a_reader_with_a_version_of_its_own(
    tmp_path: Path, kind: SourceKind, source: Callable[..., Source]
) -> None:
    opened = source(kind, tmp_path)
    assert opened.config.kind is kind
    assert opened.READER_VERSION.startswith(f"{kind}-")  # type: ignore[attr-defined]


def test_opening_reads_nothing(tmp_path: Path, source: Callable[..., Source]) -> None:
    assert source(SourceKind.JSONL, tmp_path / "not-there.jsonl").config.name == "s"


def test_a_corpus_file_leads_to_documents(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nText.\n")
    (tmp_path / "corpus.toml").write_text('[sources.handbook]\nkind = "markdown"\npath = "docs"\n')
    config = load_corpus_config(tmp_path / "corpus.toml")
    (document,) = open_source(config.sources[0]).documents(print)
    assert (document.uri, document.title) == ("handbook/a.md", "A")


def test_importing_the_sources_loads_none_of_the_readers_libraries() -> None:
    heavy = ("pandas", "pyarrow", "mwxml", "mwparserfromhell", "pydoc_data.topics")
    program = f"import sys, arborist.corpus.sources; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
