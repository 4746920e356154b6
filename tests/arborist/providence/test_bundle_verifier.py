"""The stand-alone verifier: what holds verifies, what was changed or is not understood is refused."""

import ast
import json
import random
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from arborist.providence import bundle_verifier
from arborist.providence.bundle_verifier import BundleError, canonical_json, verify_bundle

VERIFIER = Path(bundle_verifier.__file__)

numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(values)
def test_canonical_json_is_that_of_the_rfc8785_package(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    "value",
    [0.1, 1e21, 1e20, 123456789012345680000.0, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 4.5],
)
def test_numbers_are_written_as_ecmascript_writes_them(value: float) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), "\ud800", {1: 2}, b"bytes", [{"a": (1,)}]])
def test_what_canonical_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises(BundleError):
        canonical_json(value)


def test_the_verifier_imports_the_standard_library_and_cryptography_alone() -> None:
    modules = set()
    for node in ast.walk(ast.parse(VERIFIER.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or ".").split(".")[0])
    assert modules - sys.stdlib_module_names == {"cryptography"}


def test_a_bundle_says_what_it_proves(bundle: bytes) -> None:
    report = verify_bundle(bundle)
    assert report.question == "Why is Oceania at war?"
    assert report.records == 3
    assert report.evidence == 5
    assert verify_bundle(bundle, report.public_key) == report


def test_a_key_that_is_not_the_trusted_one_is_refused(bundle: bytes, other_bundle: bytes) -> None:
    with pytest.raises(BundleError, match="not signed by the key that is trusted"):
        verify_bundle(bundle, verify_bundle(other_bundle).public_key)


def corrupted(bundle: bytes, chance: random.Random) -> bytes:
    data = bytearray(bundle)
    data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    return bytes(data)


def test_five_hundred_single_byte_corruptions_are_each_refused(bundle: bytes) -> None:
    chance = random.Random(500)
    for _ in range(500):
        with pytest.raises(BundleError):
            verify_bundle(corrupted(bundle, chance))


@given(st.data())
def test_a_bundle_cut_anywhere_is_refused(bundle: bytes, data: st.DataObject) -> None:
    with pytest.raises(BundleError):
        verify_bundle(bundle[: data.draw(st.integers(0, len(bundle) - 1))])


@given(st.binary(max_size=200))
def test_anything_else_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(BundleError):
        verify_bundle(data)


@given(values)
def test_other_json_is_refused_in_words(value: Any) -> None:
    with pytest.raises(BundleError):
        verify_bundle(canonical_json(value))


def test_nesting_without_end_is_refused_in_words() -> None:
    with pytest.raises(BundleError, match="nested too deeply"):
        verify_bundle(b"[" * 100_000)


def test_a_key_that_stands_twice_is_refused(bundle: bytes) -> None:
    doubled = bundle.replace(b'{"checkpoint":', b'{"checkpoint":"","checkpoint":', 1)
    with pytest.raises(BundleError, match="not JSON"):
        verify_bundle(doubled)


def test_another_spelling_of_the_same_json_is_refused(bundle: bytes) -> None:
    with pytest.raises(BundleError, match="canonical form"):
        verify_bundle(json.dumps(json.loads(bundle)).encode())


