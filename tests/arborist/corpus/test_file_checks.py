"""Files that shards are made from are held against what was written of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from arborist.corpus.file_checks import MISSING, chunk_file_faults, document_file_faults
from arborist.corpus.tables import read_labels
from arborist.workspace import Workspace

Rows = dict[str, list[Any]]


def first_shard(workspace: Workspace) -> tuple[str, str]:
    source = workspace.config.sources[0]
    return source.name, source.shard_names[0]


def rewrite(path: Path, change: Callable[[Rows], None]) -> None:
    """Change rows of a Parquet file and keep its footer, as a hand would that knows Parquet but no roots."""
    table, footer = pyarrow.parquet.read_table(path), read_labels(path)
    rows = table.to_pydict()
    change(rows)
    changed = pyarrow.Table.from_pydict(rows, schema=table.schema).replace_schema_metadata(dict(footer or {}))
    pyarrow.parquet.write_table(changed, path)


def first_becomes(column: str, value: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows[column][0] = value

    return change


def without_last_document(rows: Rows) -> None:
    keep = [place for place, uri in enumerate(rows["uri"]) if uri != rows["uri"][-1]]
    rows |= {name: [values[place] for place in keep] for name, values in rows.items()}


def test_what_was_built_has_no_fault(built: Workspace) -> None:
    for source in built.config.sources:
        for shard in source.shard_names:
            assert list(document_file_faults(built.home, source.name, shard)) == []
            assert list(chunk_file_faults(built.home, shard)) == []


@pytest.mark.parametrize("column", ["title", "text", "source_type", "source_revision"])
def test_a_document_that_was_changed_is_told(workspace: Workspace, column: str) -> None:
    source, shard = first_shard(workspace)
    rewrite(workspace.home.documents_file(source, shard), first_becomes(column, "another"))
    (fault,) = document_file_faults(workspace.home, source, shard)
    assert fault.shard == shard and "digest" in fault.problem


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("text", "leaf hash"),
        ("leaf_hash", "leaf hash"),
        ("title", "document root"),
        ("document_root", "document root"),
    ],
)
def test_a_chunk_that_was_changed_is_told(workspace: Workspace, column: str, problem: str) -> None:
    _, shard = first_shard(workspace)
    rewrite(workspace.home.chunks_file(shard), first_becomes(column, "another"))
    assert problem in "; ".join(fault.problem for fault in chunk_file_faults(workspace.home, shard))


def test_a_document_that_was_taken_out_is_told(workspace: Workspace) -> None:
    source, shard = first_shard(workspace)
    rewrite(workspace.home.chunks_file(shard), without_last_document)
    rewrite(workspace.home.documents_file(source, shard), without_last_document)
    found = [*document_file_faults(workspace.home, source, shard), *chunk_file_faults(workspace.home, shard)]
    assert [fault.problem for fault in found] == [
        "its documents do not give their digest",
        "its document roots do not give the shard root",
    ]


def test_a_file_that_is_cut_or_gone_is_told(workspace: Workspace) -> None:
    source, shard = first_shard(workspace)
    documents, chunks = workspace.home.documents_file(source, shard), workspace.home.chunks_file(shard)
    documents.write_bytes(documents.read_bytes()[:-20])
    chunks.unlink()
    found = [*document_file_faults(workspace.home, source, shard), *chunk_file_faults(workspace.home, shard)]
    assert [fault.problem for fault in found] == [MISSING, MISSING]


def test_rows_that_cannot_be_read_are_told(workspace: Workspace) -> None:
    source, shard = first_shard(workspace)
    for path in (workspace.home.documents_file(source, shard), workspace.home.chunks_file(shard)):
        path.write_bytes(b"PAR1" + bytes(200) + path.read_bytes()[204:])
    found = [*document_file_faults(workspace.home, source, shard), *chunk_file_faults(workspace.home, shard)]
    assert len(found) == 2 and all(shard in fault.problem for fault in found)
