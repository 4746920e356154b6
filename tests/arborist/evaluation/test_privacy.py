"""What is kept of questions and documents: section 5.3 and rows F12 to F18 of `retrieval-evaluation.md`."""

import base64
import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.evaluation.bytestrings import byte_text
from arborist.evaluation.golden import Form
from arborist.evaluation.privacy import (
    PrivacyLevel,
    StandardPolicy,
    details_text,
    kept_classes,
    masked,
    retention_days,
    stored_json,
)
from arborist.evaluation.run import QuestionEvaluation, Tally

PERSON = b"person@example.test\xff"


def evaluation(
    question_id: bytes, hard_class: bytes | None, ids: list[bytes], form: Form = Form.MATCH, latency: int = 7
) -> QuestionEvaluation:
    return QuestionEvaluation(
        question_id=byte_text(question_id),
        form=form,
        hard_class=None if hard_class is None else byte_text(hard_class),
        expects_no_result=False,
        top1_hit=True,
        top3_hit=True,
        retrieved_document_ids=tuple(byte_text(document) for document in ids),
        latency_ms=latency,
    )


LEGACY = evaluation(b"question\xff", b"class\xfe", [b"doc\xff", b"doc\xfe", b"doc-c"])
ORDINARY = evaluation(b"q1", b"near-duplicate", [b"internal-doc", b"a/b", "Straße".encode()], Form.GAP, 19)


def test_full_keeps_legacy_bytes_by_tags() -> None:
    """F12, byte for byte"""
    assert details_text([LEGACY], StandardPolicy(PrivacyLevel.FULL)) == (
        '[{"questionId":{"encoding":"base64","version":"retrieval-bytes-v1","value":"cXVlc3Rpb27\\/"},"form":"match",'
        '"hardClass":{"encoding":"base64","version":"retrieval-bytes-v1","value":"Y2xhc3P+"},"top1Hit":true,'
        '"top3Hit":true,"retrievedDocumentIds":[{"encoding":"base64","version":"retrieval-bytes-v1",'
        '"value":"ZG9j\\/w=="},{"encoding":"base64","version":"retrieval-bytes-v1","value":"ZG9j\\/g=="},"doc-c"],'
        '"latencyMs":7}]'
    )


def test_full_keeps_ordinary_text_as_it_is() -> None:
    """F8, byte for byte"""
    assert details_text([ORDINARY], StandardPolicy(PrivacyLevel.FULL)) == (
        '[{"questionId":"q1","form":"gap","hardClass":"near-duplicate","top1Hit":true,"top3Hit":true,'
        '"retrievedDocumentIds":["internal-doc","a\\/b","Stra\\u00dfe"],"latencyMs":19}]'
    )


def test_redacted_masks_each_text_and_keeps_the_record_whole() -> None:
    """F13, byte for byte"""
    found = evaluation(b"question\xff", b"class\xfe", [PERSON, b"doc\xfe", b"doc-c"])
    assert details_text([found], StandardPolicy(PrivacyLevel.REDACTED)) == (
        '[{"questionId":"question\\ufffd","form":"match","hardClass":"class\\ufffd","top1Hit":true,"top3Hit":true,'
        '"retrievedDocumentIds":["***\\ufffd","doc\\ufffd","doc-c"],"latencyMs":7}]'
    )


@pytest.mark.parametrize("level", [PrivacyLevel.REDACTED, PrivacyLevel.METADATA, PrivacyLevel.NONE])
def test_below_full_neither_an_address_nor_its_base64_nor_a_tag_is_kept(level: PrivacyLevel) -> None:
    """F13"""
    text = details_text([evaluation(PERSON, PERSON, [PERSON])], StandardPolicy(level))
    for trace in ("person", "example.test", base64.b64encode(PERSON).decode(), "retrieval-bytes"):
        assert trace not in text
    assert ("***" in text) is (level is PrivacyLevel.REDACTED)
    assert level is PrivacyLevel.REDACTED or text == ""


def test_redaction_of_many_records_stays_json() -> None:
    text = details_text([ORDINARY] * 500, StandardPolicy(PrivacyLevel.REDACTED))
    assert len(json.loads(text)) == 500


@dataclass(frozen=True)
class CustomPolicy:
    """At `full`, replaces, keeps or drops by what it sees."""

    replacements: dict[bytes, bytes | None]
    drops_everything: bool = False
    level: PrivacyLevel = PrivacyLevel.FULL

    def filter_content(self, content: bytes | None) -> bytes | None:
        if content is not None and content.startswith(b"[") and self.drops_everything:
            return None
        return None if content is None else self.replacements.get(content, content)