def objects(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all objects of fixed shape in a bundle; payloads and headers are whatever was hashed."""
    found: list[tuple[Any, ...]] = []
    if isinstance(value, dict):
        found.append(path)
        for key, item in value.items():
            if key not in ("payload", "commitment"):
                found += objects(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += objects(item, (*path, index))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def test_an_unknown_key_anywhere_is_refused(bundle: bytes) -> None:
    paths = objects(json.loads(bundle))
    assert len(paths) > 30
    for path in paths:
        changed = json.loads(bundle)
        at(changed, path)["unknown"] = 1
        with pytest.raises(BundleError):
            verify_bundle(canonical_json(changed))


def test_a_missing_key_anywhere_is_refused(bundle: bytes) -> None:
    for path in objects(json.loads(bundle)):
        for key in at(json.loads(bundle), path):
            changed = json.loads(bundle)
            del at(changed, path)[key]
            if key == "payload" and at(changed, path).get("stage", "question") not in bundle_verifier.SHOWN_STAGES:
                # A payload that is not shown is no lie: its digest still binds it.
                assert verify_bundle(canonical_json(changed))
                continue
            with pytest.raises(BundleError):
                verify_bundle(canonical_json(changed))


@pytest.mark.parametrize("name", ["records", "evidence", "documents", "shards"])
def test_nothing_can_be_left_out_or_stand_twice(bundle: bytes, name: str) -> None:
    value = json.loads(bundle)
    holder = value if name == "records" else max(value["records"], key=lambda record: len(record[name]))
    for change in (holder[name][1:], [*holder[name], holder[name][0]], []):
        kept, holder[name] = holder[name], change
        with pytest.raises(BundleError):
            verify_bundle(canonical_json(value))
        holder[name] = kept


def test_evidence_cannot_change_places(bundle: bytes) -> None:
    value = json.loads(bundle)
    holder = max(value["records"], key=lambda record: len(record["evidence"]))
    holder["evidence"].reverse()
    with pytest.raises(BundleError, match="not the context of the run"):
        verify_bundle(canonical_json(value))


def test_a_record_of_another_ledger_cannot_be_put_in(bundle: bytes, other_bundle: bytes) -> None:
    value, other = json.loads(bundle), json.loads(other_bundle)
    value["records"] = other["records"]
    value["run_dag_root"] = other["run_dag_root"]
    with pytest.raises(BundleError, match="not included in the log that was signed"):
        verify_bundle(canonical_json(value))


def isolated(python: Path, bundles: list[Path], copy: Path) -> subprocess.CompletedProcess[str]:
    """Run a copy of the one file, isolated from this project, over all bundles."""
    code = f"""
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("bundle_verifier", {str(copy)!r})
module = sys.modules["bundle_verifier"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert not any(name.startswith(("arborist", "rfc8785")) for name in sys.modules)
print(sum(module.main([path]) == 0 for path in sys.argv[1:]), file=sys.stderr)
"""
    arguments = [str(python), "-I", "-c", code, *map(str, bundles)]
    return subprocess.run(arguments, cwd=copy.parent, capture_output=True, text=True)


def test_a_copy_of_the_one_file_verifies_where_the_project_is_not(bundle: bytes, tmp_path: Path) -> None:
    copy, file = tmp_path / "bundle_verifier.py", tmp_path / "bundle.json"
    copy.write_bytes(VERIFIER.read_bytes())
    file.write_bytes(bundle)
    result = isolated(Path(sys.executable), [file], copy)
    assert (result.returncode, result.stderr.strip()) == (0, "1")


@pytest.mark.parametrize(("content", "code"), [(b"{}", 4), (None, 2)])
def test_the_one_file_is_a_command_with_exit_codes(tmp_path: Path, content: bytes | None, code: int) -> None:
    file = tmp_path / "bundle.json"
    if content is not None:
        file.write_bytes(content)
    result = subprocess.run([sys.executable, str(VERIFIER), str(file)], capture_output=True, text=True)
    assert result.returncode == code
    assert str(file) in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_two_hundred_bundles_verify_with_python_and_cryptography_alone(
    two_hundred_bundles: list[Path], tmp_path: Path
) -> None:
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", "cryptography"], capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip("cryptography cannot be installed here: no package index is reachable")
    copy = tmp_path / "bundle_verifier.py"
    copy.write_bytes(VERIFIER.read_bytes())
    result = isolated(python, two_hundred_bundles, copy)
    assert (result.returncode, result.stderr.strip()) == (0, "200")
    chance = random.Random(200)
    for path in two_hundred_bundles:
        for _ in range(3):
            with pytest.raises(BundleError):
                verify_bundle(corrupted(path.read_bytes(), chance))
