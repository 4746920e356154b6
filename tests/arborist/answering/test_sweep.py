"""The question sweep: each question bare and with its keywords."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from arborist.answering.ask import Asker, open_asker
from arborist.answering.sweep import Sweep, SweepQuestion, SweepRow, read_questions, sweep, write_sweep
from arborist.errors import InputError
from arborist.providence.ledger import Ledger
from arborist.workspace import Workspace

QUESTIONS = [
    SweepQuestion("How long is the bridge over the river?", ("steel",)),
    SweepQuestion("When was the bridge opened?", ("opening", "first train")),
]


@pytest.fixture
def asker(workspace: Workspace) -> Iterator[Asker]:
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        yield open_asker(workspace, ledger)


def row(audit_mode: str, *keywords: str) -> SweepRow:
    return SweepRow("q", keywords, audit_mode, False, "key", "root", "plan")


def test_every_question_is_asked_bare_and_then_with_its_keywords(asker: Asker) -> None:
    rows = sweep(QUESTIONS, asker).rows
    assert [item.question for item in rows] == [QUESTIONS[0].question] * 2 + [QUESTIONS[1].question] * 2
    assert [item.retrieval_keywords for item in rows] == [(), ("steel",), (), ("opening", "first train")]
    assert len({item.retrieval_plan_hash for item in rows}) == len({item.run_dag_root for item in rows}) == 4


def test_every_ask_is_recorded_as_any_other(asker: Asker) -> None:
    for item in sweep(QUESTIONS, asker).rows:
        record = asker.ledger.record(item.cache_key)
        assert record is not None
        assert record.audit_mode == item.audit_mode


def test_lift_is_the_growth_of_the_strict_share() -> None:
    rows = (
        row("HYBRID"),
        row("STRICT", "a"),
        row("STRICT"),
        row("STRICT", "b"),
        row("STRICT"),
        row("HYBRID", "c"),
    )
    result = Sweep((*rows, row("UNGROUNDED"), row("STRICT", "d")))
    assert result.counts("bare") == {"STRICT": 2, "HYBRID": 1, "UNGROUNDED": 1}
    assert result.counts("with_keywords") == {"STRICT": 3, "HYBRID": 1, "UNGROUNDED": 0}
    assert result.lift == 0.25


def test_the_parquet_file_has_the_column_retrieval_keywords(tmp_path: Path) -> None:
    path = tmp_path / "sweeps" / "s.parquet"
    write_sweep(Sweep((row("STRICT"), row("HYBRID", "ä", "b c"))), path)
    table = pyarrow.parquet.read_table(path).to_pylist()
    assert [item["retrieval_keywords"] for item in table] == [[], ["ä", "b c"]]
    assert [item["audit_mode"] for item in table] == ["STRICT", "HYBRID"]


def test_questions_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    lines = [
        json.dumps({"question": q.question, "retrieval_keywords": list(q.retrieval_keywords)}) for q in QUESTIONS
    ]
    path.write_text("\n\n".join(lines), "utf-8")
    assert read_questions(path) == QUESTIONS


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        ('{"retrieval_keywords": ["a"]}', "`question` is missing"),
        ('{"question": " ", "retrieval_keywords": ["a"]}', "`question` is missing"),
        ('{"question": "q"}', "`retrieval_keywords` is not a list"),
        ('{"question": "q", "retrieval_keywords": []}', "`retrieval_keywords` is not a list"),
        ('{"question": "q", "retrieval_keywords": ["a", " "]}', "`retrieval_keywords` is not a list"),
        ('{"question": "q", "retrieval_keywords": "a"}', "`retrieval_keywords` is not a list"),
        ("[" * 100_000, "not a JSON object"),
    ],
)
def test_a_line_that_cannot_be_asked_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "q", "retrieval_keywords": ["a"]}\n' + line + "\n")
    with pytest.raises(InputError, match="line 2") as error:
        read_questions(path)
    assert problem in str(error.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"", b"\n\n"])
def test_a_file_without_questions_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "q.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"q\.jsonl"):
        read_questions(path)
