"""Golden sets on disk: every fault with its line, and what is written reads back."""

import json
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.errors import InputError
from arborist.evaluation.bytestrings import byte_text
from arborist.evaluation.errors import GoldenSetError, RegistryError
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.golden_file import Fault, golden_faults, golden_sets, read_golden, write_golden

ROOT = Path(__file__).resolve().parents[3]
GOOD = {"id": "q1", "question": "Where?", "form": "match", "expectedDocumentIds": ["a"]}


def lines_file(folder: Path, *lines: Any, name: str = "office-faq.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return path


def test_without_a_header_a_set_is_called_after_its_file(tmp_path: Path) -> None:
    golden = read_golden(lines_file(tmp_path, GOOD)).golden
    assert (golden.identifier, golden.name) == ("office_faq", "office-faq")
    assert golden.questions == (GoldenQuestion("q1", "Where?", Form.MATCH, ("a",)),)


def test_a_header_names_the_set_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    header = {"identifier": "office.faq", "name": "Office", "description": "Where and when"}
    golden = read_golden(lines_file(tmp_path, b"", header, b"  ", GOOD, b"")).golden
    assert (golden.identifier, golden.name, golden.description) == ("office.faq", "Office", "Where and when")


def test_every_fault_is_told_with_its_line(tmp_path: Path) -> None:
    path = lines_file(
        tmp_path,
        {"identifier": "Office", "name": ""},
        GOOD,
        b"{not json",
        b'{"id": "\xff"}',
        ["list"],
        {"id": "", "question": "", "form": "match"},
        {"id": "q4", "question": "Q", "form": "other", "expectedDocumentIds": ["a", "a", ""], "hardclass": "x"},
        {"question": "Q", "form": "gap", "expectedDocumentIds": "a"},
        GOOD | {"id": "q1"},
        {"id": 7, "question": None, "form": "gap", "answerGist": 5, "hardClass": ""},
        b'{"id": "q9", "id": "q9", "question": "Q", "form": "gap"}',
        GOOD | {"id": "q10", "grades": {"b": 1}},
        GOOD | {"id": "q11", "grades": {"a": 0}},
        {"id": "q12", "question": "Q", "form": "gap", "grades": {"a": 1}},
    )
    found = [(fault.line, fault.code) for fault in golden_faults(path)]
    assert found == [
        (1, 1794000055),
        (1, 1794000056),
        (3, 0),
        (4, 0),
        (5, 0),
        (6, 1794000050),
        (6, 1794000051),
        (7, 0),
        (7, 0),
        (7, 1794000052),
        (7, 1794000053),
        (8, 0),
        (8, 0),
        (9, 1794000058),
        (10, 0),
        (10, 0),
        (10, 0),
        (10, 1794000054),
        (11, 0),
        (12, 0),
        (13, 0),
        (14, 0),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (GOOD | {"hardclass": "x"}, "unknown key 'hardclass'"),
        ({"id": "a", "form": "gap"}, "question is missing"),
        (GOOD | {"form": ["match"]}, "form is ['match']: it is `match` or `gap`"),
        (GOOD | {"expectedDocumentIds": [7]}, "expectedDocumentIds is neither text nor a tagged byte string"),
        (b'{"id": "\\ud800", "question": "Q", "form": "gap"}', "id is text with a lone surrogate"),
        (b"[" * 100_000, "is not a JSON object"),
    ],
)
def test_a_fault_says_what_is_wrong(tmp_path: Path, line: Any, problem: str) -> None:
    faults = golden_faults(lines_file(tmp_path, GOOD | {"id": "q0"}, line))
    assert len(faults) == 1
    assert faults[0].line == 2
    assert faults[0].problem.startswith(problem)


def test_reading_a_faulty_file_tells_the_first_fault_and_how_to_see_all(tmp_path: Path) -> None:
    path = lines_file(tmp_path, GOOD, GOOD, {"id": ""})
    with pytest.raises(
        GoldenSetError, match=r"office-faq\.jsonl: line 2: .*line 1 again.*golden check"
    ) as refused:
        read_golden(path)
    assert refused.value.code == 1794000058


def test_a_file_without_questions_is_a_fault_of_the_whole(tmp_path: Path) -> None:
    header = {"identifier": "office.faq", "name": "Office"}
    assert golden_faults(lines_file(tmp_path, header)) == [Fault(0, "the file has no questions", 1794000057)]


def test_a_file_that_cannot_be_read_or_written_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_golden(tmp_path / "nowhere.jsonl")
    question = GoldenQuestion("q1", "Q", Form.GAP)
    graded = GradedSet(GoldenQuestionSet("a", "A", "", (question,)))
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_golden(tmp_path / "file" / "set.jsonl", graded)


TEXTS = st.binary(min_size=1, max_size=6).map(byte_text)
QUESTIONS = st.builds(
    GoldenQuestion,
    TEXTS,
    TEXTS,
    st.sampled_from(Form),
    st.lists(TEXTS, max_size=3, unique=True).map(tuple),
    st.none() | TEXTS,
    st.none() | st.text(max_size=6),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("golden")


@given(st.lists(QUESTIONS, min_size=1, max_size=4, unique_by=lambda question: question.id))
def test_what_is_written_reads_back(folder: Path, questions: list[GoldenQuestion]) -> None:
    graded = GradedSet(GoldenQuestionSet("any.set", "Any", "of bytes", tuple(questions)))
    path = folder / "any.jsonl"
    write_golden(path, graded)
    assert golden_faults(path) == []
    assert read_golden(path) == graded


def test_grades_read_back(tmp_path: Path) -> None:
    question = GoldenQuestion("q1", "Q", Form.GAP, ("a",))
    graded = GradedSet(GoldenQuestionSet("a", "A", "", (question,)), {"q1": {"a": 2, "b": 1}})
    write_golden(tmp_path / "a.jsonl", graded)
    assert read_golden(tmp_path / "a.jsonl") == graded


def test_the_sets_of_a_folder_are_found_by_identifier(tmp_path: Path) -> None:
    lines_file(tmp_path, GOOD, name="b.jsonl")
    lines_file(tmp_path, {"identifier": "first", "name": "F"}, GOOD, name="a.jsonl")
    assert golden_sets(tmp_path).identifiers() == ["first", "b"]
    lines_file(tmp_path, {"identifier": "first", "name": "F"}, GOOD, name="c.jsonl")
    with pytest.raises(RegistryError):
        golden_sets(tmp_path)


def test_the_projects_golden_set_asks_about_topics_that_this_python_has() -> None:
    path = ROOT / "golden" / "python-topics.jsonl"
    assert golden_faults(path) == []
    questions = read_golden(path).golden.questions
    targets = {target for question in questions for target in question.expected_document_ids}
    assert targets <= {f"python-topics/{topic}" for topic in topics}
    answerable = [question for question in questions if not question.expects_no_result]
    assert len(answerable) >= 60
    assert len(questions) - len(answerable) >= 15
    assert {question.form for question in answerable} == set(Form)
    assert {question.form for question in questions if question.expects_no_result} == set(Form)
    assert all(question.hard_class for question in questions)
