"""nDCG@10, recall@10 and MRR@10 beside the protocol's figures; they never enter a fingerprint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arborist.evaluation.protocol import METRIC_DEPTH


@dataclass(frozen=True, slots=True)
class QuestionMetrics:
    """One question's figures over its first ten distinct documents, each from 0 to 1."""

    ndcg: float
    recall: float
    reciprocal_rank: float


@dataclass(frozen=True, slots=True)
class MeanMetrics:
    """Means over the questions that expect an answer: nDCG@10, recall@10 and MRR@10."""

    ndcg: float
    recall: float
    mrr: float


def question_metrics(
    rankings: Sequence[Sequence[str]], relevances: Sequence[Mapping[str, int]]
) -> list[QuestionMetrics]:
    """Figures of each ranking (distinct document ids, best first) under its grades (document id -> 1 and up)."""
    # Loaded here because the library costs more than the command line's start allows.
    import ir_measures
    from ir_measures import RR, R, nDCG

    measures = {"ndcg": nDCG @ METRIC_DEPTH, "recall": R @ METRIC_DEPTH, "reciprocal_rank": RR @ METRIC_DEPTH}
    qrels, scored = [], []
    for number, (ranking, relevance) in enumerate(zip(rankings, relevances, strict=True)):
        # The library takes no ids that are not UTF-8, so questions and documents go by number.
        numbers = {document: str(n) for n, document in enumerate([*relevance, *ranking])}
        for document, grade in relevance.items():
            qrels.append(ir_measures.Qrel(str(number), numbers[document], grade))
        for rank, document in enumerate(ranking[:METRIC_DEPTH]):
            scored.append(ir_measures.ScoredDoc(str(number), numbers[document], float(METRIC_DEPTH - rank)))
    values: list[dict[str, float]] = [dict.fromkeys(measures, 0.0) for _ in rankings]
    for metric in ir_measures.iter_calc(list(measures.values()), qrels, scored):
        name = next(name for name, measure in measures.items() if measure == metric.measure)
        values[int(metric.query_id)][name] = metric.value
    return [QuestionMetrics(**value) for value in values]


def mean_metrics(metrics: Sequence[QuestionMetrics]) -> MeanMetrics | None:
    """Means of the figures; None for no questions, which have no mean."""
    if not metrics:
        return None
    count = len(metrics)
    return MeanMetrics(
        ndcg=sum(metric.ndcg for metric in metrics) / count,
        recall=sum(metric.recall for metric in metrics) / count,
        mrr=sum(metric.reciprocal_rank for metric in metrics) / count,
    )