def test_a_filter_sees_the_original_bytes_and_its_own_are_tagged() -> None:
    """F14"""
    record = json.loads(details_text([LEGACY], CustomPolicy({b"doc\xff": b"scrubbed\xfd"})))[0]
    assert base64.b64decode(record["retrievedDocumentIds"][0]["value"]) == b"scrubbed\xfd"


def test_a_filter_may_drop_one_field() -> None:
    """F15"""
    record = json.loads(details_text([LEGACY], CustomPolicy({b"class\xfe": None})))[0]
    assert record["hardClass"] is None
    assert record["retrievedDocumentIds"][2] == "doc-c"


def test_a_filter_may_drop_the_whole() -> None:
    """F16"""
    assert details_text([LEGACY], CustomPolicy({}, drops_everything=True)) == ""


def test_a_filter_may_put_plain_text_in_place_of_bytes() -> None:
    """F17"""
    record = json.loads(details_text([LEGACY], CustomPolicy({b"question\xff": b"question"})))[0]
    assert record["questionId"] == "question"


@pytest.mark.parametrize("level", list(PrivacyLevel))
def test_nothing_stays_nothing_at_every_level(level: PrivacyLevel) -> None:
    """F18"""
    assert StandardPolicy(level).filter_content(None) is None


def test_levels_keep_mask_or_drop() -> None:
    """F18"""
    content = b"mail person@example.test \xff"
    assert StandardPolicy(PrivacyLevel.FULL).filter_content(content) == content
    assert StandardPolicy(PrivacyLevel.REDACTED).filter_content(content) == "mail *** \ufffd".encode()
    assert StandardPolicy(PrivacyLevel.METADATA).filter_content(content) is None
    assert StandardPolicy(PrivacyLevel.NONE).filter_content(content) is None


@pytest.mark.parametrize("text", [None, "", "FULL", "secret", " full"])
def test_an_unknown_level_is_metadata(text: str | None) -> None:
    """F18"""
    assert PrivacyLevel.named(text) is PrivacyLevel.METADATA
    assert PrivacyLevel.named("full") is PrivacyLevel.FULL


@pytest.mark.parametrize(("days", "kept"), [(None, 30), (0, 30), (-5, 30), (7, 7)])
def test_retention_never_means_to_delete_everything(days: int | None, kept: int) -> None:
    """F18"""
    assert retention_days(days) == kept


@pytest.mark.parametrize(
    "secret",
    [
        "someone.else+tag@mail.example.org",
        "Bearer abc.def-ghi_jkl=",
        "sk-proj-" + "a1B2" * 8,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 8,
        "AKIA" + "A1B2" * 4,
        "AIza" + "a1B2" * 9,
        "xoxb-" + "1234567890-abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ],
)
def test_keys_and_addresses_are_masked(secret: str) -> None:
    assert masked(f"before {secret} after".encode()) == b"before *** after"


def test_credentials_in_an_address_are_masked() -> None:
    assert masked(b"https://h/x?page=2&api_key=abc&access_token=def#top") == b"https://h/x?page=2&***&***#top"


@pytest.mark.parametrize(
    "text", ["python-topics/assert", "How do I open a door at 5?", "token ring", "user @ home"]
)
def test_ordinary_text_is_not_masked(text: str) -> None:
    assert masked(text.encode()) == text.encode()


@given(st.recursive(st.text() | st.none() | st.booleans(), st.lists, max_leaves=5))
def test_stored_json_reads_back_whatever_it_holds(value: object) -> None:
    text = stored_json(value)
    assert json.loads(text) == value
    assert text.isascii()


def test_stored_json_escapes_as_other_implementations_do() -> None:
    assert stored_json(["a/b", "\x7f", "\\u007f", "é"]) == '["a\\/b","\x7f","\\\\u007f","\\u00e9"]'


def test_class_names_are_kept_masked_or_dropped_and_counts_stay() -> None:
    classes = (
        (byte_text(PERSON), Tally(1, 1, 1)),
        ("b@example.test\ufffd", Tally(2, 0, 1)),
        ("rare", Tally(1, 0, 0)),
    )
    assert kept_classes(classes, PrivacyLevel.FULL) == classes
    assert kept_classes(classes, PrivacyLevel.METADATA) == (
        ("***\ufffd", Tally(3, 1, 2)),
        ("rare", Tally(1, 0, 0)),
    )
    assert kept_classes(classes, PrivacyLevel.NONE) == ()
