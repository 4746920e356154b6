"""The graph as users see it: what there is, what hangs on what, and that everything says what it is."""

import dagster as dg
import pytest

from arborist.corpus.chunking import Chunker
from arborist.corpus.tokenizer import INDEX_VERSION
from arborist.errors import ConfigError
from tests.dagster_project import DagsterProject

SOURCES = ["docs", "trees"]
SHARDS = ["docs-000", "docs-001", "trees-000"]

# Asset: group, kinds, what it hangs on, partitions, code version.
CORPUS = {
    "source_documents": ("corpus", {"python", "parquet"}, set(), SOURCES, None),
    "document_chunks": ("corpus", {"python", "parquet"}, {"source_documents"}, SHARDS, Chunker(60).version),
    "fts_index": ("corpus", {"sqlite"}, {"document_chunks"}, SHARDS, INDEX_VERSION),
    "corpus_snapshot": ("corpus", {"sqlite"}, {"fts_index"}, None, None),
    "providence_ledger": ("providence", {"sqlite"}, set(), None, None),
}
CHECKS = {
    "fts_index": {"shard_roots_recompute", "index_holds_every_chunk", "shards_current"},
    "providence_ledger": {"run_dag_verifies", "records_replay"},
}


def test_the_corpus_is_a_line_of_assets_over_the_configured_partitions(new_project: DagsterProject) -> None:
    graph = new_project.definitions.resolve_asset_graph()
    for name, (group, kinds, parents, partitions, code_version) in CORPUS.items():
        node = graph.get(dg.AssetKey(name))
        assert (node.group_name, node.code_version) == (group, code_version), name
        assert kinds <= {key.removeprefix("dagster/kind/") for key in node.tags}, name
        assert parents <= {key.to_user_string() for key in node.parent_keys}, name
        partitions_def = node.partitions_def
        assert (partitions_def and list(partitions_def.get_partition_keys())) == partitions, name


def test_assets_have_the_checks_that_could_find_them_wrong(new_project: DagsterProject) -> None:
    graph = new_project.definitions.resolve_asset_graph()
    for asset, checks in CHECKS.items():
        assert checks <= {key.name for key in graph.get_check_keys_for_assets({dg.AssetKey(asset)})}


def test_every_asset_and_check_says_what_it_is(new_project: DagsterProject) -> None:
    definitions = new_project.definitions
    graph = definitions.resolve_asset_graph()
    undescribed = [
        key.to_user_string() for key in graph.get_all_asset_keys() if not graph.get(key).description
    ] + [
        spec.name
        for check in definitions.asset_checks or []
        for spec in check.check_specs  # type: ignore[union-attr]
        if not spec.description
    ]
    assert undescribed == []
    assert all(graph.get(key).group_name != "default" for key in graph.get_all_asset_keys())


def test_another_corpus_toml_gives_other_partitions_and_nothing_else(new_project: DagsterProject) -> None:
    before = {key.to_user_string() for key in new_project.definitions.resolve_asset_graph().get_all_asset_keys()}
    new_project.configure({"docs": 1})
    graph = new_project.definitions.resolve_asset_graph()
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == before
    shards = graph.get(dg.AssetKey("fts_index")).partitions_def
    assert shards is not None and list(shards.get_partition_keys()) == ["docs-000"]


def test_the_definitions_are_loadable(new_project: DagsterProject) -> None:
    dg.Definitions.validate_loadable(new_project.definitions)


def test_a_bad_configuration_is_told_in_our_words(new_project: DagsterProject) -> None:
    new_project.config.write_text('[sources.docs]\nkind = "markdwon"\npath = "docs"\n')
    with pytest.raises(ConfigError, match="did you mean `markdown`"):
        assert new_project.definitions
