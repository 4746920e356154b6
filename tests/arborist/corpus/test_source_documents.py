"""Reading a source: each document in its own shard, and either all of it or nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.corpus import tables
from arborist.corpus.config import OnError
from arborist.corpus.document import Document, Skip
from arborist.corpus.source_documents import read_manifest, shard_number, write_source_documents
from arborist.errors import CorpusError, InputError
from arborist.home import Home
from tests.conftest import ROOT
from tests.corpora import ListedSource, document, source_config

URIS = st.text(st.characters(codec="utf-8"), min_size=1)
SIX = [document(f"d{number}", f"The text of document {number}.") for number in range(6)]


class FailingSource(ListedSource):
    """A source that turns out to be broken after its last document."""

    def documents(self, skipped: Callable[[Skip], None]) -> Iterator[Document]:
        yield from super().documents(skipped)
        raise InputError.at("s.jsonl", "line 7", "not a JSON object")


def read_uris(home: Home, shard: str) -> list[str]:
    return [uri for (uri,) in tables.read_rows(home.documents_file("s", shard), ["uri"])]


def content(home: Home) -> dict[str, tuple[int, int, bytes]]:
    """Every file under the home that is not a lock, with its inode, its time and its bytes."""
    files = [path for path in home.root.rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@given(URIS, st.integers(1, 999))
def test_a_shard_number_is_one_of_the_shards_and_always_the_same(uri: str, shards: int) -> None:
    assert 0 <= shard_number(uri, shards) < shards
    assert shard_number(uri, shards) == shard_number(uri, shards)


@pytest.mark.parametrize(("uri", "number"), [("d0", 2), ("d1", 1), ("wiki/Ümlaut", 1), ("arborist://x", 0)])
def test_a_shard_number_is_the_same_in_every_release(uri: str, number: int) -> None:
    assert shard_number(uri, 3) == number


def test_documents_of_a_shard_stand_in_the_order_of_their_uris_bytes(tmp_path: Path) -> None:
    uris = ["b", "a/2", "a", "Z", "é", "\U0001f333", "￿"]
    home = Home(tmp_path)
    write_source_documents(ListedSource([document(uri, "text") for uri in uris], source_config()), home)
    assert read_uris(home, "s-000") == sorted(uris, key=str.encode)


def test_every_document_lands_whole_in_the_shard_of_its_uri(tmp_path: Path) -> None:
    home = Home(tmp_path)
    given_ = [document("a", " two\n\nlines \U0001f333\r\n", "Title", ["Other name", 'Quoted "name"']), *SIX]
    write_source_documents(ListedSource(given_, source_config(3)), home)
    found = [
        (number, item)
        for number in range(3)
        for item in tables.read_documents(home.documents_file("s", f"s-{number:03d}"))
    ]
    assert {item.uri: item for _, item in found} == {item.uri: item for item in given_}
    assert all(number == shard_number(item.uri, 3) for number, item in found)


def test_a_shard_does_not_depend_on_documents_of_other_shards(tmp_path: Path) -> None:
    home, config = Home(tmp_path), source_config(3)
    before = write_source_documents(ListedSource(SIX, config), home)
    changed = f"s-{shard_number('more', 3):03d}"
    after = write_source_documents(ListedSource([document("more", "A text more."), *SIX], config), home)
    assert {shard for shard in config.shard_names if before.shards[shard] != after.shards[shard]} == {changed}


def test_the_order_in_which_a_source_yields_does_not_count(tmp_path: Path) -> None:
    config = source_config(3)
    forth = write_source_documents(ListedSource(SIX, config), Home(tmp_path / "forth"))
    back = write_source_documents(ListedSource(SIX[::-1], config), Home(tmp_path / "back"))
    assert forth.shards == back.shards
    assert forth.digest == back.digest


@pytest.mark.parametrize(
    "other",
    [
        document("d0", "Another text."),
        document("d0", SIX[0].text, "Another title"),
        document("d0", SIX[0].text, aliases=["Another name"]),
        Document("d0", "d0", SIX[0].text, "jsonl", "another revision"),
        Document("d0", "d0", SIX[0].text, "markdown", SIX[0].source_revision),
    ],
)
def test_whatever_changes_in_a_document_changes_the_digest(tmp_path: Path, other: Document) -> None:
    before = write_source_documents(ListedSource(SIX), Home(tmp_path))
    after = write_source_documents(ListedSource([other, *SIX[1:]]), Home(tmp_path))
    assert before.digest != after.digest


def test_a_shard_that_is_what_it_was_keeps_its_file(tmp_path: Path) -> None:
    home, config = Home(tmp_path), source_config(3)
    write_source_documents(ListedSource(SIX, config), home)
    before = content(home)
    edited = [document("d0", "An edited text."), *SIX[1:]]
    write_source_documents(ListedSource(edited, config), home)
    changed = {Path(name).name for name, state in content(home).items() if before[name] != state}
    assert changed == {f"s-{shard_number('d0', 3):03d}.parquet", "manifest.json", "skipped.jsonl"}


def test_a_shard_without_documents_has_a_file_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    manifest = write_source_documents(ListedSource([document("d0", "text")], source_config(3)), home)
    assert [read_uris(home, f"s-{number:03d}") for number in range(3)] == [[], [], ["d0"]]
    assert manifest.shards["s-000"] == manifest.shards["s-001"] != manifest.shards["s-002"]


def test_the_manifest_says_what_the_reading_gave(tmp_path: Path) -> None:
    source = ListedSource([Skip("line 3", "empty"), *SIX])
    written = write_source_documents(source, Home(tmp_path))
    assert written == read_manifest(Home(tmp_path), "s")
    assert (written.documents, written.skipped) == (6, 1)
    assert written.characters == sum(len(item.text) for item in SIX)
    assert written.input_digest == source.input_digest()


def test_entries_left_out_are_listed_in_their_order(tmp_path: Path) -> None:
    skips = [Skip("line 9", "empty"), Skip("line 3", 'no "uri" in it')]
    home = Home(tmp_path)
    write_source_documents(ListedSource([*skips, *SIX]), home)
    lines = home.skipped_file("s").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"place": s.place, "reason": s.reason} for s in skips]


def test_a_manifest_is_believed_only_while_its_document_files_are_there(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write_source_documents(ListedSource(SIX), home)
    home.documents_file("s", "s-000").write_bytes(b"no parquet")
    assert read_manifest(home, "s") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source": "s"}', "\x00", "nul", '{"shards": []}'])
def test_a_manifest_that_is_not_one_counts_as_none(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    write_source_documents(ListedSource(SIX), home)
    home.manifest_file("s").write_text(text)
    assert read_manifest(home, "s") is None


def test_a_uri_that_stands_twice_is_an_error_that_names_it(tmp_path: Path) -> None:
    twice = [*SIX, document("d3", "Another text.", "Another title")]
    with pytest.raises(InputError, match=r"s\.jsonl: document 'Another title': the uri 'd3'.*\[sources\.s\]"):
        write_source_documents(ListedSource(twice, source_config()), Home(tmp_path))


def test_a_uri_that_stands_twice_is_listed_and_the_first_kept_where_errors_are_skipped(tmp_path: Path) -> None:
    twice = [*SIX, document("d3", "Another text.")]
    home = Home(tmp_path)
    manifest = write_source_documents(ListedSource(twice, source_config(on_error=OnError.SKIP)), home)
    assert (manifest.documents, manifest.skipped) == (6, 1)
    assert "d3" in home.skipped_file("s").read_text()
    texts = dict(tables.read_rows(home.documents_file("s", "s-000"), ["uri", "text"]))
    assert texts["d3"] == SIX[3].text


@pytest.mark.parametrize("listed", [[], [Skip("line 1", "empty")]])
def test_a_source_without_documents_is_an_error_that_says_where_to_look(
    tmp_path: Path, listed: list[Skip]
) -> None:
    with pytest.raises(InputError, match=r"source 's' has no documents.*\[sources\.s\]"):
        write_source_documents(ListedSource(listed), Home(tmp_path))


@pytest.mark.parametrize(
    "broken",
    [
        FailingSource([document("d0", "An edited text."), *SIX[1:]], source_config(3)),
        ListedSource([], source_config(3)),
        ListedSource([*SIX[:3], document("d0", "again")], source_config(3)),
    ],
)
def test_a_source_that_fails_on_the_way_leaves_everything_as_it_was(tmp_path: Path, broken: ListedSource) -> None:
    home = Home(tmp_path)
    write_source_documents(ListedSource(SIX, source_config(3)), home)
    before = content(home)
    with pytest.raises(InputError):
        write_source_documents(broken, home)
    assert content(home) == before


def test_a_source_that_fails_at_its_first_reading_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_source_documents(FailingSource(SIX, source_config(3)), Home(tmp_path))
    assert content(Home(tmp_path)) == {}


LIMITED_READING = """
import resource, signal, sys
from pathlib import Path
from arborist.corpus.source_documents import write_source_documents
from arborist.errors import ArboristError
from arborist.home import Home
from tests.conftest import ROOT
from tests.corpora import ListedSource, document

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
texts = ["%064x " % (number * 0x9E3779B97F4A7C15 ** 4 % 2**256) * 20 for number in range(3000)]
try:
    source = ListedSource([document(f"d{number}", text) for number, text in enumerate(texts)])
    write_source_documents(source, Home(Path(sys.argv[1])))
