"""The project's own search as retrievers, and what each declares."""

from pathlib import Path

import pytest

from arborist.errors import ArboristError, InputError
from arborist.evaluation.adapters import retriever_named
from arborist.evaluation.fts5_retriever import Fts5Retriever, execution_revision
from arborist.evaluation.registry import named_retrievers
from arborist.evaluation.retriever import RetrieverContext
from arborist.workspace import Workspace


def opened(workspace: Workspace, name: str, keywords: tuple[str, ...] = ()) -> Fts5Retriever:
    context = RetrieverContext(workspace.home.root, keywords, workspace.config.path)
    retriever = retriever_named(name, named_retrievers(), context)
    assert isinstance(retriever, Fts5Retriever)
    return retriever


def test_documents_are_found_by_their_uri(workspace: Workspace) -> None:
    retriever = opened(workspace, "fts5")
    with workspace.corpus.opened() as shards:
        uri, title = shards[0].rows("SELECT uri, title FROM documents LIMIT 1")[0]
    assert uri in retriever.retrieve(title, 12)
    assert len(retriever.retrieve(title, 2)) <= 2


def test_missing_documents_are_named(workspace: Workspace) -> None:
    assert opened(workspace, "fts5").missing_documents(["no-such"]) == ["no-such"]


def test_the_benchmark_is_the_same_under_another_chunking(workspace: Workspace) -> None:
    plain = opened(workspace, "fts5").retrieval_provenance()
    chunked = opened(workspace, "fts5@40").retrieval_provenance()
    assert chunked.corpus_revision == plain.corpus_revision
    assert chunked.chunking_identity != plain.chunking_identity
    assert chunked.pipeline_identity == plain.pipeline_identity


def test_keywords_are_part_of_the_pipeline(workspace: Workspace) -> None:
    one = opened(workspace, "fts5+keywords", ("bridge",)).retrieval_provenance()
    two = opened(workspace, "fts5+keywords", ("river",)).retrieval_provenance()
    assert one.pipeline_identity != two.pipeline_identity
    assert one.corpus_revision == two.corpus_revision


def test_keywords_belong_to_the_variant_that_takes_them(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="keywords are for"):
        opened(workspace, "fts5", ("bridge",))
    with pytest.raises(InputError, match="needs a keyword"):
        opened(workspace, "fts5+keywords")


def test_a_corpus_that_changes_under_a_run_shows_another_revision(workspace: Workspace) -> None:
    retriever = opened(workspace, "fts5")
    assert retriever.current_corpus_revision() == retriever.retrieval_provenance().corpus_revision


def test_nothing_built_is_an_error_with_its_remedy(tmp_path: Path, workspace: Workspace) -> None:
    empty = Workspace.open(tmp_path / "empty", workspace.config.path)
    with pytest.raises(ArboristError, match="arborist build"):
        opened(empty, "fts5")


def test_the_execution_revision_is_a_commit_or_the_version() -> None:
    assert len(execution_revision()) == 40 or execution_revision().count(".") == 2
