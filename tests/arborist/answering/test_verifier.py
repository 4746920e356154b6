"""What the verifier calls supported, what it does not, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.findings import CONTRADICTIONS
from arborist.answering.model import Claim
from arborist.answering.verifier import Verifier, VerifierPolicy
from arborist.hashing import Domain, hash_json
from tests.evidence import evidence

BRIDGE = evidence(
    1,
    "The Sydney Harbour Bridge was designed by Dorman Long. It opened on 19 March 1932 and cost £6.25 million. "
    "The bridge is 1,149 metres long and 134 metres high. It does not carry trams today. "
    'Long said that "the arch is the pride of the whole harbour". Critics claimed that the steel was weak.',
    title="Sydney Harbour Bridge",
)
TOWER = evidence(2, 'Eiffel wrote that "the tower will outlive all its enemies". It was built in Paris in 1889.')
OLD_ANSWER = evidence(3, "A: The bridge opened in 1932.", role="self_reference_source")
EVIDENCE = (BRIDGE, TOWER, OLD_ANSWER)


def judged(answer: str, **options: object) -> Claim:
    (claim,) = Verifier().verify(answer, EVIDENCE, **options).claims  # type: ignore[arg-type]
    return claim


@pytest.mark.parametrize(
    "answer",
    [
        "The Sydney Harbour Bridge was designed by Dorman Long. [E1]",
        "It opened on 19 March 1932. [E1]",
        "The Sydney Harbour Bridge opened on 19 March 1932. [E1]",
        "The bridge is 1149 metres long. [E1]",
        "The bridge is 1,149 meters long and 134 m high. [E1]",
        "It doesn't carry trams today. [E1]",
        'Long said that "the arch is the pride of the whole harbour". [E1]',
        'Long said that "the arch ... of the whole harbour". [E1]',
        "Critics claimed that the steel was weak. [E1]",
        "According to the evidence, critics claimed that the steel was weak. [E1]",
        "It opened on 19 March 1932 [E2, E1].",
    ],
)
def test_what_the_cited_window_states_is_supported(answer: str) -> None:
    claim = judged(answer)
    assert (claim.state, claim.findings) == ("supported", ())


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        ("It opened on 19 March 1932.", "no-citation"),
        ("It opened on 19 March 1932. [E7]", "unknown-evidence"),
        ("It opened on 19 March 1932. [E1, E7]", "unknown-evidence"),
        ("It opened on 18 March 1932. [E1]", "date-differs"),
        ("It opened on 19 April 1932. [E1]", "date-differs"),
        ("It opened in 1933. [E1]", "number-differs"),
        ("The bridge is 1,150 metres long. [E1]", "number-differs"),
        ("The bridge is 1,149 miles long. [E1]", "unit-differs"),
        ("It cost £6.25 billion. [E1]", "number-differs"),
        ("The bridge is 134 metres long. [E1]", "order-differs"),
        ("It was designed by Gustave Eiffel. [E1]", "name-differs"),
        ("It does carry trams today. [E1]", "negation-differs"),
        ("The bridge is not 134 metres high. [E1]", "negation-differs"),
        ("The bridge is 134 metres low. [E1]", "opposite-word"),
        ("The bridge is 134 metres high and beautiful. [E1]", "words-missing"),
        ("The steel was weak. [E1]", "hedge-dropped"),
        ("Dorman Long. [E1]", "nothing-stated"),
        ("Did it open on 19 March 1932? [E1]", "nothing-stated"),
        ("Dolphins sleep with one eye open. [E1]", "off-topic"),
        ('Long said that "the arch is the shame of the whole harbour". [E1]', "quote-invented"),
        ('Long said that "the tower will outlive all its enemies". [E1]', "quote-misattributed"),
        ('Long said that "the arch is the pride of all its enemies". [E1]', "quote-spliced"),
        ("Long said that 'the arch is the shame of the whole harbour'. [E1]", "quote-invented"),
        (f"The bridge is {'very ' * 500}long. [E1]", "claim-too-long"),
    ],
)
def test_what_differs_from_the_evidence_is_not_supported_and_named(answer: str, finding: str) -> None:
    claim = judged(answer)
    assert not claim.supported
    assert finding in claim.findings


@pytest.mark.parametrize("finding", sorted(CONTRADICTIONS - {"sidecar-contradicted"}))
def test_contradictions_are_told_from_mere_lack(finding: str) -> None:
    lacking = judged("The bridge carries bicycles. [E1]")
    assert finding not in lacking.findings


def test_a_citation_that_shares_the_name_and_not_the_relation_is_a_lazy_anchor() -> None:
    claim = judged("Dorman Long painted famous portraits. [E1]")
    assert (claim.state, claim.lazy_anchor_demoted) == ("anchored", True)
    assert "relation-missing" in claim.findings


def test_a_claim_near_its_evidence_is_anchored_and_no_lazy_anchor() -> None:
    claim = judged("The Sydney Harbour Bridge was designed and drawn by Dorman Long. [E1]")
    assert (claim.state, claim.lazy_anchor_demoted) == ("anchored", False)


def test_a_role_that_is_not_allowed_is_refused() -> None:
    assert judged("The bridge opened in 1932. [E3]").supported
    claim = judged("The bridge opened in 1932. [E3]", allowed_roles=("primary",))
    assert (claim.state, claim.findings) == ("unsupported", ("role-not-allowed",))


def test_evidence_that_may_not_be_rested_on_is_refused() -> None:
    refused = {OLD_ANSWER.document_root: "ancestor falsified"}
    claim = judged("The bridge opened in 1932. [E3]", refused_roots=refused)
    assert (claim.state, claim.findings) == ("unsupported", ("evidence-refused",))
    assert judged("It opened on 19 March 1932. [E1]", refused_roots=refused).supported


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("It opened on 19 March 1932. [E1]", "STRICT"),
        ("It opened on 19 March 1932. [E1] It was built in Paris. [E2]", "STRICT"),
        ("It opened on 19 March 1932. [E1] It is red. [E1]", "HYBRID"),
        ("It opened on 19 March 1932. [E1] So it did.", "HYBRID"),
        ("It is red. [E1]", "UNGROUNDED"),
        ("NO ANSWER: the evidence gives no colour.", "UNGROUNDED"),
        ("", "UNGROUNDED"),
    ],
)
def test_the_verdict_is_the_meet_of_the_claims(answer: str, verdict: str) -> None:
    assert Verifier().verify(answer, EVIDENCE).audit_mode == verdict


def test_without_evidence_nothing_is_supported() -> None:
    verdict = Verifier().verify("It opened on 19 March 1932. [E1]", [])
    assert [claim.findings for claim in verdict.claims] == [("unknown-evidence",)]


def test_support_is_not_gathered_from_sentences_far_apart() -> None:
    scattered = evidence(1, "Anna lives in Rome. Rain fell. Rain fell again. It snowed. The painter died in 1901.")
    (claim,) = Verifier().verify("Anna died in 1901. [E1]", [scattered]).claims
    assert not claim.supported


def test_names_that_change_places_are_not_supported() -> None:
    fight = [evidence(1, "In the final, Austria defeated Hungary in Vienna.")]
    assert Verifier().verify("Austria defeated Hungary. [E1]", fight).audit_mode == "STRICT"
    assert (
        Verifier().verify("In the final, Hungary defeated Austria in Vienna. [E1]", fight).audit_mode
        == "UNGROUNDED"
    )


def test_a_number_from_the_next_sentence_is_not_this_ones() -> None:
    reforms = [evidence(1, "The reform was launched in 1998. In 2000 it failed.")]
    assert Verifier().verify("The reform was launched in 2000. [E1]", reforms).audit_mode == "UNGROUNDED"


def test_a_name_of_the_next_sentence_does_not_take_the_place_of_this_ones() -> None:
    awards = [evidence(1, "Anna won her awards in Rome. At Venice nobody noticed.")]
    assert Verifier().verify("Anna won her awards in Rome. [E1]", awards).audit_mode == "STRICT"
    assert Verifier().verify("Anna won her awards in Venice. [E1]", awards).audit_mode == "UNGROUNDED"


def test_a_claim_may_run_into_a_sentence_that_opens_with_a_pronoun() -> None:
    life = [evidence(1, "Anna Smith painted harbours. She died in 1901.")]
    assert Verifier().verify("Anna Smith died in 1901. [E1]", life).audit_mode == "STRICT"


def test_the_title_may_be_the_subject_of_a_sentence_that_opens_with_a_pronoun_only() -> None:
    album = [evidence(1, "It was released in 1990. Milira sang on every track.", title="Go Outside")]
    assert Verifier().verify("Go Outside was released in 1990. [E1]", album).audit_mode == "STRICT"
    assert Verifier().verify("Go Outside sang on every track. [E1]", album).audit_mode == "UNGROUNDED"


def test_claims_beyond_the_limit_are_listed_as_unread() -> None:
    answer = "It opened on 19 March 1932. [E1]\n" * 5
    verdict = Verifier(VerifierPolicy(max_claims=3)).verify(answer, EVIDENCE)
    assert [claim.findings for claim in verdict.claims] == [(), (), (), ("too-many-claims",), ("too-many-claims",)]
    assert verdict.audit_mode == "HYBRID"


def test_evidence_beyond_the_limit_is_not_rested_on() -> None:
    long = evidence(1, "The bridge opened. " * 10)
    (claim,) = Verifier(VerifierPolicy(max_evidence_chars=100)).verify("The bridge opened. [E1]", [long]).claims
    assert claim.findings == ("evidence-too-long",)


def test_a_number_that_stands_for_two_pieces_of_evidence_stands_for_none() -> None:
    doubled = [evidence(1, "The bridge opened."), evidence(1, "The bridge closed.")]
    (claim,) = Verifier().verify("The bridge opened. [E1]", doubled).claims
    assert claim.findings == ("unknown-evidence",)


def test_a_text_without_sentences_is_not_aligned_word_by_word_for_ever() -> None:
    words = " ".join(f"word{index}" for index in range(12_000))
    (claim,) = Verifier().verify(f"{words[:1_900]} [E1]", [evidence(1, words)]).claims
    assert claim.findings == ("evidence-too-long",)


def test_the_digest_is_of_the_policy_as_it_is_handed_out() -> None:
    verifier = Verifier()
    assert verifier.digest() == hash_json(Domain.VERIFIER_POLICY, verifier.canonical())
    assert verifier.digest() == VerifierPolicy().digest()
    assert verifier.digest() != Verifier(VerifierPolicy(coverage=0.9)).digest()


VOCABULARY = (
    (
        "bridge",
        "Bridge",
        "1932",
        "1933",
        "not",
        "no",
        '"the',
        "arch",
        "19",
        "March",
        "metres",
        "[E1]",
        "[E2]",
        ".",
    ),
    ("?", "£", "long", "Long", "was", "never", "\n", "–", "half", "It", "opened", "on"),
)
WORDS = st.sampled_from([word for line in VOCABULARY for word in line])


@given(st.lists(WORDS, max_size=40).map(" ".join))
def test_the_same_answer_always_gets_the_same_verdict(answer: str) -> None:
    assert Verifier().verify(answer, EVIDENCE) == Verifier().verify(answer, EVIDENCE)


@given(answer=st.text(max_size=200), text=st.text(max_size=200), title=st.text(max_size=20))
def test_no_text_makes_the_verifier_fail(answer: str, text: str, title: str) -> None:
    verdict = Verifier().verify(answer + " [E1]", [evidence(1, text, title=title)])
    assert verdict.audit_mode in ("STRICT", "HYBRID", "UNGROUNDED")


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_a_claim_without_a_citation_is_never_supported(answer: str) -> None:
    claims = Verifier().verify(answer, EVIDENCE).claims
    assert all(not claim.supported for claim in claims if not claim.citations)
