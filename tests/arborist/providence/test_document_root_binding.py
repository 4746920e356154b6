"""Hits bound by document roots: proven where every proof holds, and by nothing less."""

from hypothesis import given
from hypothesis import strategies as st

from arborist.hashing import canonical_json
from arborist.merkle import inclusion_proof, leaf_hash, tree_root
from arborist.providence.document_root_binding import DocumentRootBinding, ProvenDocument, proven_document
from arborist.retrieval_audit.findings import Findings, Status

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=9)
HEADER = {"uri": "bridges/alder", "title": "Alder Bridge"}


def leaves_of(texts: list[str]) -> list[bytes]:
    return [leaf_hash(canonical_json(HEADER)), *(leaf_hash(text.encode()) for text in texts)]


def document(texts: list[str], others: list[bytes], index: int) -> dict[str, object]:
    """A document among others of its shard, with its proofs."""
    leaves = leaves_of(texts)
    roots = [*others[:index], tree_root(leaves), *others[index:]]
    shard = [leaf_hash(root) for root in roots]
    return {
        "document_root": tree_root(leaves).hex(),
        "leaves": len(leaves),
        "header": HEADER,
        "header_inclusion": [step.hex() for step in inclusion_proof(leaves, 0)],
        "shard": "land-000",
        "index": min(index, len(others)),
        "documents": len(roots),
        "shard_inclusion": [step.hex() for step in inclusion_proof(shard, min(index, len(others)))],
    }


def shard_root(texts: list[str], others: list[bytes], index: int) -> str:
    roots = [*others[:index], tree_root(leaves_of(texts)), *others[index:]]
    return tree_root([leaf_hash(root) for root in roots]).hex()


def hit(texts: list[str], index: int) -> tuple[dict[str, object], dict[str, object]]:
    """A hit of a document with these texts, and its entry in the result."""
    leaves = leaves_of(texts)
    path = [step.hex() for step in inclusion_proof(leaves, index + 1)]
    place = {"document_root": tree_root(leaves).hex(), "chunk_index": index}
    return (
        place | {"text": texts[index], "inclusion": path},
        place | {"leaf_hash": leaves[index + 1].hex(), "score": "1.0"},
    )


def bound(texts: list[str], *hits: tuple[dict[str, object], dict[str, object]]) -> DocumentRootBinding:
    root = tree_root(leaves_of(texts)).hex()
    binding = DocumentRootBinding({root: ProvenDocument(root, len(texts) + 1, is_proven=True)})
    for number, (value, listed) in enumerate(hits):
        binding.bind(value, listed, f"/hits/{number}", Findings())
    return binding


@given(TEXTS, st.lists(st.binary(min_size=32, max_size=32), max_size=5), st.integers(0, 5))
def test_a_document_anywhere_in_its_shard_is_proven_and_under_another_root_it_is_not(
    texts: list[str], others: list[bytes], index: int
) -> None:
    value, findings = document(texts, others, index), Findings()
    assert proven_document(value, "/d", {"land-000": shard_root(texts, others, index)}, findings).is_proven
    assert findings.status is Status.PASSED
    assert not proven_document(value, "/d", {"land-000": "0" * 64}, findings).is_proven
    assert not proven_document(value, "/d", {}, findings).is_proven


@given(TEXTS, st.data())
def test_every_chunk_of_a_document_is_proven_and_no_other_text_in_its_place(
    texts: list[str], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(texts) - 1))
    assert bound(texts, hit(texts, index)).identity is Status.PASSED
    value, listed = hit(texts, index)
    other = value | {"text": f"{texts[index]}!"}
    assert bound(texts, (other, listed)).identity is Status.FAILED
    forged = listed | {"leaf_hash": leaf_hash(str(other["text"]).encode()).hex()}
    assert bound(texts, (other, forged)).identity is Status.FAILED


def test_one_hit_that_is_not_proven_takes_identity_from_all() -> None:
    texts = ["It opened in 1932.", "It spans the Wenn."]
    value, listed = hit(texts, 1)
    binding = bound(texts, hit(texts, 0), (value | {"chunk_index": 0}, listed))
    assert (binding.hits, binding.proven, binding.identity) == (2, 1, Status.FAILED)


def test_no_hit_proves_nothing() -> None:
    assert bound(["a"]).identity is Status.UNVERIFIED


def test_a_header_of_another_uri_is_not_proven() -> None:
    value = document(["a"], [], 0) | {"header": HEADER | {"uri": "bridges/birch"}}
    findings = Findings()
    assert not proven_document(value, "/d", {"land-000": shard_root(["a"], [], 0)}, findings).is_proven
    assert [(str(item.code), item.at) for item in findings.findings.listed] == [
        ("inclusion-proof-invalid", "/d/header")
    ]
