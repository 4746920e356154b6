"""Golden sets as JSON Lines: an optional header object, then one question a line.

A header has `identifier`, `name` and `description`; a question `id`, `question`, `form` and, where they apply,
`expectedDocumentIds`, `hardClass`, `answerGist` and `grades` (document id -> whole number from 1 up). Texts that
are not UTF-8 are written as `retrieval-bytes-v1` objects.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arborist.errors import InputError
from arborist.evaluation.bytestrings import tagged, text_bytes, untagged
from arborist.evaluation.errors import GoldenSetError
from arborist.evaluation.golden import (
    DUPLICATE_QUESTION,
    NO_QUESTIONS,
    Form,
    GoldenQuestion,
    GoldenQuestionSet,
    GoldenSetRegistry,
    GradedSet,
    header_rules_broken,
    text_rules_broken,
)

HEADER_KEYS = {"identifier", "name", "description"}
QUESTION_KEYS = {"id", "question", "form", "expectedDocumentIds", "hardClass", "answerGist", "grades"}
REQUIRED_KEYS = ("id", "question", "form")
WHOLE_FILE = 0
STAND_IN = "?"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong on a line (1 and up, 0 for the file as a whole), with the number of the broken rule or 0."""

    line: int
    problem: str
    code: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


@dataclass(slots=True)
class _Reading:
    """What has been gathered of a file so far; `lines` are those on which a question id was first seen."""

    identifier: str
    name: str
    description: str = ""
    questions: list[GoldenQuestion] = field(default_factory=list)
    grades: dict[str, dict[str, int]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    has_begun: bool = False


def golden_faults(path: Path) -> list[Fault]:
    """Every fault of a golden set file, in the order of its lines. Raises InputError if it cannot be read."""
    return _read(path).faults


def read_golden(path: Path) -> GradedSet:
    """The golden set of a file. Raises GoldenSetError for the first of its faults, with the number of all."""
    reading = _read(path)
    if reading.faults:
        first, more = reading.faults[0], len(reading.faults) - 1
        others = f" (and {more} more: `arborist golden check` lists all)" if more else ""
        raise GoldenSetError(f"{path}: {first}{others}", first.code)
    golden = GoldenQuestionSet(reading.identifier, reading.name, reading.description, tuple(reading.questions))
    return GradedSet(golden, reading.grades)


def set_identifier(path: Path) -> str:
    """The identifier of a set whose file has no header: the file's name in the letters that are allowed."""
    return re.sub(r"[^a-z0-9_]+", "_", path.stem.lower())


def golden_sets(folder: Path) -> GoldenSetRegistry:
    """The sets of all `*.jsonl` files of a folder, by file name. Raises GoldenSetError, RegistryError."""
    return GoldenSetRegistry([[read_golden(path) for path in sorted(folder.glob("*.jsonl"))]])


def write_golden(path: Path, graded: GradedSet) -> None:
    """Write a set with its header, whole or not at all. Raises InputError where the file cannot be written."""
    beside = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in golden_lines(graded))
        beside.replace(path)
    except OSError as error:
        raise InputError.at(path, "", f"cannot be written: {os.strerror(error.errno or 0)}") from error


def golden_lines(graded: GradedSet) -> Iterator[dict[str, Any]]:
    """The objects of a golden set file, one a line."""
    golden = graded.golden
    yield {"identifier": golden.identifier, "name": golden.name, "description": golden.description}
    for question in golden.questions:
        line: dict[str, Any] = {
            "id": _tagged(question.id),
            "question": _tagged(question.question),
            "form": question.form.value,
            "expectedDocumentIds": [_tagged(target) for target in question.expected_document_ids],
        }
        if question.hard_class is not None:
            line["hardClass"] = _tagged(question.hard_class)
        if question.answer_gist is not None:
            line["answerGist"] = question.answer_gist
        if question.id in graded.grades:
            line["grades"] = dict(graded.grades[question.id])
        yield line


def _tagged(text: str) -> str | dict[str, str]:
    return tagged(text_bytes(text))


def _read(path: Path) -> _Reading:
    reading = _Reading(identifier=set_identifier(path), name=path.stem)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    _read_line(reading, number, line)
                    reading.has_begun = True
    except OSError as error:
        raise InputError.at(path, "", f"cannot be read: {os.strerror(error.errno or 0)}") from error
    if not reading.questions and not reading.faults:
        reading.faults.append(Fault(WHOLE_FILE, "the file has no questions", NO_QUESTIONS))
    return reading


