"""Retriever registries and optional capabilities: rows G15 and G16 of `retrieval-evaluation.md`, 7.2."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from arborist.evaluation.errors import RegistryError, RetrieverError
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.retriever import (
    Availability,
    DeclaredRetriever,
    Retriever,
    RetrieverContext,
    RetrieverRegistry,
    declared_provenance,
    target_availability,
)


class KeywordRetriever:
    """Finds what the context's keywords name."""

    def __init__(self, context: RetrieverContext) -> None:
        self.identifier = "test.keywords"
        self._keywords = list(context.keywords)

    def retrieve(self, question: str, limit: int) -> list[str]:
        return self._keywords[:limit]

    def missing_documents(self, document_ids: Sequence[str]) -> list[str]:
        return [document_id for document_id in document_ids if document_id not in self._keywords]


CONTEXT = RetrieverContext(Path("var"), ("a", "b"))


def test_a_registry_collects_providers_in_order_and_builds_by_name() -> None:
    """G15"""
    registry = RetrieverRegistry([{"z": KeywordRetriever}, {"a": KeywordRetriever}])
    assert registry.names() == ["z", "a"]
    assert registry.find("nothing") is None
    factory = registry.find("a")
    assert factory is not None
    assert factory(CONTEXT).retrieve("?", 1) == ["a"]


def test_two_retrievers_of_one_name_are_refused_at_construction() -> None:
    """G16"""
    with pytest.raises(RegistryError) as refused:
        RetrieverRegistry([{"a": KeywordRetriever}, {"a": KeywordRetriever}])
    assert refused.value.code == 1794000060


def test_provenance_is_a_capability_that_may_be_declared_for_a_retriever(labels: RetrievalProvenance) -> None:
    retriever: Retriever = KeywordRetriever(CONTEXT)
    assert declared_provenance(retriever) is None
    declared = DeclaredRetriever(retriever, labels)
    assert declared_provenance(declared) == labels
    assert (declared.identifier, declared.retrieve("?", 2)) == ("test.keywords", ["a", "b"])


def test_a_declaration_of_another_type_is_refused() -> None:
    class Wrong(KeywordRetriever):
        def retrieval_provenance(self) -> Any:
            return {"corpusRevision": "c"}

    with pytest.raises(RetrieverError, match="dict"):
        declared_provenance(Wrong(CONTEXT))


def test_missing_targets_are_told_where_a_catalog_knows(labels: RetrievalProvenance, table_retriever: Any) -> None:
    retriever = KeywordRetriever(CONTEXT)
    missing = Availability(is_known=True, missing=("c",))
    assert target_availability(retriever, ["a", "c"]) == missing
    assert target_availability(DeclaredRetriever(retriever, labels), ["a", "c"]) == missing
    assert target_availability(table_retriever({}), ["a"]) == Availability(is_known=False)
