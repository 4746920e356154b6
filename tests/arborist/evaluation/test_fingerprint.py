"""Fingerprints: the 25 vectors of `retrieval-evaluation.md` 3.1 (row P12) and rows P1 to P13 of its checklist."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.evaluation.bytestrings import byte_text
from arborist.evaluation.fingerprint import Identity, is_fingerprint, labels_fingerprint, labels_parts, preimage
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet
from arborist.evaluation.protocol import SCORING_VERSION
from arborist.evaluation.provenance import NOT_APPLICABLE, RetrievalProvenance

VECTORS = [
    json.loads(line)
    for line in Path(__file__).with_name("fingerprint_vectors.jsonl").read_text("utf-8").splitlines()
]
BY_NAME = {vector["name"].split()[0]: vector for vector in VECTORS}
LABELS = RetrievalProvenance("corpus-v1", "embed-v1", "chunk-v1", "hybrid-v1")


def text(value: Any) -> str:
    return byte_text(bytes.fromhex(value["hex"])) if isinstance(value, dict) else value


def questions(vector: dict[str, Any]) -> list[GoldenQuestion]:
    return [
        GoldenQuestion(
            text(row[0]),
            text(row[1]),
            Form(row[2]),
            tuple(text(target) for target in row[4]),
            None if row[3] is None else text(row[3]),
        )
        for row in vector["questions"]
    ]


def identity(asked: list[GoldenQuestion], provenance: RetrievalProvenance | None = LABELS) -> Identity:
    return Identity(labels_fingerprint(asked), SCORING_VERSION, provenance)


def test_there_are_25_vectors() -> None:
    assert len(VECTORS) == 25


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_the_published_vectors(vector: dict[str, Any]) -> None:
    """P12"""
    declared = vector["provenance"]
    found = identity(questions(vector), RetrievalProvenance(*declared) if declared else None)
    assert (found.labels, found.benchmark, found.variant) == (
        vector["labels"],
        vector["benchmark"],
        vector["variant"],
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("V1", '["labels-bytes-v1",[["YQ==","UXVlc3Rpb24/","match",null,["ZG9jLWE="]]]]'),
        ("V4", '["labels-bytes-v1",[["YQ==","UXVlc3Rpb24/","gap",null,[]]]]'),
        (
            "V5",
            '["labels-bytes-v1",[["YQ==","UXVlc3Rpb24gQT8=","match","bm9ybWFs",["ZG9jLWE=","ZG9jLWI="]],'
            '["Yg==","UXVlc3Rpb24gQj8=","gap",null,[]]]]',
        ),
        ("V12", '["labels-bytes-v1",[["aWT/","UXVlc3Rpb24=","match",null,["ZG9j"]]]]'),
        (
            "V17",
            '["labels-bytes-v1",[["MDEw","UQ==","match",null,["MDEw"]],["MTA=","UQ==","match",null,["MTA="]],'
            '["Mg==","UQ==","match",null,["Mg=="]],["OQ==","UQ==","match",null,["OQ=="]]]]',
        ),
        (
            "V18",
            '["labels-bytes-v1",[["w7xiZXIvMQ==","V28gaXN0IGRhcyBCw7xybz8g8J+Riw==","gap","cHJvc2UtZnJlZQ==",'
            '["U3RyYcOfZS/Dnw==","Wg==","YS9i"]]]]',
        ),
    ],
)
def test_the_published_preimages_of_labels(name: str, expected: str) -> None:
    assert preimage(labels_parts(questions(BY_NAME[name]))).decode("ascii") == expected


def test_rows_and_targets_are_sorted_by_their_bytes_before_base64() -> None:
    """`/w==`, the Base64 of 0xff, would come before `YQ==`, that of `a`."""
    last = byte_text(b"\xff")
    ids = [GoldenQuestion(last, "Q", Form.GAP, (last, "a")), GoldenQuestion("a", "Q", Form.GAP)]
    rows = labels_parts(ids)[1]
    assert [row[0] for row in rows] == ["YQ==", "/w=="]
    assert rows[1][4] == ["YQ==", "/w=="]


A = GoldenQuestion("a", "Question A?", Form.MATCH, ("doc-b", "doc-a"), "normal")
B = GoldenQuestion("b", "Question B?", Form.GAP)


def test_order_and_gist_change_nothing_and_the_question_does() -> None:
    """P1"""
    before = identity([A, B])
    reordered = replace(A, expected_document_ids=("doc-a", "doc-b"), answer_gist="the second floor")
    assert identity([B, reordered]) == before
    assert identity([replace(A, question="Question a?"), B]).labels != before.labels


@pytest.mark.parametrize(
    ("row", "changes", "benchmark_changes", "variant_changes"),
    [
        ("P2 corpus", {"corpus_revision": "other"}, True, False),
        ("P2 model", {"model_revision": "other"}, False, True),
        ("P2 execution", {"execution_revision": "other"}, False, False),
        ("P6 chunking", {"chunking_identity": "other"}, False, True),
        ("P6 pipeline", {"pipeline_identity": "other"}, False, True),
        ("P6 with execution", {"pipeline_identity": "other", "execution_revision": "x"}, False, True),
    ],
)
def test_each_label_changes_its_own_fingerprint_only(
    row: str, changes: dict[str, str], *, benchmark_changes: bool, variant_changes: bool
) -> None:
    before, after = identity([A, B]), identity([A, B], replace(LABELS, **changes))
    assert (before.benchmark != after.benchmark) is benchmark_changes
    assert (before.variant != after.variant) is variant_changes


def test_undeclared_is_not_the_same_as_not_applicable() -> None:
    """P3 and P13: without provenance only the labels are known."""
    undeclared = identity([A], None)
    assert (undeclared.benchmark, undeclared.variant) == ("", "")
    assert is_fingerprint(undeclared.labels)
    lexical = identity([A], RetrievalProvenance("corpus-v1", NOT_APPLICABLE, NOT_APPLICABLE, "lexical-v1"))
    assert is_fingerprint(lexical.benchmark)
    assert is_fingerprint(lexical.variant)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "aa"},
        {"question": "Question A"},
        {"form": Form.GAP},
        {"expected_document_ids": ("doc-b", "doc-c")},
        {"hard_class": "rare"},
    ],
)
def test_each_label_of_a_question_changes_the_benchmark_and_never_the_variant(changes: dict[str, Any]) -> None:
    """P5"""
    before, after = identity([A, B]), identity([replace(A, **changes), B])
    assert before.labels != after.labels
    assert before.benchmark != after.benchmark
    assert before.variant == after.variant


@pytest.mark.parametrize("field", ["id", "question", "expected_document_ids", "hard_class"])
def test_one_byte_that_is_not_utf8_makes_a_difference(field: str) -> None:
    """P8"""
    both = []
    for byte in (b"\xff", b"\xfe"):
        value = byte_text(b"text" + byte)
        both.append(identity([replace(A, **{field: (value,) if field == "expected_document_ids" else value})]))
    assert both[0].labels != both[1].labels
    assert both[0].benchmark != both[1].benchmark
    assert both[0].variant == both[1].variant


@given(st.text("ab", min_size=3, max_size=8), st.data())
def test_a_border_moved_between_id_and_text_makes_a_difference(joined: str, data: st.DataObject) -> None:
    """P10"""
    cuts = data.draw(st.lists(st.integers(1, len(joined) - 1), min_size=2, max_size=2, unique=True))
    first, second = (identity([GoldenQuestion(joined[:cut], joined[cut:], Form.MATCH, ("d",))]) for cut in cuts)
    assert first.labels != second.labels
    assert first.benchmark != second.benchmark


@given(st.permutations([A, B, GoldenQuestion("10", "Q", Form.GAP), GoldenQuestion("9", "Q", Form.GAP)]))
def test_permutations_under_another_name_keep_the_fingerprints(order: list[GoldenQuestion]) -> None:
    """P11"""
    golden = GoldenQuestionSet("other.name", "Other", "other words", tuple(order))
    assert identity(list(golden.questions)) == identity(sorted(order, key=lambda question: question.id))


@pytest.mark.parametrize("value", [None, "", "v1:", "v1:" + "A" * 64, "v2:" + "a" * 64, "v1:" + "a" * 64 + "\n"])
def test_a_fingerprint_is_v1_and_64_lowercase_hex_digits(value: str | None) -> None:
    assert not is_fingerprint(value)
    assert is_fingerprint("v1:" + "a" * 64)
