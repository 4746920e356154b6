"""What is measured: anything that ranks documents for a question, and what else it may be able to say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from arborist.evaluation.errors import RegistryError, RetrieverError
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.workspace import DEFAULT_CONFIG, Workspace

DUPLICATE_RETRIEVER = 1794000060
MAX_IDENTIFIER_BYTES = 150


class Retriever(Protocol):
    """Ranks documents for a question.

    `retrieve` gives document ids, best first, and may repeat one (a document found by several chunks). Finding
    nothing is an empty list; not being able to look is an exception, which never counts as a hit.
    """

    @property
    def identifier(self) -> str: ...

    def retrieve(self, question: str, limit: int) -> list[str]: ...


@runtime_checkable
class ProvenanceDeclaring(Protocol):
    """A retriever that says what it is. Asked once, before the first question; makes no remote calls."""

    def retrieval_provenance(self) -> RetrievalProvenance: ...


@runtime_checkable
class CorpusWatching(Protocol):
    """A retriever that can tell, after the last question, which corpus it reads by then."""

    def current_corpus_revision(self) -> str: ...


@runtime_checkable
class DocumentCatalog(Protocol):
    """A retriever that knows which documents exist: targets outside the corpus can never be found."""

    def missing_documents(self, document_ids: Sequence[str]) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class DeclaredRetriever:
    """A retriever that cannot speak for itself, with the provenance that its user declares for it."""

    retriever: Retriever
    provenance: RetrievalProvenance

    @property
    def identifier(self) -> str:
        return self.retriever.identifier

    def retrieve(self, question: str, limit: int) -> list[str]:
        return self.retriever.retrieve(question, limit)

    def retrieval_provenance(self) -> RetrievalProvenance:
        return self.provenance


def undeclared(retriever: Retriever) -> Retriever:
    """The retriever itself, without a provenance declared for it."""
    return retriever.retriever if isinstance(retriever, DeclaredRetriever) else retriever


@dataclass(frozen=True, slots=True)
class RetrieverContext:
    """What a retriever is built from: the home, its `corpus.toml`, and keywords that widen every search."""

    home: Path
    keywords: tuple[str, ...] = ()
    config: Path = DEFAULT_CONFIG

    def workspace(self) -> Workspace:
        """Raises ConfigError for a `corpus.toml` that cannot be used."""
        return Workspace.open(self.home, self.config)


class RetrieverFactory(Protocol):
    """Builds a retriever whose identifier is the name it is registered under."""

    def __call__(self, context: RetrieverContext) -> Retriever: ...


class RetrieverRegistry:
    """Retriever factories of several providers by name, in the order they were given."""

    def __init__(self, providers: Iterable[Mapping[str, RetrieverFactory]] = ()) -> None:
        """Raises RegistryError (1794000060) where two providers share a name."""
        self._factories: dict[str, RetrieverFactory] = {}
        for provider in providers:
            for name, factory in provider.items():
                if name in self._factories:
                    raise RegistryError(f"two retrievers are called {name}", DUPLICATE_RETRIEVER)
                self._factories[name] = factory

    def names(self) -> list[str]:
        return list(self._factories)

    def find(self, name: str) -> RetrieverFactory | None:
        return self._factories.get(name)


def checked_identifier(retriever: Retriever) -> str:
    """The retriever's identifier. Raises RetrieverError unless it is 1 to 150 bytes of printable text."""
    identifier = retriever.identifier
    if not identifier.isprintable() or not 1 <= len(identifier.encode("utf-8")) <= MAX_IDENTIFIER_BYTES:
        raise RetrieverError(f"a retriever's identifier is 1 to {MAX_IDENTIFIER_BYTES} bytes of printable text")
    return identifier


def declared_provenance(retriever: Retriever) -> RetrievalProvenance | None:
    """What the retriever declares, or None where it declares nothing. Raises RetrieverError for anything else."""
    if not isinstance(retriever, ProvenanceDeclaring):
        return None
    declared = retriever.retrieval_provenance()
    if not isinstance(declared, RetrievalProvenance):
        raise RetrieverError(f"{retriever.identifier} declares its provenance as {type(declared).__name__}")
    return declared


@dataclass(frozen=True, slots=True)
class Availability:
    """How a run's targets stand to the corpus; `missing` is empty too where the retriever has no catalog."""

    is_known: bool
    missing: tuple[str, ...] = field(default=())


def target_availability(retriever: Retriever, document_ids: Sequence[str]) -> Availability:
    """Which of the ids the retriever's corpus does not hold, where the retriever can tell."""
    catalog = undeclared(retriever)
    if not isinstance(catalog, DocumentCatalog):
        return Availability(is_known=False)
    return Availability(is_known=True, missing=tuple(catalog.missing_documents(document_ids)))
