"""Bundles in a folder: found by their input, told apart by all they hold, without following or waiting."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arborist.retrieval_audit.bundle_files import RESPONSE_LIMIT
from arborist.retrieval_audit.bundle_folders import bundle_digest, bundle_inputs
from tests.arborist.retrieval_audit.bundles import file_bundle


def test_bundles_are_found_by_their_input(tmp_path: Path) -> None:
    for name in ("b", "a"):
        file_bundle().write(tmp_path / name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "audit.json").write_text("{}")
    assert bundle_inputs(tmp_path) == {name: tmp_path / name / "audit.json" for name in ("a", "b")}
    assert list(bundle_inputs(tmp_path)) == ["a", "b"]


def test_where_there_is_no_folder_there_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert bundle_inputs(tmp_path / "nowhere") == bundle_inputs(tmp_path / "file") == {}


def test_an_input_that_leads_nowhere_is_still_one_to_audit(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "audit.json").symlink_to("nowhere")
    assert list(bundle_inputs(tmp_path)) == ["a"]


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda folder: (folder / "after.json").write_bytes((folder / "after.json").read_bytes() + b" "),
    "a name": lambda folder: (folder / "after.json").rename(folder / "later.json"),
    "a file more": lambda folder: (folder / "notes.txt").touch(),
    "a file less": lambda folder: (folder / "after.json").unlink(),
    "a file below": lambda folder: (folder / "deep").mkdir() or (folder / "deep" / "x").write_text("x"),
    "two files swapped": lambda folder: (
        (folder / "customer.json").rename(folder / "x"),
        (folder / "unrelated.json").rename(folder / "customer.json"),
        (folder / "x").rename(folder / "unrelated.json"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_digest_follows_names_and_contents(tmp_path: Path, change: str) -> None:
    folder = file_bundle().write(tmp_path).parent
    before = bundle_digest(folder)
    CHANGES[change](folder)
    assert bundle_digest(folder) != before


def test_a_digest_follows_nothing_else(tmp_path: Path) -> None:
    first, second = (file_bundle().write(tmp_path / name).parent for name in ("a", "b"))
    (second / "audit.json").touch()
    (second / ".audit.json.lock").touch()
    assert bundle_digest(first) == bundle_digest(second)


def test_links_pipes_and_huge_files_are_neither_followed_nor_waited_for_nor_read(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1000 * RESPONSE_LIMIT)
    assert bundle_digest(tmp_path) == bundle_digest(tmp_path)
