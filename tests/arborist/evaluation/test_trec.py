"""TREC files: another run of the metrics library over them gives the same figures."""

from pathlib import Path
from typing import Any

import ir_measures
import pytest
from ir_measures import RR, R, nDCG

from arborist.clock import FixedClock
from arborist.evaluation.bytestrings import byte_text
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.scoring import evaluate_retrieval
from arborist.evaluation.trec import qrels_lines, run_lines, write_trec

ODD = byte_text(b"100% \xff")
QUESTIONS = (
    GoldenQuestion("q 1", "one", Form.GAP, ("a", ODD)),
    GoldenQuestion("q2", "two", Form.GAP, ("Straße/ß",)),
    GoldenQuestion("q3", "three", Form.GAP),
    GoldenQuestion("q4", "four", Form.GAP, ("never",)),
)
GRADED = GradedSet(GoldenQuestionSet("office.test", "T", "", QUESTIONS), {"q 1": {"a": 3, ODD: 1, "b": 1}})
RANKINGS: dict[str, list[str] | Exception] = {
    "one": ["b", "x", ODD, "a"],
    "two": ["x", "Straße/ß"],
    "three": ["x"],
}


def test_the_library_finds_the_same_figures_in_the_files(table_retriever: Any, tmp_path: Path) -> None:
    run = evaluate_retrieval(GRADED, table_retriever(RANKINGS), FixedClock())
    run_file, qrels_file = write_trec(tmp_path / "trec", GRADED, run)
    qrels = list(ir_measures.read_trec_qrels(str(qrels_file)))
    found = ir_measures.calc_aggregate(
        [nDCG @ 10, R @ 10, RR @ 10], qrels, ir_measures.read_trec_run(str(run_file))
    )
    metrics = run.summary().metrics
    assert metrics is not None
    assert found[nDCG @ 10] == pytest.approx(metrics.ndcg)
    assert found[R @ 10] == pytest.approx(metrics.recall)
    assert found[RR @ 10] == pytest.approx(metrics.mrr)
    assert metrics.mrr == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_fields_that_hold_blanks_or_odd_bytes_are_percent_encoded(table_retriever: Any) -> None:
    run = evaluate_retrieval(GRADED, table_retriever(RANKINGS), FixedClock())
    assert list(run_lines(run))[2] == "q%201 Q0 100%25%20%FF 3 2 test.table"
    assert list(qrels_lines(GRADED)) == [
        "q%201 0 a 3",
        "q%201 0 100%25%20%FF 1",
        "q%201 0 b 1",
        "q2 0 Straße/ß 1",
        "q4 0 never 1",
    ]
