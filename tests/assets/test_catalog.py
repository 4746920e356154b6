"""Every asset is filed: whoever comes upon it sees what it is, whose, of what kind, and where its code stands."""

from collections.abc import Mapping
from pathlib import Path

import dagster as dg
import pytest

from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.settings import PROJECT, Settings
from assets.catalog import CATALOG, catalogued

# Asset: group, kinds, data, cost, what it hangs on.
FILED = {
    "source_documents": ("corpus", {"python", "parquet"}, "derived", "text", set()),
    "document_chunks": ("corpus", {"python", "parquet"}, "derived", "text", {"source_documents"}),
    "fts_index": ("corpus", {"sqlite"}, "derived", "text", {"document_chunks"}),
    "corpus_snapshot": ("corpus", {"sqlite"}, "derived", "little", {"fts_index"}),
    "providence_ledger": ("providence", {"sqlite"}, "original", "little", set()),
    "self_providence": ("providence", {"sqlite", "parquet"}, "derived", "questions", {"providence_ledger"}),
    "question_sweep": ("providence", {"python", "parquet"}, "measured", "questions", {"corpus_snapshot"}),
    "golden_questions": ("evaluation", {"json"}, "original", "little", set()),
    "retrieval_evaluation": (
        "evaluation",
        {"python", "sqlite"},
        "measured",
        "questions",
        {"golden_questions", "fts_index"},
    ),
    "evaluation_baseline": ("evaluation", {"sqlite"}, "original", "little", {"retrieval_evaluation"}),
    "retained_retrieval_audit": ("retrieval_audit", {"json"}, "measured", "little", set()),
}


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dg.AssetSpec]:
    """The project's own assets as they are defined."""
    settings = Settings(tmp_path_factory.mktemp("home"), PROJECT / "corpus.toml")
    return {spec.key.to_user_string(): spec for spec in build_definitions(settings).resolve_all_asset_specs()}


def test_all_assets_are_filed_like_this(specs: Mapping[str, dg.AssetSpec]) -> None:
    assert {
        name: (
            spec.group_name,
            spec.kinds,
            spec.tags["arborist/data"],
            spec.tags["arborist/cost"],
            {dep.asset_key.to_user_string() for dep in spec.deps},
        )
        for name, spec in specs.items()
    } == FILED


@pytest.mark.parametrize("name", FILED)
def test_an_asset_says_what_it_is_whose_it_is_what_its_columns_mean_and_where_its_code_stands(
    specs: Mapping[str, dg.AssetSpec], name: str
) -> None:
    spec = specs[name]
    assert spec.description
    assert spec.owners == [f"team:{spec.group_name}"]
    schema = spec.metadata["dagster/column_schema"]
    assert schema.columns and all(column.description for column in schema.columns)
    (place,) = spec.metadata["dagster/code_references"].code_references
    assert isinstance(place, dg.LocalFileCodeReference)
    line = Path(place.file_path).read_text().splitlines()[(place.line_number or 0) - 1]
    assert line.lstrip().startswith("@dg."), "an asset's code begins at its decorator"


def test_no_entry_is_of_an_asset_that_there_is_not() -> None:
    assert CATALOG.keys() == FILED.keys()


def test_an_asset_that_is_not_filed_is_refused() -> None:
    @dg.asset
    def stray() -> None: ...

    with pytest.raises(KeyError, match="stray"):
        catalogued([stray])
