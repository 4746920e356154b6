"""Python's own help topics as a corpus."""

from collections.abc import Callable
from pydoc_data.topics import topics

from arborist.corpus.config import SourceKind
from arborist.corpus.document import Document
from arborist.corpus.sources import Source
from arborist.hashing import Domain, hash_json

Read = Callable[..., list[Document]]


def test_every_topic_is_a_document(read: Read) -> None:
    documents = read(SourceKind.PYTHON_TOPICS, None, name="python-topics")
    assert [document.uri for document in documents] == [f"python-topics/{name}" for name in sorted(topics)]
    assert [document.text for document in documents] == [topics[name] for name in sorted(topics)]


def test_a_topic_has_a_readable_title_and_a_revision_of_its_text_alone(read: Read) -> None:
    documents = {document.uri: document for document in read(SourceKind.PYTHON_TOPICS, None)}
    document = documents["s/attribute-access"]
    assert document.title == "attribute access"
    assert document.source_revision == hash_json(Domain.SOURCE_REVISION, topics["attribute-access"])


def test_the_digest_is_the_same_in_every_reading(source: Callable[..., Source]) -> None:
    first, second = (source(SourceKind.PYTHON_TOPICS, None).input_digest() for _ in range(2))
    assert first == second