except ArboristError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [100_000, 5_000_000])
def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_no_other(tmp_path: Path, limit: int) -> None:
    command = [sys.executable, "-c", LIMITED_READING, str(tmp_path / "var"), str(limit)]
    told = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert told.stderr == ""
    assert str(tmp_path / "var" / "documents" / "s") in told.stdout
    assert content(Home(tmp_path / "var")) == {}


LARGE_READING = """
import json, sys
from pathlib import Path
from arborist.corpus.config import SourceConfig, SourceKind
from arborist.corpus.source_documents import write_source_documents
from arborist.corpus.sources import open_source
from arborist.home import Home

folder, count = Path(sys.argv[1]), int(sys.argv[2])
with (folder / "s.jsonl").open("w") as rows:
    for number in range(count):
        text = f"Paragraph {number} of a long book. " * 100
        rows.write(json.dumps({"uri": f"d{number}", "title": "t", "text": text}) + "\\n")
config = SourceConfig("s", SourceKind.JSONL, folder / "s.jsonl", shards=4)
assert write_source_documents(open_source(config), Home(folder / "var")).documents == count
# Not `ru_maxrss`, into which the process that started this one counts as well.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


def peak_megabytes(folder: Path, count: int) -> int:
    folder.mkdir()
    arguments = [sys.executable, "-c", LARGE_READING, str(folder), str(count)]
    return int(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_source(tmp_path: Path) -> None:
    small, large = peak_megabytes(tmp_path / "small", 8_000), peak_megabytes(tmp_path / "large", 40_000)
    assert large < small + 40
    assert large < 300


def test_a_document_file_that_cannot_be_read_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "s-000.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(CorpusError, match=r"s-000\.parquet: .*arborist build"):
        list(tables.read_rows(path, ["uri"]))
    assert tables.read_labels(path) is None
