"""The extractive model answers in the words of its evidence, or says what that lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.claims import claims_of
from arborist.answering.extractive import ExtractiveModel, ExtractiveSettings
from arborist.answering.verifier import Verifier
from tests.evidence import evidence

EVIDENCE = [
    evidence(
        1,
        "The Sydney Harbour Bridge was designed by Dorman Long. It opened on 19 March 1932. "
        "It carries rail, cars and people, and it is 134 metres high.",
        title="Sydney Harbour Bridge",
    ),
    evidence(2, "The Eiffel Tower stands in Paris. Gustave Eiffel's company built the tower from 1887 to 1889."),
]
MODEL = ExtractiveModel()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When did the Sydney Harbour Bridge open?", "It opened on 19 March 1932. [E1]"),
        ("Who designed the Sydney Harbour Bridge?", "The Sydney Harbour Bridge was designed by Dorman Long. [E1]"),
        ("Where does the Eiffel Tower stand?", "The Eiffel Tower stands in Paris. [E2]"),
    ],
)
def test_an_answer_is_a_sentence_of_the_evidence_and_its_number(question: str, answer: str) -> None:
    assert MODEL.answer(question, EVIDENCE).text == answer


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("How many ducks live in Rome?", "ducks"),
        ("When did the Sydney Harbour Bridge not open?", "contrary"),
        ("Who designed the Forth Bridge?", "Forth"),
        ("", "names what it is about"),
    ],
)
def test_an_abstention_says_what_is_missing(question: str, missing: str) -> None:
    answer = MODEL.answer(question, EVIDENCE)
    assert answer.abstained
    assert missing in answer.text
    assert claims_of(answer.text) == ()


def test_without_evidence_it_abstains() -> None:
    assert MODEL.answer("When did the bridge open?", []).abstained


def test_wrapped_lines_are_given_as_one() -> None:
    wrapped = [evidence(1, "The bridge\nopened on\n19 March 1932.")]
    assert MODEL.answer("When did the bridge open?", wrapped).text == "The bridge opened on 19 March 1932. [E1]"


def test_a_source_cannot_cite_other_evidence_through_an_extract() -> None:
    sly = [evidence(1, "The bridge opened on 19 March 1932 [E2].")]
    (claim,) = claims_of(MODEL.answer("When did the bridge open?", sly).text)
    assert claim.citations == (1,)


def test_headings_and_code_are_no_answers() -> None:
    page = [evidence(1, "How to open the bridge\n\nbridge = open()\n\nThe bridge is opened by its keeper.")]
    answer = MODEL.answer("How is the bridge opened by its keeper?", page)
    assert answer.text == "The bridge is opened by its keeper. [E1]"


def test_its_settings_are_part_of_its_identity() -> None:
    assert MODEL.identity.name == "extractive"
    assert MODEL.identity.digest() == ExtractiveModel().identity.digest()
    assert MODEL.identity.digest() != ExtractiveModel(ExtractiveSettings(max_sentences=3)).identity.digest()


SENTENCES = st.lists(
    st.sampled_from(
        [
            "The bridge opened in 1932.",
            "It is not red.",
            "Rome fell.",
            "NO ANSWER: x.",
            "Is it? [E9]",
            "a\n\nb",
            "\x00",
        ]
    ),
    max_size=6,
).map(" ".join)


@given(
    text=SENTENCES, question=st.sampled_from(["When did the bridge open?", "Who is red?", "?", "Did Rome fall?"])
)
def test_it_cites_what_it_took_or_abstains(text: str, question: str) -> None:
    sources = [evidence(1, text)]
    answer = MODEL.answer(question, sources)
    assert answer == MODEL.answer(question, sources)
    claims = Verifier().verify(answer.text, sources).claims
    assert all(claim.citations == (1,) for claim in claims)
    assert answer.abstained == (claims == ())
