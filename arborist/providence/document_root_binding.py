"""How a hit of our own retrieval is bound to its document: by Merkle proofs, where a hosted service has a path.

A chunk's text gives its leaf, the leaf leads to its document's root, that to the root of a shard in the snapshot.
The document's uri is in its header, which is leaf 0 of the same tree: it is proven which text of which document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arborist.hashing import canonical_json
from arborist.merkle import leaf_hash, verify_inclusion
from arborist.retrieval_audit.findings import BlockedError, Failure, FailureCode, Findings, Status
from arborist.retrieval_audit.strict_json import JsonObject, is_whole_number

HEX_DIGITS = frozenset("0123456789abcdef")
REQUIREMENT = "document-root"


class ProofFailure(FailureCode):
    """Codes of what a bundle of our own record fails to prove."""

    CACHE_KEY_MISMATCH = "cache-key-mismatch"
    RUN_ROOT_MISMATCH = "run-root-mismatch"
    PLAN_DIGEST_MISMATCH = "plan-digest-mismatch"
    RESULT_DIGEST_MISMATCH = "result-digest-mismatch"
    INCLUSION_PROOF_INVALID = "inclusion-proof-invalid"
    DOCUMENT_ROOT_NOT_IN_SNAPSHOT = "document-root-not-in-snapshot"


def closed(value: Any, at: str, names: Sequence[str], code: FailureCode) -> JsonObject:
    """The object at the pointer `at`, which has these members and no other. Else BlockedError with `code`."""
    if not isinstance(value, dict) or value.keys() != set(names):
        raise BlockedError(code, at)
    return value


def is_digest(value: Any) -> bool:
    """Whether the value is 32 bytes in lowercase hex."""
    return isinstance(value, str) and len(value) == 64 and HEX_DIGITS.issuperset(value)


@dataclass(frozen=True, slots=True)
class Path:
    """An inclusion proof (RFC 9162 section 2.1.3) of the leaf `index` in a tree of `size` leaves."""

    index: int
    size: int
    siblings: tuple[bytes, ...]

    @classmethod
    def of(cls, index: Any, size: Any, siblings: Any, at: str) -> "Path":
        """Raises BlockedError `response-invalid` for what has not the shape of a proof."""
        well_formed = is_whole_number(index) and is_whole_number(size) and isinstance(siblings, list)
        if not well_formed or not all(map(is_digest, siblings)):
            raise BlockedError(Failure.RESPONSE_INVALID, at)
        return cls(index, size, tuple(map(bytes.fromhex, siblings)))

    def proves(self, leaf: bytes, root: str) -> bool:
        return verify_inclusion(leaf, self.index, self.size, self.siblings, bytes.fromhex(root))


@dataclass(frozen=True, slots=True)
class ProvenDocument:
    """A document of the bundle: whether its header and its place in the snapshot are what its root proves."""

    document_root: str
    leaves: int
    is_proven: bool


def proven_document(value: Any, at: str, shard_roots: Mapping[str, str], findings: Findings) -> ProvenDocument:
    """The document at the pointer `at`, held against the roots of the searched shards, by name.

    `value` is part of a document that canonical JSON can hold.
    """
    names = (
        "document_root",
        "leaves",
        "header",
        "header_inclusion",
        "shard",
        "index",
        "documents",
        "shard_inclusion",
    )
    members = closed(value, at, names, Failure.RESPONSE_INVALID)
    root, shard = members["document_root"], members["shard"]
    if not is_digest(root) or not isinstance(shard, str):
        raise BlockedError(Failure.RESPONSE_INVALID, at)
    header = Path.of(0, members["leaves"], members["header_inclusion"], f"{at}/header_inclusion")
    place = Path.of(members["index"], members["documents"], members["shard_inclusion"], f"{at}/shard_inclusion")
    has_header = header.proves(leaf_hash(canonical_json(members["header"])), root)
    if not has_header:
        findings.add(ProofFailure.INCLUSION_PROOF_INVALID, f"{at}/header")
    is_in_snapshot = shard in shard_roots and place.proves(leaf_hash(bytes.fromhex(root)), shard_roots[shard])
    if not is_in_snapshot:
        findings.add(ProofFailure.DOCUMENT_ROOT_NOT_IN_SNAPSHOT, at)
    return ProvenDocument(root, header.size, has_header and is_in_snapshot)


@dataclass(slots=True)
class DocumentRootBinding:
    """Binds hits to proven documents; `identity` is passed only where every proof of every hit holds."""

    documents: Mapping[str, ProvenDocument]
    hits: int = 0
    proven: int = 0

    @property
    def identity(self) -> Status:
        """Nothing is proven by no hit."""
        if not self.hits:
            return Status.UNVERIFIED
        return Status.PASSED if self.proven == self.hits else Status.FAILED

    def bind(self, value: Any, listed: Mapping[str, Any], at: str, findings: Findings) -> None:
        """Hold the hit at the pointer `at` against its entry in the result and against its document's root."""
        members = closed(
            value, at, ("document_root", "chunk_index", "text", "inclusion"), Failure.RESPONSE_INVALID
        )
        text, index = members["text"], members["chunk_index"]
        if not isinstance(text, str) or not is_whole_number(index):
            raise BlockedError(Failure.RESPONSE_INVALID, at)
        self.hits += 1
        document = self.documents.get(str(members["document_root"]))
        leaf = leaf_hash(text.encode())
        found = {"document_root": members["document_root"], "chunk_index": index, "leaf_hash": leaf.hex()}
        # Leaf 0 is the header's, so chunk 0 is leaf 1.
        path = Path.of(index + 1, document.leaves if document else 0, members["inclusion"], f"{at}/inclusion")
        is_leaf = document is not None and path.proves(leaf, document.document_root)
        if not is_leaf or any(listed.get(name) != value for name, value in found.items()):
            findings.add(ProofFailure.INCLUSION_PROOF_INVALID, at)
        elif document is not None and document.is_proven:
            self.proven += 1
