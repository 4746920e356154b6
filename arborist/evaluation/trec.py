"""A run and its judgements as TREC files, so that another program can compute the metrics again."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_from_bytes

from arborist.errors import InputError
from arborist.evaluation.bytestrings import is_utf8, text_bytes
from arborist.evaluation.golden import GradedSet
from arborist.evaluation.run import EvaluationRun

RUN_FILE = "run.trec"
QRELS_FILE = "qrels.trec"


def run_lines(run: EvaluationRun) -> Iterator[str]:
    """`question Q0 document rank score tag` for each ranked document; scores only restate the ranks."""
    tag = _field(run.retriever_identifier)
    for evaluation in run.evaluations:
        depth = len(evaluation.ranking)
        for rank, document in enumerate(evaluation.ranking, start=1):
            yield f"{_field(evaluation.question_id)} Q0 {_field(document)} {rank} {depth - rank + 1} {tag}"


def qrels_lines(graded: GradedSet) -> Iterator[str]:
    """`question 0 document grade` for every relevant document; questions that expect none have no line."""
    for question in graded.golden.questions:
        for document, grade in graded.relevance(question).items():
            yield f"{_field(question.id)} 0 {_field(document)} {grade}"


def write_trec(folder: Path, graded: GradedSet, run: EvaluationRun) -> tuple[Path, Path]:
    """Write `run.trec` and `qrels.trec` into a folder. Raises InputError where that is not possible."""
    files = {folder / RUN_FILE: run_lines(run), folder / QRELS_FILE: qrels_lines(graded)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, lines in files.items():
            with path.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(line + "\n" for line in lines)
    except OSError as error:
        raise InputError.at(folder, "", f"cannot be written: {os.strerror(error.errno or 0)}") from error
    return folder / RUN_FILE, folder / QRELS_FILE


def _field(text: str) -> str:
    """A text as one field: percent-encoded where it holds blanks, a percent sign, or bytes that are not UTF-8."""
    data = text_bytes(text)
    if is_utf8(data) and text.isprintable() and not any(c.isspace() or c == "%" for c in text):
        return text
    return quote_from_bytes(data, safe="/:")
