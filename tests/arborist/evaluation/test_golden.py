"""Golden questions and sets: rows G1 to G14 of the checklist in `retrieval-evaluation.md`, 7.2."""

from typing import Any

import pytest

from arborist.errors import InputError
from arborist.evaluation.errors import GoldenSetError, RegistryError
from arborist.evaluation.golden import (
    Form,
    GoldenQuestion,
    GoldenQuestionSet,
    GoldenSetRegistry,
    GradedSet,
)

QUESTION = GoldenQuestion("q1", "Where is the office?", Form.MATCH, ("doc-a",))


def question(**changes: Any) -> GoldenQuestion:
    fields: dict[str, Any] = {"id": "q1", "question": "Where?", "form": Form.GAP, "expected_document_ids": ("a",)}
    return GoldenQuestion(**(fields | changes))


def golden_set(identifier: str = "office.faq_1", **changes: Any) -> GoldenQuestionSet:
    fields: dict[str, Any] = {"name": "Office", "description": "", "questions": (QUESTION,)}
    return GoldenQuestionSet(identifier, **(fields | changes))


def test_a_valid_set_keeps_what_it_was_given() -> None:
    """G1"""
    golden = golden_set()
    assert (golden.identifier, golden.name, golden.description) == ("office.faq_1", "Office", "")
    assert golden.questions == (QUESTION,)


def test_a_question_may_have_several_targets_a_class_and_a_gist() -> None:
    """G2"""
    made = question(expected_document_ids=["b", "a"], hard_class="near-duplicate", answer_gist="Upstairs")
    assert made.expected_document_ids == ("b", "a")
    assert (made.hard_class, made.answer_gist) == ("near-duplicate", "Upstairs")
    assert not made.expects_no_result


@pytest.mark.parametrize("form", list(Form))
def test_a_question_without_targets_expects_no_result_whatever_its_form(form: Form) -> None:
    """G3"""
    assert question(expected_document_ids=(), form=form).expects_no_result


@pytest.mark.parametrize(
    "identifier", ["", "Office", ".office", "office.", "a b", "a..b", "a-b", "a.b\n", "é", "a" * 191]
)
def test_an_identifier_of_other_shape_is_refused(identifier: str) -> None:
    """G4"""
    with pytest.raises(GoldenSetError) as refused:
        golden_set(identifier)
    assert refused.value.code == 1794000055


@pytest.mark.parametrize(
    ("row", "changes", "code"),
    [
        ("G5", {"name": ""}, 1794000056),
        ("G6", {"questions": ()}, 1794000057),
        ("G7", {"questions": (QUESTION, question(id="q1"))}, 1794000058),
    ],
)
def test_a_set_that_breaks_a_rule_is_refused_with_its_number(row: str, changes: dict[str, Any], code: int) -> None:
    with pytest.raises(GoldenSetError) as refused:
        golden_set(**changes)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("row", "changes", "code"),
    [
        ("G8", {"id": ""}, 1794000050),
        ("G9", {"question": ""}, 1794000051),
        ("G10", {"expected_document_ids": ("a", "")}, 1794000052),
        ("G11", {"expected_document_ids": ("a", "b", "a")}, 1794000053),
        ("G12", {"hard_class": ""}, 1794000054),
        ("no bytes", {"id": "\ud800"}, 1794000050),
        ("two texts of the same bytes", {"expected_document_ids": ("\udcc3\udca9",)}, 1794000052),
    ],
)
def test_a_question_that_breaks_a_rule_is_refused_with_its_number(
    row: str, changes: dict[str, Any], code: int
) -> None:
    with pytest.raises(GoldenSetError) as refused:
        question(**changes)
    assert refused.value.code == code
    assert isinstance(refused.value, ValueError)
    assert isinstance(refused.value, InputError)


def test_white_space_is_a_question() -> None:
    assert question(question=" ").question == " "


def test_a_form_is_one_of_two() -> None:
    with pytest.raises(TypeError):
        question(form="match")
    with pytest.raises(ValueError):
        Form("other")


def test_a_registry_collects_providers_in_order_and_finds_by_identifier() -> None:
    """G13"""
    first, second, third = (GradedSet(golden_set(name)) for name in ("a", "c", "b"))
    registry = GoldenSetRegistry([[first, second], [third]])
    assert registry.identifiers() == ["a", "c", "b"]
    assert registry.find("c") is second
    assert registry.find("d") is None


def test_two_sets_of_one_identifier_are_refused_at_construction() -> None:
    """G14"""
    with pytest.raises(RegistryError) as refused:
        GoldenSetRegistry([[GradedSet(golden_set("a"))], [GradedSet(golden_set("a"))]])
    assert refused.value.code == 1794000059


def test_relevance_is_the_grades_or_one_for_each_target() -> None:
    golden = golden_set(questions=(QUESTION, question(id="q2", expected_document_ids=("b",))))
    graded = GradedSet(golden, {"q2": {"b": 2, "c": 1}})
    assert graded.relevance(golden.questions[0]) == {"doc-a": 1}
    assert graded.relevance(golden.questions[1]) == {"b": 2, "c": 1}