def _read_line(reading: _Reading, number: int, text: bytes) -> None:
    try:
        line = _Line(number, _json_object(text))
    except InputError as error:
        reading.faults.append(Fault(number, str(error)))
        return
    if not reading.has_begun and "identifier" in line.value:
        _read_header(reading, line)
    else:
        _read_question(reading, line)
    reading.faults += line.faults


def _json_object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_without_repeated_keys)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8") from None
    except (json.JSONDecodeError, RecursionError):
        raise InputError("is not a JSON object") from None
    if not isinstance(value, dict):
        raise InputError("is not a JSON object")
    return value


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InputError("has a key twice")
    return value


@dataclass(slots=True)
class _Line:
    """One line's object, and the faults found in it."""

    number: int
    value: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)

    def note(self, problem: str, code: int = 0) -> None:
        self.faults.append(Fault(self.number, problem, code))

    def check_keys(self, known: Iterable[str], required: Iterable[str]) -> None:
        for key in self.value:
            if key not in known:
                self.note(f"unknown key {key!r} (known: {', '.join(sorted(known))})")
        for key in required:
            if key not in self.value:
                self.note(f"{key} is missing")

    def text(self, key: str) -> str | None:
        """The text under `key`; None, with a fault noted, for anything else."""
        return self.as_text(key, self.value[key]) if key in self.value else None

    def as_text(self, key: str, value: Any) -> str | None:
        try:
            return untagged(value)
        except InputError as error:
            self.note(f"{key} is {error}")
            return None

    def optional_text(self, key: str) -> str | None:
        return None if self.value.get(key) is None else self.text(key)

    def items(self, key: str) -> list[Any]:
        value = self.value.get(key, [])
        if isinstance(value, list):
            return value
        self.note(f"{key} is not a list")
        return []

    def form(self) -> Form:
        value = self.value.get("form", Form.MATCH.value)
        if value in [form.value for form in Form]:
            return Form(value)
        self.note(f"form is {value!r}: it is `match` or `gap`")
        return Form.MATCH


def _read_header(reading: _Reading, line: _Line) -> None:
    line.check_keys(HEADER_KEYS, ("identifier", "name"))
    identifier, name = line.text("identifier"), line.text("name")
    description = line.optional_text("description") or ""
    if identifier is None or name is None:
        return
    for code, problem in header_rules_broken(identifier, name):
        line.note(problem, code)
    if not line.faults:
        reading.identifier, reading.name, reading.description = identifier, name, description


def _read_question(reading: _Reading, line: _Line) -> None:
    line.check_keys(QUESTION_KEYS, REQUIRED_KEYS)
    question_id, question, form = line.text("id"), line.text("question"), line.form()
    targets = [line.as_text("expectedDocumentIds", item) for item in line.items("expectedDocumentIds")]
    expected = tuple(target for target in targets if target is not None)
    hard_class, gist = line.optional_text("hardClass"), line.optional_text("answerGist")
    grades = _grades(line, expected)
    if question_id is not None:
        _note_repeated(reading, line, question_id)
    # What is no text has been noted as such: a stand-in keeps it from breaking further rules.
    known_id, known_question = (STAND_IN if text is None else text for text in (question_id, question))
    for code, problem in text_rules_broken(known_id, known_question, expected, hard_class):
        line.note(problem, code)
    if not line.faults:
        reading.questions.append(GoldenQuestion(known_id, known_question, form, expected, hard_class, gist))
        if grades:
            reading.grades[known_id] = grades


def _note_repeated(reading: _Reading, line: _Line, question_id: str) -> None:
    first = reading.lines.setdefault(question_id, line.number)
    if first != line.number:
        line.note(f"the question id of line {first} again", DUPLICATE_QUESTION)


def _grades(line: _Line, expected: Sequence[str]) -> dict[str, int]:
    grades = line.value.get("grades")
    if grades is None:
        return {}
    if not isinstance(grades, dict) or not all(_is_grade(grade) for grade in grades.values()):
        line.note("grades is not an object of whole numbers from 1 up")
        return {}
    if not expected:
        line.note("grades on a question that expects no document")
    if missing := sorted(set(expected) - set(grades)):
        line.note(f"no grade for the expected document {missing[0]!r}")
    return grades


def _is_grade(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
