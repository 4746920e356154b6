"""Which files a folder holds, in which order, and what becomes of those that cannot be read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arborist.corpus.config import SourceConfig, SourceKind
from arborist.corpus.document import Document, Skip
from arborist.corpus.sources import Source
from arborist.corpus.sources.files import listed_files
from arborist.errors import InputError

Read = Callable[..., list[Document]]
ReadWithSkips = Callable[..., tuple[list[Document], list[Skip]]]


def filled(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"The file {name}.", encoding="utf-8")
    return folder


def names(folder: Path, **globs: tuple[str, ...]) -> list[str]:
    include, exclude = globs.get("include", ("**/*.md",)), globs.get("exclude", ())
    config = SourceConfig("s", SourceKind.MARKDOWN, folder, include, exclude)
    return [path.relative_to(folder).as_posix() for path in listed_files(config) if isinstance(path, Path)]


def test_files_are_sorted_by_the_bytes_of_their_paths(tmp_path: Path) -> None:
    filled(tmp_path, "b.md", "a/z.md", "a.md", "a-b.md", "B.md", "é.md", "z.md", "a/b/c.md")
    found = names(tmp_path)
    assert found == sorted(found, key=str.encode)
    assert found == ["B.md", "a-b.md", "a.md", "a/b/c.md", "a/z.md", "b.md", "z.md", "é.md"]


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        ({}, ["a.md", "drafts/a.md", "drafts/deep/b.md", "x/drafts/c.md"]),
        ({"include": ("*.md",)}, ["a.md"]),
        ({"include": ("drafts/**",)}, ["drafts/a.md", "drafts/deep/b.md", "drafts/notes.txt"]),
        ({"include": ("**/?.md",), "exclude": ("drafts/**",)}, ["a.md", "x/drafts/c.md"]),
        ({"exclude": ("drafts",)}, ["a.md", "x/drafts/c.md"]),
        ({"exclude": ("**/drafts/**", "a.*")}, []),
        ({"include": ("[a].md",)}, []),
    ],
)
def test_globs_choose_files(tmp_path: Path, globs: dict[str, tuple[str, ...]], expected: list[str]) -> None:
    filled(tmp_path, "a.md", "drafts/a.md", "drafts/deep/b.md", "drafts/notes.txt", "x/drafts/c.md")
    assert names(tmp_path, **globs) == expected


def test_hidden_folders_environments_and_data_are_not_entered(tmp_path: Path) -> None:
    filled(tmp_path, ".git/a.md", ".venv/a.md", "node_modules/a.md", "var/a.md", "env/pyvenv.cfg", "env/a.md")
    filled(tmp_path, "docs/var/kept.md", "docs/.hidden/a.md", "docs/node_modules/a.md", ".kept.md")
    assert names(tmp_path) == [".kept.md", "docs/var/kept.md"]
    assert names(tmp_path / ".git") == ["a.md"]


def test_a_link_to_a_folder_is_told_and_not_followed(tmp_path: Path, read_with_skips: ReadWithSkips) -> None:
    filled(tmp_path, "a.md")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "linked.md").symlink_to("a.md")
    documents, skips = read_with_skips(SourceKind.MARKDOWN, tmp_path)
    assert [document.uri for document in documents] == ["s/a.md", "s/linked.md"]
    assert [skip.place for skip in skips] == ["loop"]
    assert "a link to a folder" in skips[0].reason


def test_what_cannot_be_opened_is_a_fault_and_never_waited_for(
    tmp_path: Path, read: Read, read_with_skips: ReadWithSkips
) -> None:
    filled(tmp_path, "a.md")
    (tmp_path / "gone.md").symlink_to("nowhere.md")
    (tmp_path / "itself.md").symlink_to("itself.md")
    os.mkfifo(tmp_path / "pipe.md")
    documents, skips = read_with_skips(SourceKind.MARKDOWN, tmp_path)
    assert [document.uri for document in documents] == ["s/a.md"]
    assert [skip.place for skip in skips] == ["gone.md", "itself.md", "pipe.md"]
    assert "not a regular file" in skips[2].reason
    with pytest.raises(InputError, match=r"gone\.md: .*cannot be read: No such file"):
        read(SourceKind.MARKDOWN, tmp_path)


def test_a_name_that_is_no_unicode_is_a_fault_that_can_be_shown(
    tmp_path: Path, source: Callable[..., Source], read_with_skips: ReadWithSkips
) -> None:
    filled(tmp_path, "a.md", "two\nlines.md")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("Latin 1.")
    documents, skips = read_with_skips(SourceKind.MARKDOWN, tmp_path)
    assert [document.uri for document in documents] == ["s/a.md"]
    assert [skip.place for skip in skips] == ["caf\\udce9.md", "two\nlines.md"]
    assert source(SourceKind.MARKDOWN, tmp_path).input_digest()


def test_names_that_differ_only_in_unicode_form_are_two_documents(tmp_path: Path, read: Read) -> None:
    filled(tmp_path, "caf\u00e9.md", "cafe\u0301.md")
    assert {document.uri for document in read(SourceKind.MARKDOWN, tmp_path)} == {
        "s/caf\u00e9.md",
        "s/cafe\u0301.md",
    }


@pytest.mark.parametrize("kind", [kind for kind in SourceKind if kind is not SourceKind.PYTHON_TOPICS])
def test_a_folder_without_documents_is_an_error_that_names_the_table(
    tmp_path: Path, kind: SourceKind, read: Read, read_with_skips: ReadWithSkips
) -> None:
    with pytest.raises(InputError, match=r"table \[sources.s\]: the source has no documents .*check `path`"):
        read(kind, tmp_path)
    filled(tmp_path, "a.unknown")
    with pytest.raises(InputError, match="the source has no documents"):
        read_with_skips(kind, tmp_path)


def test_the_digest_follows_contents_names_and_options_not_times(
    tmp_path: Path, source: Callable[..., Source]
) -> None:
    def digest(folder: Path = tmp_path, **options: object) -> str:
        return source(SourceKind.MARKDOWN, folder, **options).input_digest()

    filled(tmp_path, "a.md", "b.txt")
    first = digest()
    os.utime(tmp_path / "a.md", (1, 1))
    filled(tmp_path, "not-read.png")
    assert digest() == first

    seen = {first, digest(name="t"), digest(include=("*.md",))}
    (tmp_path / "a.md").write_text("Another text.")
    seen.add(digest())
    (tmp_path / "a.md").rename(tmp_path / "c.md")
    seen.add(digest())
    assert len(seen) == 5


def test_the_digest_is_the_same_wherever_the_folder_lies(tmp_path: Path, source: Callable[..., Source]) -> None:
    here, there = filled(tmp_path / "here", "a.md"), filled(tmp_path / "there", "a.md")
    digests = {source(SourceKind.MARKDOWN, folder).input_digest() for folder in (here, there)}
    assert len(digests) == 1
    assert source(SourceKind.MARKDOWN, here / "a.md").input_digest() in digests
