"""The search keeps what it reaches on public sets, and its figures are those of the metrics library alone."""

from pathlib import Path

import ir_measures
import pytest

from bench.retrieval_quality import measured


@pytest.mark.slow
def test_scifact_reaches_its_figure_and_an_independent_run_agrees(shared_data: Path, tmp_path: Path) -> None:
    result = measured("scifact", shared_data, tmp_path)
    metrics = result.run.summary().metrics
    assert metrics is not None
    assert metrics.ndcg >= 0.68
    alone = ir_measures.calc_aggregate(
        [ir_measures.parse_measure("nDCG@10")],
        list(ir_measures.read_trec_qrels(str(tmp_path / "qrels.trec"))),
        list(ir_measures.read_trec_run(str(tmp_path / "run.trec"))),
    )
    assert list(alone.values()) == [pytest.approx(metrics.ndcg, abs=1e-12)]


@pytest.mark.slow
def test_documentation_questions_lead_to_the_page_that_answers_them(shared_data: Path) -> None:
    summary = measured("docs_faq", shared_data).run.summary()
    assert summary.all.top1_rate >= 0.65
    assert summary.all.top3_rate >= 0.85
