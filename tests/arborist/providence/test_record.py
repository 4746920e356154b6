"""Records as values: what their row binds, and what is kept of a run."""

from typing import Any

import pytest

from arborist.corpus.snapshot import CorpusSnapshot
from arborist.hashing import canonical_json
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import ProvenancePolicy
from arborist.providence.record import NewRecord, RecordSource, row_root, snapshot_root
from arborist.providence.schema import BOUND_COLUMNS
from tests.arborist.providence.runs import new_record

TIME = "2026-01-31T12:00:00.000000Z"


@pytest.fixture(scope="module")
def new() -> NewRecord:
    return new_record("Who is at war?", ["Oceania"])


@pytest.fixture(scope="module")
def columns(new: NewRecord) -> dict[str, Any]:
    return new.columns(3, TIME)


@pytest.mark.parametrize("name", BOUND_COLUMNS)
def test_every_bound_column_is_in_the_root_of_its_row(new: NewRecord, columns: dict[str, Any], name: str) -> None:
    other: Any = 4 if name == "record_id" else b"other" if isinstance(columns[name] or b"", bytes) else "other"
    assert row_root(columns | {name: other}, new.sources) != row_root(columns, new.sources)


def test_the_sources_are_in_the_root_of_the_row_in_whatever_order(new: NewRecord, columns: dict[str, Any]) -> None:
    more = (*new.sources, RecordSource("0" * 64, "news:1", "primary"))
    assert row_root(columns, more) != row_root(columns, new.sources)
    assert row_root(columns, more[::-1]) == row_root(columns, more)


def test_the_root_of_a_row_is_over_its_text_its_dag_and_its_private_payloads(
    new: NewRecord, columns: dict[str, Any]
) -> None:
    """Null columns are left out, so that one of a later version leaves older rows what they were."""
    emptied = columns | {"ranking_policy_hash": None}
    text = {name: value for name, value in emptied.items() if isinstance(value, str | int)}
    sources = [[source.document_root, source.uri, source.role] for source in new.sources]
    leaves = [canonical_json(text | {"sources": sources}), columns["run_dag"], b""]
    assert row_root(emptied, new.sources) == tree_root([leaf_hash(leaf) for leaf in leaves]).hex()


def test_a_snapshot_has_the_root_that_the_corpus_gives_it() -> None:
    shards = (("news-000", "1" * 64), ("news-001", "2" * 64))
    assert snapshot_root(shards) == CorpusSnapshot(shards).root


@pytest.mark.parametrize(
    ("policy", "shown", "withheld"),
    [
        (ProvenancePolicy(), True, ()),
        (ProvenancePolicy(store_keywords_on_record=False), False, ("retrieval_plan",)),
        (ProvenancePolicy(store_keywords_on_record=False), True, ("retrieval_plan", "prompt")),
    ],
)
def test_stages_that_hold_unwanted_keywords_are_withheld(
    policy: ProvenancePolicy, shown: bool, withheld: tuple[str, ...]
) -> None:
    new = new_record("Who is at war?", ["Oceania"], provenance=policy, show_keywords_to_model=shown)
    assert new.withheld_stages == withheld
    assert new_record("Who is at war?", provenance=policy, show_keywords_to_model=shown).withheld_stages == ()
