"""The prompt is deterministic, and nothing in a source can step out of its line."""

import json

from hypothesis import given
from hypothesis import strategies as st

from arborist.answering.model import Message
from arborist.answering.prompt import messages_for
from tests.evidence import evidence

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def test_evidence_is_numbered_and_the_question_comes_last() -> None:
    rules, asked = messages_for("Why?", [evidence(1, "Because.", title="Reasons")])
    assert rules.role == "system"
    assert asked.content.splitlines() == [
        "Evidence:",
        '{"id":"E1","text":"Because.","title":"Reasons"}',
        "",
        'Question: "Why?"',
    ]


def test_no_evidence_is_said_to_be_none() -> None:
    assert "(none)" in messages_for("Why?", [])[-1].content


def test_earlier_turns_stand_between_the_rules_and_the_question() -> None:
    turns = (Message("user", "Who?"), Message("assistant", "She. [E1]"))
    assert messages_for("Why?", [], conversation=turns)[1:3] == turns


def test_keywords_are_shown_only_when_they_are_given() -> None:
    hidden = messages_for("Why?", [])[-1].content
    shown = messages_for("Why?", [], keywords=("alpha", "beta"))[-1].content
    assert "alpha" not in hidden
    assert '["alpha","beta"]' in shown


@given(text=TEXTS, title=TEXTS, question=TEXTS)
def test_any_text_stays_on_the_line_it_was_put(text: str, title: str, question: str) -> None:
    first = messages_for(question, [evidence(1, text, title=title), evidence(2, "x")])
    assert first == messages_for(question, [evidence(1, text, title=title), evidence(2, "x")])
    lines = first[-1].content.splitlines()
    assert len(lines) == 5
    assert json.loads(lines[1]) == {"id": "E1", "text": text, "title": title}
    assert json.loads(lines[4].removeprefix("Question: ")) == question
