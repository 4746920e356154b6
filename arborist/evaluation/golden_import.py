"""Golden sets out of other people's files: BEIR folders, TREC topics and judgements, SQuAD question files."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arborist.errors import InputError
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet

_TOPIC = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_TOPIC_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
_TOPIC_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]+)", re.IGNORECASE)

Judgements = dict[str, dict[str, int]]
"""Question id -> document id -> grade above zero."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the foreign formats do not say.

    `form` of every question; `document_prefix` turns their document ids into those of the corpus; documents
    below `min_grade` are relevant to nDCG but no targets; `split` picks one of several BEIR judgement files.
    """

    form: Form = Form.MATCH
    document_prefix: str = ""
    min_grade: int = 1
    split: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A set made of foreign files, and how many of their questions were left out, by reason."""

    graded: GradedSet
    left_out: Mapping[str, int] = field(default_factory=dict)


def beir_set(folder: Path, identifier: str, options: ImportOptions) -> Imported:
    """A set of a BEIR folder: `queries.jsonl` and `qrels/<split>.tsv`. Raises InputError with file and line."""
    queries: dict[str, str] = {}
    path = folder / "queries.jsonl"
    for number, row in _json_lines(path):
        queries[_text(path, number, row, "_id")] = _text(path, number, row, "text")
    qrels = _qrels_file(sorted((folder / "qrels").glob("*.tsv")), folder / "qrels", options.split)
    return _judged_set(identifier, folder.name, queries, _tsv_judgements(qrels), options)


def trec_set(folder: Path, identifier: str, options: ImportOptions) -> Imported:
    """A set of TREC files, `topics*` (tagged or tab-separated) and `qrels*`. Raises InputError with the place."""
    topics = _only_file(folder, "topics*")
    qrels = _only_file(folder, "qrels*")
    return _judged_set(identifier, folder.name, _topics(topics), _trec_judgements(qrels), options)


def squad_set(file: Path, identifier: str, options: ImportOptions) -> Imported:
    """A set of SQuAD questions, whose targets are their own paragraphs.

    Either SQuAD's JSON, where a paragraph's id is `<title>-<number in its article, from 001>` in lower case, or
    JSON Lines with `qid`, `question`, `doc_id` and `answerable`. Questions that their paragraph does not answer
    are left out: another document of the corpus might. Raises InputError with file and place.
    """
    rows = list(_squad_lines(file) if file.suffix == ".jsonl" else _squad_articles(file))
    questions = [
        GoldenQuestion(question_id, question, options.form, (options.document_prefix + document,))
        for question_id, question, document in rows
        if document is not None
    ]
    left_out = {"not answered by their paragraph": len(rows) - len(questions)}
    return _imported(file, identifier, file.stem, questions, {}, left_out)


def _judged_set(
    identifier: str, name: str, queries: Mapping[str, str], judgements: Judgements, options: ImportOptions
) -> Imported:
    questions: list[GoldenQuestion] = []
    grades: Judgements = {}
    for query_id, text in queries.items():
        graded = {
            options.document_prefix + document: grade for document, grade in judgements.get(query_id, {}).items()
        }
        targets = tuple(document for document, grade in graded.items() if grade >= options.min_grade)
        if not targets:
            continue
        questions.append(GoldenQuestion(query_id, text, options.form, targets))
        if set(graded.values()) != {1}:
            grades[query_id] = graded
    left_out = {"without a relevant document": len(queries) - len(questions)}
    return _imported(Path(name), identifier, name, questions, grades, left_out)


def _imported(
    path: Path,
    identifier: str,
    name: str,
    questions: list[GoldenQuestion],
    grades: Judgements,
    left_out: dict[str, int],
) -> Imported:
    if not questions:
        raise InputError.at(path, "", "no question has a document that answers it", "see --split and --min-grade")
    golden = GoldenQuestionSet(identifier, name, f"imported from {name}", tuple(questions))
    return Imported(GradedSet(golden, grades), {reason: count for reason, count in left_out.items() if count})


