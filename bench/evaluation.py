"""How long a golden set of 1,000 questions takes over 5,000 documents.

    python -m bench.evaluation [--squad FOLDER]

The documents are made up from a seed, or are the paragraphs and questions of a folder with `docs_gold.jsonl`,
`docs_distractors.jsonl` and `questions.jsonl`. The retriever is a plain FTS5 table with BM25 over whole documents.
"""

import argparse
import json
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from arborist.clock import SystemClock
from arborist.evaluation.gate import evaluate_against_baseline
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.golden_import import ImportOptions, squad_set
from arborist.evaluation.provenance import NOT_APPLICABLE, RetrievalProvenance
from arborist.evaluation.store import EvaluationStore

SEED = 7
DOCUMENTS = 5_000
QUESTIONS = 1_000
VOCABULARY = 20_000
WORDS_PER_DOCUMENT = 120
COMMON = re.compile(
    "an?|and|are|at|by|did|do|for|from|had|has|how|in|is|it|of|on|or|that|the|to|was|were|"
    "what|when|where|which|who|why|with"
)


class PlainFts5Retriever:
    """Whole documents in one FTS5 table; a question is the OR of its words."""

    identifier = "bench.fts5"

    def __init__(self, documents: Iterator[tuple[str, str]]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE documents USING fts5(id UNINDEXED, text)")
        self._connection.executemany("INSERT INTO documents VALUES (?, ?)", documents)

    def retrieve(self, question: str, limit: int) -> list[str]:
        words = [word for word in re.findall(r"\w+", question.lower()) if not COMMON.fullmatch(word)]
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT id FROM documents WHERE documents MATCH ? ORDER BY rank, rowid LIMIT ?"
        return [document_id for (document_id,) in self._connection.execute(sql, (query, limit))]

    def retrieval_provenance(self) -> RetrievalProvenance:
        return RetrievalProvenance(f"seed-{SEED}", NOT_APPLICABLE, NOT_APPLICABLE, "bench-fts5-v1")


def made_up() -> tuple[Iterator[tuple[str, str]], GradedSet]:
    """Documents of random words, and questions of five words of one of them; one in ten has words of none."""
    rng = random.Random(SEED)
    texts = {
        f"doc-{number}": [f"w{int(VOCABULARY * rng.random() ** 3)}" for _ in range(WORDS_PER_DOCUMENT)]
        for number in range(DOCUMENTS)
    }
    questions = []
    for number, target in enumerate(rng.sample(sorted(texts), QUESTIONS)):
        if number % 10 == 0:
            questions.append(GoldenQuestion(f"q{number}", f"none{number}", Form.GAP))
        else:
            words = " ".join(rng.sample(texts[target], 5))
            questions.append(GoldenQuestion(f"q{number}", words, Form.MATCH, (target,)))
    golden = GoldenQuestionSet("bench.made_up", "Made up", "", tuple(questions))
    return ((document_id, " ".join(words)) for document_id, words in texts.items()), GradedSet(golden)


def squad(folder: Path) -> tuple[Iterator[tuple[str, str]], GradedSet]:
    """The folder's paragraphs, and a sample of its questions."""

    def documents() -> Iterator[tuple[str, str]]:
        for name in ("docs_gold.jsonl", "docs_distractors.jsonl"):
            for line in (folder / name).read_text("utf-8").splitlines():
                row = json.loads(line)
                yield row["doc_id"], f"{row['title']} {row['text']}"

    imported = squad_set(folder / "questions.jsonl", "bench.squad", ImportOptions()).graded.golden
    sample = random.Random(SEED).sample(imported.questions, QUESTIONS)
    return documents(), GradedSet(GoldenQuestionSet("bench.squad", "SQuAD", "", tuple(sample)))


def main() -> None:
    """Print seconds and figures as JSON: a first run, and a second that is compared with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--squad", type=Path)
    folder = parser.parse_args().squad
    documents, graded = squad(folder) if folder else made_up()
    retriever = PlainFts5Retriever(documents)
    with tempfile.TemporaryDirectory() as home:
        store, clock = EvaluationStore(Path(home)), SystemClock()
        started = time.perf_counter()
        first = evaluate_against_baseline(graded, retriever, store, clock)
        seconds = time.perf_counter() - started
        store.promote(first.stored.id, clock)
        started = time.perf_counter()
        second = evaluate_against_baseline(graded, retriever, store, clock)
        seconds_compared = time.perf_counter() - started
    summary = second.stored.summary
    print(
        json.dumps(
            {
                "set": summary.set_identifier,
                "questions": summary.all.questions,
                "seconds": round(seconds, 2),
                "secondsCompared": round(seconds_compared, 2),
                "secondsInRetriever": sum(e.latency_ms for e in second.run.evaluations) / 1000,
                "top1Hits": summary.all.top1_hits,
                "top3Hits": summary.all.top3_hits,
                "nDCG@10": round(summary.metrics.ndcg, 4) if summary.metrics else None,
            }
        )
    )


if __name__ == "__main__":
    main()
