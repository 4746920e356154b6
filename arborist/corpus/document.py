"""What a source yields: documents, and the entries it had to leave out."""

from dataclasses import dataclass
from typing import Any

from arborist.hashing import canonical_json, hash_bytes
from arborist.merkle import leaf_hash


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the corpus.

    `uri` is unique in the corpus and stable between builds. `source_revision` labels this version of this
    document (a revision id, or the digest of the bytes it was read from), never of the source as a whole, so
    that editing one document leaves the others what they were. `aliases` are other names it is found by.
    """

    uri: str
    title: str
    text: str
    source_type: str
    source_revision: str
    aliases: tuple[str, ...] = ()

    def header(self, chunking_version: str) -> dict[str, Any]:
        """The value of leaf 0 of the document's tree (`provenance.md`, Digests); `aliases` only if it has any."""
        header: dict[str, Any] = {
            "uri": self.uri,
            "title": self.title,
            "source_type": self.source_type,
            "source_revision": self.source_revision,
            "chunking_version": chunking_version,
        }
        return header | {"aliases": list(self.aliases)} if self.aliases else header

    def header_leaf(self, chunking_version: str) -> bytes:
        """Leaf 0 of the document's tree."""
        return leaf_hash(canonical_json(self.header(chunking_version)))

    @property
    def digest(self) -> bytes:
        """All that the document says, however it is chunked: its leaf under the digest of a shard's documents."""
        return leaf_hash(canonical_json([self.header(""), hash_bytes(self.text.encode())]))


@dataclass(frozen=True, slots=True)
class Skip:
    """An entry of a source that did not become a document: where it stands and why it was left out."""

    place: str
    reason: str
