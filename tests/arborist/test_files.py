"""A file that is replaced is the old one or the new one, whatever happens to its writer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arborist.files import replacing, write_replacing

STUCK_WRITER = """
import sys
from pathlib import Path
from arborist.files import replacing

with replacing(Path(sys.argv[1])) as partial:
    partial.write_bytes(b"half")
    print("writing", flush=True)
    sys.stdin.read()
    partial.write_bytes(b"whole")
"""


def stuck_writer(path: Path) -> subprocess.Popen[str]:
    """A process that has written half of `path`, and goes on when its standard input is closed."""
    writer = subprocess.Popen(
        [sys.executable, "-c", STUCK_WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    return writer


def partials(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir() if ".partial" in item.name)


def test_the_new_content_is_there_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_replacing(path, b"one")
    write_replacing(path, b"two")
    assert path.read_bytes() == b"two"
    assert partials(path) == []


def test_the_old_file_is_read_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_replacing(path, b"old")
    with replacing(path) as partial:
        partial.write_bytes(b"new")
        assert path.read_bytes() == b"old"


def test_an_error_inside_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_replacing(path, b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as partial:
        partial.write_bytes(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert partials(path) == []


def test_a_block_that_removes_what_it_was_given_leaves_the_old_file_untouched(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_replacing(path, b"old")
    before = path.stat()
    with replacing(path) as partial:
        partial.write_bytes(b"the same after all")
        partial.unlink()
    assert path.read_bytes() == b"old"
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_killed_writer_leaves_the_old_file_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_replacing(path, b"old")
    writer = stuck_writer(path)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert path.read_bytes() == b"old"
    assert partials(path) == [".file.partial"]
    write_replacing(path, b"new")
    assert path.read_bytes() == b"new"
    assert partials(path) == []


def test_what_a_killed_writer_left_beside_its_partial_file_goes_too(tmp_path: Path) -> None:
    path = tmp_path / "file [1]"
    (tmp_path / ".file [1].partial-journal").write_bytes(b"left")
    write_replacing(path, b"new")
    assert partials(path) == []


def test_the_leftovers_of_another_file_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / ".other.partial"
    other.write_bytes(b"somebody writes this")
    write_replacing(tmp_path / "[no]ther", b"new")
    assert other.exists()


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    path = tmp_path / "file"
    first = stuck_writer(path)
    second = subprocess.Popen(
        [sys.executable, "-c", STUCK_WRITER, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.5)
    assert not path.exists()
    first.communicate()
    second.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert path.read_bytes() == b"whole"


def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_replacing(tmp_path / "file", b"new")
    finally:
        os.umask(mask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
