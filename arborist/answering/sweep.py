"""The question sweep: each question asked bare and with its keywords, so that what keywords gain is a figure."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arborist import progress
from arborist.answering.ask import Asker
from arborist.answering.model import HYBRID, STRICT, UNGROUNDED
from arborist.errors import InputError
from arborist.files import replacing
from arborist.retrieval.retrieve import Query

MODES = (STRICT, HYBRID, UNGROUNDED)
BARE, WITH_KEYWORDS = "bare", "with_keywords"


@dataclass(frozen=True, slots=True)
class SweepQuestion:
    """A question of a sweep and the keywords it is asked with the second time."""

    question: str
    retrieval_keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One ask of the sweep; `retrieval_keywords` is empty where it was asked bare."""

    question: str
    retrieval_keywords: tuple[str, ...]
    audit_mode: str
    cache_hit: bool
    cache_key: str
    run_dag_root: str
    retrieval_plan_hash: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """All asks of a sweep, each question bare first."""

    rows: tuple[SweepRow, ...]

    def counts(self, variant: str) -> dict[str, int]:
        """How many answers of each verdict the variant (`bare`, `with_keywords`) got."""
        seen = Counter(row.audit_mode for row in self.rows if bool(row.retrieval_keywords) == (variant != BARE))
        return {mode: seen[mode] for mode in MODES}

    @property
    def questions(self) -> int:
        return len(self.rows) // 2

    @property
    def lift(self) -> float:
        """By how much the share of STRICT answers grows with keywords, between -1 and 1."""
        return (self.counts(WITH_KEYWORDS)[STRICT] - self.counts(BARE)[STRICT]) / self.questions

    def to_json(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            BARE: self.counts(BARE),
            WITH_KEYWORDS: self.counts(WITH_KEYWORDS),
            "lift": self.lift,
            "rows": [
                {name: getattr(row, name) for name in SweepRow.__slots__}
                | {"retrieval_keywords": list(row.retrieval_keywords)}
                for row in self.rows
            ],
        }


def read_questions(path: Path, least_keywords: int = 1) -> list[SweepQuestion]:
    """The questions of a JSON Lines file: `question`, and `retrieval_keywords`, `least_keywords` or more.

    Where none is needed, the list may be left out.

    Raises InputError that names the file, the line and what is wrong with it.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(path, "", "cannot be read as UTF-8 text", "give a JSON Lines file") from error
    questions = [
        _question(path, number, line, least_keywords) for number, line in enumerate(lines, start=1) if line.strip()
    ]
    if not questions:
        raise InputError.at(
            path, "", "holds no question", 'a line is {"question": ..., "retrieval_keywords": [...]}'
        )
    return questions


def _question(path: Path, number: int, line: str, least_keywords: int) -> SweepQuestion:
    place, remedy = f"line {number}", 'write {"question": "...", "retrieval_keywords": ["..."]}'
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError.at(path, place, "not a JSON object", remedy) from error
    if not isinstance(value, dict):
        raise InputError.at(path, place, "not a JSON object", remedy)
    question, keywords = value.get("question"), value.get("retrieval_keywords", [])
    if not isinstance(question, str) or not question.strip():
        raise InputError.at(path, place, "`question` is missing or not text", remedy)
    if (
        not isinstance(keywords, list)
        or len(keywords) < least_keywords
        or not all(isinstance(k, str) and k.strip() for k in keywords)
    ):
        raise InputError.at(
            path, place, f"`retrieval_keywords` is not a list of {least_keywords} texts or more", remedy
        )
    return SweepQuestion(question, tuple(keywords))


def sweep(questions: Sequence[SweepQuestion], asker: Asker) -> Sweep:
    """Ask every question twice. Answers are recorded as any other."""
    return Sweep(tuple(row for question in questions for row in _asked(question, asker)))


def _asked(question: SweepQuestion, asker: Asker) -> Iterator[SweepRow]:
    for keywords in ((), question.retrieval_keywords):
        reply = asker.ask(Query(question.question, keywords))
        progress.done(question.question)
        yield SweepRow(
            question=question.question,
            retrieval_keywords=keywords,
            audit_mode=reply.audit_mode,
            cache_hit=reply.cache_hit,
            cache_key=reply.record.cache_key,
            run_dag_root=reply.run_dag_root,
            retrieval_plan_hash=reply.retrieval_plan.digest(),
        )


def write_sweep(result: Sweep, path: Path) -> None:
    """Write the rows as a Parquet file, whole or not at all."""
    import pyarrow
    import pyarrow.parquet

    with replacing(path) as partial:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(result.to_json()["rows"]), partial)
