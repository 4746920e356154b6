"""How well the extractive model tells questions it can answer from those it cannot, on squad2_wiki.

`python -m bench.abstention DATA` prints the table, `--fit` the weights that the tuning half gives.
"""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw
import numpy as np
from scipy.optimize import minimize

from arborist.answering.answerability import FEATURE_SIGNS, Features
from arborist.answering.extractive import ExtractiveModel, best_features
from arborist.answering.model import ModelAnswer
from arborist.retrieval.context import Evidence
from bench.halves import Half, half_of

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question of squad2_wiki with its own paragraph as the evidence; `answers` is empty when there is none."""

    identifier: str
    question: str
    evidence: tuple[Evidence, ...]
    answers: tuple[str, ...]

    @property
    def half(self) -> Half:
        return half_of(self.identifier)


@dataclass(frozen=True, slots=True)
class AbstentionFigures:
    """Counts of one way to decide; shares are 0 to 1."""

    answerable_answered: int
    answerable_abstained: int
    unanswerable_answered: int
    unanswerable_abstained: int

    @property
    def balanced_accuracy(self) -> float:
        answered = self.answerable_answered / (self.answerable_answered + self.answerable_abstained)
        abstained = self.unanswerable_abstained / (self.unanswerable_answered + self.unanswerable_abstained)
        return (answered + abstained) / 2

    @classmethod
    def of(cls, questions: Sequence[LabelledQuestion], answered: Sequence[bool]) -> "AbstentionFigures":
        pairs = [(bool(item.answers), did) for item, did in zip(questions, answered, strict=True)]
        return cls(
            pairs.count((True, True)),
            pairs.count((True, False)),
            pairs.count((False, True)),
            pairs.count((False, False)),
        )


def labelled_questions(folder: Path) -> list[LabelledQuestion]:
    """All questions of `folder/questions.jsonl` with their paragraphs."""
    documents = {
        row["doc_id"]: _evidence(row)
        for row in map(json.loads, (folder / "docs_gold.jsonl").read_text(encoding="utf-8").splitlines())
    }
    rows = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return [
        LabelledQuestion(
            row["qid"],
            row["question"],
            (documents[row["doc_id"]],),
            tuple(answer["text"] for answer in row["answers"]),
        )
        for row in rows
    ]


def _evidence(row: dict[str, str]) -> Evidence:
    return Evidence(1, row["doc_id"], 0, "", "primary", "bench", row["doc_id"], row["title"], row["text"])


def abstention_report(folder: Path) -> dict[str, object]:
    """Each way to decide on each half: counts, balanced accuracy, and the share of answers with a gold text."""
    questions = labelled_questions(folder)
    model = ExtractiveModel()
    replies = [model.answer(item.question, item.evidence) for item in questions]
    answered = [not reply.abstained for reply in replies]
    scores = retrieval_scores(questions)
    threshold = _best_threshold(
        [(score, bool(q.answers)) for score, q in zip(scores, questions, strict=True) if q.half == "tune"]
    )
    ways = {
        "extractive": answered,
        "always answer": [True] * len(questions),
        "threshold on the score": [score >= threshold for score in scores],
    }
    report: dict[str, object] = {}
    for half in ("tune", "report", "all"):
        mask = [half in (item.half, "all") for item in questions]
        chosen = [item for item, keep in zip(questions, mask, strict=True) if keep]
        figures = {
            way: AbstentionFigures.of(chosen, [did for did, keep in zip(decided, mask, strict=True) if keep])
            for way, decided in ways.items()
        }
        report[half] = {
            way: asdict(counts) | {"balanced_accuracy": counts.balanced_accuracy}
            for way, counts in figures.items()
        } | {"answers_with_gold_text": _gold_share(questions, replies, mask)}
    return report


def _gold_share(
    questions: Sequence[LabelledQuestion], replies: Sequence[ModelAnswer], mask: Sequence[bool]
) -> float:
    """Of the answerable questions that were answered, the share whose answer holds a gold text."""
    held = [
        any(" ".join(gold.split()) in reply.text for gold in item.answers)
        for item, reply, keep in zip(questions, replies, mask, strict=True)
        if keep and item.answers and not reply.abstained
    ]
    return sum(held) / len(held) if held else 0.0


def retrieval_scores(questions: Sequence[LabelledQuestion]) -> list[float]:
    """BM25 of each question for its own paragraph, as FTS5 gives it over all paragraphs; higher is better."""
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE paragraphs USING fts5(title, text, tokenize='porter')")
    documents = {item.evidence[0].document_root: item.evidence[0] for item in questions}
    rows = {root: number for number, root in enumerate(documents, start=1)}
    database.executemany(
        "INSERT INTO paragraphs(rowid, title, text) VALUES (?, ?, ?)",
        [(rows[root], item.title, item.text) for root, item in documents.items()],
    )
    return [_score(database, item.question, rows[item.evidence[0].document_root]) for item in questions]


def _score(database: apsw.Connection, question: str, row: int) -> float:
    query = " OR ".join(f'"{word}"' for word in sorted(set(_WORD.findall(question.lower()))))
    found = database.execute(
        "SELECT -bm25(paragraphs) FROM paragraphs WHERE paragraphs MATCH ? AND rowid = ?", (query, row)
    ).fetchone()
    return float(found[0]) if found else 0.0


def _best_threshold(scored: Sequence[tuple[float, bool]]) -> float:
    """The threshold of the best balanced accuracy on the given rows."""
    positives = sum(label for _, label in scored)
    negatives = len(scored) - positives
    above = [positives, negatives]
    best = (0.5, -np.inf)
    for score, label in sorted(scored):
        best = max(best, ((above[0] / positives + 1 - above[1] / negatives) / 2, score))
        above[0 if label else 1] -= 1
    return float(best[1])


def fitted_weights(questions: Sequence[LabelledQuestion], penalty: float = 5.0) -> tuple[Features, float]:
    """Logistic weights and bias from the tuning half, classes weighted equally, signs held to FEATURE_SIGNS."""
    found = [
        (features.values(), float(bool(item.answers)))
        for item in questions
        if item.half == "tune" and (features := best_features(item.question, item.evidence)) is not None
    ]
    measured = np.array([values for values, _ in found])
    labels = np.array([label for _, label in found])
    weights = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))
    mean, spread = measured.mean(0), measured.std(0) + 1e-9
    rows = np.c_[(measured - mean) / spread, np.ones(len(measured))]

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        margin = rows @ beta
        value = (weights * (np.logaddexp(0, margin) - labels * margin)).sum() + penalty * (
            beta[:-1] ** 2
        ).sum() / 2
        slope = rows.T @ (weights * (1 / (1 + np.exp(-margin)) - labels)) + np.append(penalty * beta[:-1], 0)
        return value, slope

    bounds = [(0, None) if sign > 0 else (None, 0) for sign in FEATURE_SIGNS.values()] + [(None, None)]
    beta = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    scaled = beta[:-1] / spread
    return Features(*(round(float(weight), 2) for weight in scaled)), round(float(beta[-1] - mean @ scaled), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds squad2_wiki")
    parser.add_argument("--fit", action="store_true", help="print the weights that the tuning half gives")
    arguments = parser.parse_args()
    folder = arguments.data / "squad2_wiki"
    if arguments.fit:
        print(*fitted_weights(labelled_questions(folder)), sep="\n")
    else:
        print(json.dumps(abstention_report(folder), indent=2))


if __name__ == "__main__":
    main()
