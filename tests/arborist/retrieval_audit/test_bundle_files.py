"""Files of a bundle: what a name may say, where it may lead, how much is read."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.retrieval_audit import verify, verify_file
from arborist.retrieval_audit.bundle_files import (
    AFTER,
    BEFORE,
    CUSTOMER,
    INPUT,
    RESPONSE_LIMIT,
    BundleFiles,
    BundlePath,
    bundle_path,
    input_location,
)
from arborist.retrieval_audit.findings import BlockedError, Failure
from tests.arborist.retrieval_audit.bundles import file_bundle


def blocked(value: Any) -> Failure | None:
    try:
        bundle_path(value, "/input/before")
    except BlockedError as error:
        assert error.finding.at == "/input/before"
        assert isinstance(error.finding.code, Failure)
        return error.finding.code
    return None


def content_code(directory: Path, name: str) -> Failure | None:
    try:
        BundleFiles(directory).document(bundle_path(name, "/input/before"), BEFORE)
    except BlockedError as error:
        assert isinstance(error.finding.code, Failure)
        return error.finding.code
    return None


@given(st.text("ab./\\: \t\x00\u00a0é", max_size=12))
def test_an_accepted_name_stays_below_the_bundle(name: str) -> None:
    try:
        components = bundle_path(name, "/x").components
    except BlockedError:
        return
    joined = os.path.normpath(Path("/bundle").joinpath(*components))
    assert joined == "/bundle" or joined.startswith("/bundle/")
    assert not {"", ".", ".."} & set(components)
    assert "\\" not in name
    assert not re.match(r"\s*[A-Za-z]:", name)


@pytest.mark.parametrize(
    "name", ["before.json", "./ev/./before.json", "ev//before.json", "a b.json", "été.json", "..a"]
)
def test_names_below_the_bundle_are_accepted(name: str) -> None:
    assert blocked(name) is None


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a\tb.json", Failure.PATH_INVALID),
        ("\ud800.json", Failure.PATH_INVALID),
        ("urn:x", Failure.PATH_URI_OR_NETWORK),
        ("a+b-c.1:x", Failure.PATH_URI_OR_NETWORK),
        (" \u2003//srv/share", Failure.PATH_URI_OR_NETWORK),
        ("/\\srv\\share", Failure.PATH_URI_OR_NETWORK),
        (" /etc/hostname", Failure.PATH_OUTSIDE_BUNDLE),
        ("a/..", Failure.PATH_OUTSIDE_BUNDLE),
        ("a\\..\\b", Failure.PATH_OUTSIDE_BUNDLE),
    ],
)
def test_other_names_are_refused_by_their_characters(name: str, code: Failure) -> None:
    assert blocked(name) is code


def test_a_refused_name_is_never_looked_up() -> None:
    with pytest.raises(BlockedError):
        bundle_path("https://x.test/before.json", "/input/before")
    report = verify(file_bundle().documents["audit"] | {"after": "//srv/share/a"}, "/nowhere")
    assert report["first_failure"] == {"code": "path-uri-or-network", "at": "/input/after", "status": "failed"}


@pytest.mark.parametrize("name", ["zero", "null", "tty", "."])
def test_devices_and_directories_are_not_read(name: str) -> None:
    assert content_code(Path("/dev"), name) is Failure.FILE_NOT_REGULAR


def test_a_pipe_does_not_hang_the_audit(tmp_path: Path) -> None:
    bundle = file_bundle()
    audit_file = bundle.write(tmp_path / "bundle")
    response = audit_file.parent / "customer.json"
    response.unlink()
    os.mkfifo(response)
    reports: list[dict[str, Any]] = []
    audit = threading.Thread(target=lambda: reports.append(verify_file(audit_file, now=bundle.now)), daemon=True)
    audit.start()
    audit.join(timeout=10)
    assert reports[0]["first_failure"] == {
        "code": "file-not-regular",
        "at": "/customer/response",
        "status": "failed",
    }


def test_a_pipe_as_input_does_not_hang_the_command(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "audit.json")
    finished = subprocess.run(
        [sys.executable, "-m", "arborist.retrieval_audit", "--input", str(tmp_path / "audit.json")],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (2, b"")
    assert b"file-not-regular" in finished.stdout


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("no.json", Failure.FILE_MISSING),
        ("plain.json/below.json", Failure.FILE_MISSING),
        ("link.json", Failure.PATH_LINK),
        ("dangling.json", Failure.PATH_LINK),
        ("loop/a.json", Failure.PATH_LINK),
        ("n" * 400, Failure.FILE_UNREADABLE),
        ("plain.json", None),
        ("hard.json", None),
    ],
)
def test_a_name_leads_to_a_regular_file_or_is_refused(name: str, code: Failure | None, tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text("{}")
    (tmp_path / "hard.json").hardlink_to(tmp_path / "plain.json")
    (tmp_path / "link.json").symlink_to("plain.json")
    (tmp_path / "dangling.json").symlink_to("nothing")
    (tmp_path / "loop").symlink_to("loop")
    assert content_code(tmp_path, name) is code


def test_a_linked_bundle_directory_is_refused_and_one_above_it_is_not(tmp_path: Path) -> None:
    bundle = file_bundle()
    bundle.write(tmp_path / "real" / "bundle")
    (tmp_path / "linked").symlink_to("real/bundle")
    (tmp_path / "above").symlink_to("real")
    refused = verify_file(tmp_path / "linked" / "audit.json", now=bundle.now)
    assert refused["first_failure"] == {"code": "path-link", "at": "/input", "status": "failed"}
    assert verify_file(tmp_path / "above" / "bundle" / "audit.json", now=bundle.now)["status"] == "review-required"


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}".ljust(RESPONSE_LIMIT))
    (tmp_path / "b.json").write_bytes(b"{}".ljust(RESPONSE_LIMIT + 1))
    files = BundleFiles(tmp_path)
    assert files.document(BundlePath(("a.json",)), CUSTOMER) == {}
    assert files.digests["customer"].size == RESPONSE_LIMIT
    with pytest.raises(BlockedError) as error:
        BundleFiles(tmp_path).document(BundlePath(("b.json",)), CUSTOMER)
    assert error.value.finding.code is Failure.FILE_TOO_LARGE


def test_one_file_cannot_stand_for_two(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").hardlink_to(tmp_path / "a.json")
    files = BundleFiles(tmp_path)
    files.document(BundlePath(("a.json",)), BEFORE)
    with pytest.raises(BlockedError) as error:
        files.document(BundlePath(("b.json",)), AFTER)
    assert (error.value.finding.code, error.value.finding.at) == (Failure.PATH_REPEATED, "/input/after")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", Failure.PATH_INVALID),
        ("a\0b", Failure.PATH_INVALID),
        ("https://x.test/audit.json", Failure.PATH_URI_OR_NETWORK),
        ("\\\\srv\\share\\audit.json", Failure.PATH_URI_OR_NETWORK),
        ("//srv/share/audit.json", Failure.PATH_URI_OR_NETWORK),
    ],
)
def test_the_input_itself_is_a_local_path(path: str, code: Failure) -> None:
    with pytest.raises(BlockedError) as error:
        input_location(path)
    assert (error.value.finding.code, error.value.finding.at) == (code, INPUT.named_at)


def test_the_bundle_directory_is_the_one_that_holds_the_input() -> None:
    assert input_location("a/b/audit.json") == (Path("a/b"), BundlePath(("audit.json",)))
    assert input_location("audit.json") == (Path(), BundlePath(("audit.json",)))
    assert input_location("C:/a/audit.json")[1] == BundlePath(("audit.json",))
