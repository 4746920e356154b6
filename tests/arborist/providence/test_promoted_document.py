"""A promoted answer as a document: its layout, and that it follows from its record."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.clock import FixedClock
from arborist.providence.ledger import Ledger
from arborist.providence.promoted_document import promoted_document, shortened
from arborist.retrieval.promoted import cited_leaves
from tests.arborist.providence.answers import AnswersHome
from tests.arborist.providence.runs import evidence, new_record
from tests.corpora import WHEN_ALDER


def test_a_document_holds_question_answer_and_a_line_a_claim(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        record = home.ask(WHEN_ALDER).record
        sources = home.ledger.sources(record.record_id)
        document = promoted_document(record, sources)
    cited = next(item for item in record.dag.payloads()["context"]["items"])
    assert document.uri == f"arborist://providence/{record.cache_key}"
    assert document.title == WHEN_ALDER
    assert document.source_type == "providence"
    assert document.source_revision == record.run_dag_root
    assert document.text.splitlines() == [
        f"Q: {WHEN_ALDER}",
        "A: The Alder Bridge opened in 1932.",
        f"- The Alder Bridge opened in 1932. [E1: bridges/alder@{cited['leaf_hash'][:16]}]",
    ]
    assert cited_leaves(document.text) == {cited["leaf_hash"][:16]}


def test_cites_are_numbered_by_the_claims_wherever_the_chunks_stood(tmp_path: Path) -> None:
    first, second = evidence("Rations go up.", "test:rations"), evidence(uri="test:war", number=2)
    with Ledger.open(tmp_path, FixedClock()) as ledger:
        record = ledger.append_record(new_record("Who is at war?", (), [first, second]))
        text = promoted_document(record, ledger.sources(record.record_id)).text
    (claim,) = json.loads(record.claims)
    assert claim["citations"] == [1]
    assert text.splitlines()[-1].endswith(f"[E1: test:rations@{first.leaf_hash[:16]}]")


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("short?", "short?"),
        ("w" * 121, "w" * 120),
        ("word " * 30, ("word " * 24).strip()),
        ("x" * 120 + " tail", "x" * 120),
        ("a " + "b" * 130, "a"),
    ],
)
def test_a_title_is_cut_to_120_characters_at_a_word(question: str, title: str) -> None:
    assert shortened(question.strip()) == title


@given(st.text())
def test_a_title_is_the_beginning_of_the_question_and_never_longer(question: str) -> None:
    title = shortened(question)
    assert question.startswith(title)
    assert len(title) <= 120
