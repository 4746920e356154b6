"""Provenance labels: section 4 of `retrieval-evaluation.md` and rows P4, P7, P9 and P14 of its checklist."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.evaluation.errors import ProvenanceError
from arborist.evaluation.provenance import FIELDS, NOT_APPLICABLE, RetrievalProvenance, is_label

GOOD = ["corpus-v1", "embed-v1", "chunk-v1", "hybrid-v1", "commit-a"]
SIX_BAD = ["", "x" * 191, "http://host/v1", "two words", "line\nbreak", "über-v1"]


def declared(position: int, value: str) -> RetrievalProvenance:
    labels = list(GOOD)
    labels[position] = value
    return RetrievalProvenance(*labels)


@pytest.mark.parametrize("position", range(5), ids=FIELDS)
@pytest.mark.parametrize("value", SIX_BAD)
def test_a_bad_label_is_refused_at_every_position(position: int, value: str) -> None:
    """P7"""
    with pytest.raises(ProvenanceError) as refused:
        declared(position, value)
    assert refused.value.code == 1794000215
    assert FIELDS[position] in str(refused.value)


@pytest.mark.parametrize("position", range(5), ids=FIELDS)
def test_190_bytes_are_accepted_at_every_position(position: int) -> None:
    """P7"""
    assert declared(position, "x" * 190).to_json()[FIELDS[position]] == "x" * 190


@pytest.mark.parametrize(("position", "is_refused"), [(0, True), (1, False), (2, False), (3, True), (4, False)])
def test_the_sentinel_stands_for_a_model_or_chunker_only(position: int, *, is_refused: bool) -> None:
    """P7: a corpus and a pipeline are never absent."""
    if not is_refused:
        assert NOT_APPLICABLE in declared(position, NOT_APPLICABLE).to_json().values()
        return
    with pytest.raises(ProvenanceError) as refused:
        declared(position, NOT_APPLICABLE)
    assert refused.value.code == 1794000216


def test_a_broken_label_is_told_before_a_misplaced_sentinel() -> None:
    with pytest.raises(ProvenanceError) as refused:
        RetrievalProvenance(NOT_APPLICABLE, "two words", "c", "p")
    assert refused.value.code == 1794000215


def test_an_address_with_credentials_is_refused_and_not_repeated() -> None:
    """P4"""
    with pytest.raises(ProvenanceError) as refused:
        declared(1, "https://user:password@example.test/model")
    assert refused.value.code == 1794000215
    assert "password" not in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [
        *("a", "0", "9z", "a-", "sha256:0123abcd", "v1.2.3+build.5", "a:/b", "http:/x", "file:x"),
        *("s3:bucket/key", "user:pass", "a/../b", "NOT-APPLICABLE", "unknown", "null", "org/model:v1"),
        *("export-sha256-abcdef", "lexical-policy-v2"),
    ],
)
def test_labels_that_are_accepted(value: str) -> None:
    assert is_label(value)


@pytest.mark.parametrize(
    "value",
    [
        *("-a", "_a", ".a", "/a", ":a", "+a", " a", "a ", "a\tb", "a\0", "a\0b", "a\n", "a\r\n"),
        *("a://b", "a:///b", "://a", "../../etc/passwd", "\udcff", "a\udcff", "a\x80", "٣"),
        *(f"a{sign}b" for sign in "@=~#?%\\,;|()"),
    ],
)
def test_labels_that_are_refused(value: str) -> None:
    """P14: also a trailing newline and NUL."""
    assert not is_label(value)


@given(st.integers(0, 230))
def test_a_label_is_accepted_from_1_to_190_bytes_and_comes_back_from_its_json(length: int) -> None:
    """P9"""
    if 1 <= length <= 190:
        labels = RetrievalProvenance("c", "x" * length, "k", "p")
        assert RetrievalProvenance.from_json(labels.to_json()) == labels
    else:
        with pytest.raises(ProvenanceError):
            RetrievalProvenance("c", "x" * length, "k", "p")


@given(st.text(st.sampled_from("aZ9._:+/- \n\0é@"), max_size=12))
def test_the_rule_is_the_one_in_words(text: str) -> None:
    letters = re.fullmatch("[A-Za-z0-9][A-Za-z0-9._:+/-]*", text) is not None
    assert is_label(text) is (letters and "://" not in text)


def test_the_json_has_the_five_names_in_order_and_the_last_may_be_null() -> None:
    assert list(RetrievalProvenance(*GOOD[:4]).to_json().items()) == [
        *zip(FIELDS[:4], GOOD[:4], strict=True),
        ("executionRevision", None),
    ]


def test_an_empty_execution_revision_is_not_an_absent_one() -> None:
    with pytest.raises(ProvenanceError):
        declared(4, "")
