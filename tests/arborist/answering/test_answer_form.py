"""A model's answer is read in either form, and one that cannot be read is recorded as no answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.answer_form import answer_of
from arborist.answering.chat_reply import ChatReply
from arborist.answering.claims import claims_of
from arborist.answering.verifier import Verifier
from tests.evidence import evidence

USAGE = (("total_tokens", 9),)


def reply(content: str, finish_reason: str = "stop") -> ChatReply:
    return ChatReply(content, finish_reason, USAGE)


def structured(*claims: object, missing: str = "") -> str:
    return json.dumps({"claims": list(claims), "missing": missing})


def test_json_claims_become_lines_with_their_citations() -> None:
    answer = answer_of(
        reply(structured({"text": "A is B.", "evidence": [1, 3]}, {"text": "C is D.", "evidence": []}))
    )
    assert answer.text == "A is B. [E1, E3]\nC is D."
    assert [(claim.text, claim.citations) for claim in claims_of(answer.text)] == [
        ("A is B.", (1, 3)),
        ("C is D.", ()),
    ]
    assert answer.usage == USAGE


def test_text_is_taken_as_it_is() -> None:
    assert answer_of(reply("A is B. [E1]")).text == "A is B. [E1]"


def test_json_in_a_code_fence_is_json() -> None:
    fenced = f"```json\n{structured({'text': 'A is B.', 'evidence': [1]})}\n```"
    assert answer_of(reply(fenced)).text == "A is B. [E1]"


@pytest.mark.parametrize(
    "content",
    [structured(missing="no date is given"), "NO ANSWER: no date is given", "\n NO ANSWER: no date is given"],
)
def test_an_abstention_says_what_is_missing(content: str) -> None:
    answer = answer_of(reply(content))
    assert answer.abstained
    assert "no date is given" in answer.text


def test_claims_beside_an_abstention_are_not_taken() -> None:
    answer = answer_of(reply("A is B. [E1]\nNO ANSWER: I am not sure."))
    assert answer.abstained
    assert claims_of(answer.text) == ()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        '{"claims": "A is B."}',
        '{"answer": "Nordia", "citation": 1}',
        structured({"text": "A is B."}),
        structured({"text": "", "evidence": [1]}),
        structured({"text": "A is B.", "evidence": ["E1"]}),
        structured({"text": "A is B.", "evidence": [True]}),
        structured({"text": "A is B.", "evidence": [0]}),
        structured({"text": "A is B.", "evidence": [1], "verdict": "STRICT"}),
        structured("A is B. [E1]"),
        '[{"text": "A is B.", "evidence": [1]}]',
        "[" * 100_000,
    ],
)
def test_what_breaks_the_form_is_an_abstention_that_says_so(content: str) -> None:
    answer = answer_of(reply(content))
    verdict = Verifier().verify(answer.text, [evidence(1, "A is B.")])
    assert verdict.audit_mode == "UNGROUNDED"
    assert not any(claim.supported for claim in verdict.claims)


def test_a_citation_inside_the_text_of_a_json_claim_cites_nothing() -> None:
    answer = answer_of(reply(structured({"text": "A is B [E2].", "evidence": [1]})))
    assert [claim.citations for claim in claims_of(answer.text)] == [(1,)]


def test_an_answer_cut_off_keeps_what_was_cited_before_the_end() -> None:
    answer = answer_of(reply("A is B. [E1] C is not", "length"))
    assert answer.text == "A is B. [E1]"


@pytest.mark.parametrize("content", ["A is", '{"claims": [{"text": "A is'])
def test_an_answer_cut_off_before_its_first_citation_is_no_answer(content: str) -> None:
    answer = answer_of(reply(content, "length"))
    assert answer.abstained
    assert "cut off" in answer.text


@given(st.text(max_size=300), st.sampled_from(["stop", "length", ""]))
def test_no_content_makes_reading_fail(content: str, finish_reason: str) -> None:
    answer = answer_of(reply(content, finish_reason))
    assert answer.text
    assert not answer.abstained or claims_of(answer.text) == ()