def _qrels_file(found: list[Path], folder: Path, split: str | None) -> Path:
    names = [path.stem for path in found]
    wanted = split or ("test" if "test" in names else names[0] if len(names) == 1 else "")
    if wanted not in names:
        raise InputError.at(
            folder, "", f"has judgements for {', '.join(names) or 'nothing'}", "choose with --split"
        )
    return found[names.index(wanted)]


def _only_file(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise InputError.at(folder, "", f"holds {len(found)} files {pattern}", "exactly one is needed")
    return found[0]


def _tsv_judgements(path: Path) -> Judgements:
    rows = ((number, line.split("\t")) for number, line in _lines(path) if number > 1)
    return _judgements(path, ((number, row) for number, row in rows), 3, lambda row: (row[0], row[1], row[2]))


def _trec_judgements(path: Path) -> Judgements:
    rows = ((number, line.split()) for number, line in _lines(path))
    return _judgements(path, rows, 4, lambda row: (row[0], row[2], row[3]))


def _judgements(
    path: Path,
    rows: Iterable[tuple[int, list[str]]],
    width: int,
    fields: Callable[[list[str]], tuple[str, str, str]],
) -> Judgements:
    judgements: Judgements = {}
    for number, row in rows:
        if len(row) != width:
            raise InputError.at(path, f"line {number}", f"has {len(row)} fields where {width} are expected")
        query, document, grade = fields(row)
        if not re.fullmatch(r"-?[0-9]+", grade, re.ASCII):
            raise InputError.at(path, f"line {number}", f"the grade {grade!r} is not a whole number")
        if int(grade) > 0:
            judgements.setdefault(query, {})[document] = int(grade)
    return judgements


def _topics(path: Path) -> dict[str, str]:
    text = "\n".join(line for _, line in _lines(path))
    if "<top>" not in text.lower():
        return dict(_tab_separated_topics(path))
    topics: dict[str, str] = {}
    for ordinal, body in enumerate(_TOPIC.findall(text), start=1):
        number, title = _TOPIC_NUMBER.search(body), _TOPIC_TITLE.search(body)
        if number is None or title is None:
            raise InputError.at(path, f"topic {ordinal}", "has no <num> or no <title>")
        topics[number[1]] = " ".join(title[1].split())
    return topics


def _tab_separated_topics(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in _lines(path):
        query, tab, text = line.partition("\t")
        if not query or not tab or not text.strip():
            raise InputError.at(path, f"line {number}", "is not an id, a tab and a question")
        yield query, text.strip()


def _squad_lines(path: Path) -> Iterator[tuple[str, str, str | None]]:
    for number, row in _json_lines(path):
        document = _text(path, number, row, "doc_id")
        answerable = row.get("answerable", True)
        if not isinstance(answerable, bool):
            raise InputError.at(path, f"line {number}", "answerable is not true or false")
        yield (
            _text(path, number, row, "qid"),
            _text(path, number, row, "question"),
            document if answerable else None,
        )


def _squad_articles(path: Path) -> Iterator[tuple[str, str, str | None]]:
    try:
        for article in json.loads("\n".join(line for _, line in _lines(path)))["data"]:
            slug = re.sub(r"[^a-z0-9]+", "-", str(article["title"]).lower()).strip("-")
            for number, paragraph in enumerate(article["paragraphs"], start=1):
                for row in paragraph["qas"]:
                    is_answered = not row.get("is_impossible", False)
                    document = f"{slug}-{number:03}" if is_answered else None
                    yield str(row["id"]), str(row["question"]).strip(), document
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError.at(
            path, "", "is not SQuAD's JSON (data, paragraphs, qas with id and question)"
        ) from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError.at(path, "", "is not UTF-8") from error
    except OSError as error:
        raise InputError.at(path, "", f"cannot be read: {os.strerror(error.errno or 0)}") from error


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError.at(path, f"line {number}", "is not a JSON object")
        yield number, value


def _text(path: Path, number: int, row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError.at(path, f"line {number}", f"{key} is missing or not text")
    return value.strip()
