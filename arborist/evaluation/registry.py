"""The retrievers that have a name: what `arborist evaluate --retriever NAME` can build by itself."""

from arborist.evaluation.fts5_retriever import own_retrievers
from arborist.evaluation.retriever import RetrieverRegistry


def named_retrievers() -> RetrieverRegistry:
    """Every retriever of the project, by name."""
    return RetrieverRegistry([own_retrievers()])
