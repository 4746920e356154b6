"""How well the search finds what is known to answer: three public sets, each built and asked as a user would.

    python -m bench.retrieval_quality DATA [--only NAME]... [--json]

DATA is a folder with `squad2_wiki`, `scifact` and `docs_faq`. nDCG, recall and MRR look at ten documents.
"""

import argparse
import csv
import gzip
import json
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from arborist.clock import SystemClock
from arborist.corpus.source_documents import write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.work import chunk_shard, index_shard
from arborist.evaluation.fts5_retriever import Fts5Retriever
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.protocol import ScoringProtocol
from arborist.evaluation.run import EvaluationRun
from arborist.evaluation.scoring import evaluate_retrieval
from arborist.evaluation.trec import write_trec
from arborist.retrieval.plan import FTS5
from arborist.workspace import Workspace

FAQ_TREES = {"python-3.11": "*.rst", "django-5.2": "*.txt", "ruff": "*.md", "prometheus": "*.md"}


@dataclass(frozen=True)
class BenchSet:
    """A corpus written below a folder with its `corpus.toml`, and the questions over it."""

    config: Path
    graded: GradedSet


def squad2_wiki(data: Path, folder: Path) -> BenchSet:
    """Every answerable question, over gold and distractor paragraphs; a document is a paragraph."""
    source = data / "squad2_wiki"
    (folder / "docs").mkdir()
    for name in ("docs_gold.jsonl", "docs_distractors.jsonl"):
        (folder / "docs" / name).write_bytes((source / name).read_bytes())
    rows = [json.loads(line) for line in (source / "questions.jsonl").read_text("utf-8").splitlines()]
    questions = [
        GoldenQuestion(row["qid"], row["question"], Form.MATCH, (row["doc_id"],))
        for row in rows
        if row["answerable"]
    ]
    return BenchSet(_jsonl_config(folder), _graded("squad2_wiki", questions))


def scifact(data: Path, folder: Path) -> BenchSet:
    """The 300 development claims with graded judgements, over all abstracts."""
    source = data / "scifact"
    (folder / "docs").mkdir()
    with (
        gzip.open(source / "corpus.jsonl.gz", "rt", encoding="utf-8") as abstracts,
        (folder / "docs" / "abstracts.jsonl").open("w") as out,
    ):
        for row in map(json.loads, abstracts):
            text = " ".join(row["sentences"])
            out.write(json.dumps({"doc_id": str(row["doc_id"]), "title": row["title"], "text": text}) + "\n")
    grades: dict[str, dict[str, int]] = {}
    with (source / "qrels_dev.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            grades.setdefault(row["claim_id"], {})[row["doc_id"]] = int(row["grade"])
    claims = [json.loads(line) for line in (source / "claims_dev.jsonl").read_text("utf-8").splitlines()]
    questions = [
        GoldenQuestion(str(row["claim_id"]), row["claim"], Form.GAP, tuple(grades[str(row["claim_id"])]))
        for row in claims
    ]
    return BenchSet(_jsonl_config(folder), _graded("scifact", questions, grades))


def docs_faq(data: Path, folder: Path) -> BenchSet:
    """FAQ headings over four documentation trees; the target is the file that holds the FAQ."""
    source = data / "docs_faq"
    tables = []
    for tree, pattern in FAQ_TREES.items():
        with tarfile.open(source / f"{tree}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
        name = tree.replace(".", "-")
        table = f'[sources.{name}]\nkind = "markdown"\npath = "{tree}"\ninclude = ["**/{pattern}"]\n'
        tables.append(table + 'on_error = "skip"\n')
    (folder / "corpus.toml").write_text("\n".join(tables))
    questions = []
    for name in ("faq_questions_python_django.jsonl", "faq_questions_ruff_prometheus.jsonl"):
        for row in map(json.loads, (source / name).read_text("utf-8").splitlines()):
            target = f"{row['product'].replace('.', '-')}/{row['target_path']}"
            questions.append(GoldenQuestion(row["qid"], row["question"], Form.MATCH, (target,)))
    return BenchSet(folder / "corpus.toml", _graded("docs_faq", questions))


SETS: dict[str, Callable[[Path, Path], BenchSet]] = {
    "squad2_wiki": squad2_wiki,
    "scifact": scifact,
    "docs_faq": docs_faq,
}


def _jsonl_config(folder: Path) -> Path:
    config = folder / "corpus.toml"
    config.write_text('[sources.docs]\nkind = "jsonl"\npath = "docs"\nfields = { uri = "doc_id" }\n')
    return config


def _graded(
    name: str, questions: list[GoldenQuestion], grades: dict[str, dict[str, int]] | None = None
) -> GradedSet:
    return GradedSet(GoldenQuestionSet(name, name, "", tuple(questions)), grades or {})


@dataclass(frozen=True)
class Measured:
    """What a set came to; seconds are those of building and of asking."""

    name: str
    documents: int
    run: EvaluationRun
    build_seconds: float
    ask_seconds: float

    def to_json(self) -> dict[str, object]:
        summary = self.run.summary()
        metrics = summary.metrics
        return {
            "set": self.name,
            "documents": self.documents,
            "questions": summary.all.questions,
            "top1": summary.all.top1_rate,
            "top3": summary.all.top3_rate,
            "ndcg_at_10": metrics.ndcg if metrics else None,
            "recall_at_10": metrics.recall if metrics else None,
            "mrr_at_10": metrics.mrr if metrics else None,
            "build_seconds": self.build_seconds,
            "ask_seconds": self.ask_seconds,
        }


def measured(name: str, data: Path, trec_files: Path | None = None) -> Measured:
    """Build the set's corpus in a folder of its own and evaluate `fts5` on it."""
    with tempfile.TemporaryDirectory() as folder:
        bench_set = SETS[name](data, Path(folder))
        workspace = Workspace.open(Path(folder) / "home", bench_set.config)
        started = time.perf_counter()
        for source in workspace.config.sources:
            write_source_documents(open_source(source), workspace.home)
        documents = sum(chunk_shard(workspace.corpus, shard).documents for shard in workspace.config.shard_names)
        for shard in workspace.config.shard_names:
            index_shard(workspace.corpus, shard)
        built = time.perf_counter()
        retriever = Fts5Retriever(FTS5, workspace.corpus)
        run = evaluate_retrieval(bench_set.graded, retriever, SystemClock(), ScoringProtocol())
        asked = time.perf_counter()
        if trec_files is not None:
            write_trec(trec_files, bench_set.graded, run)
        retriever.close()
    return Measured(name, documents, run, built - started, asked - built)


FIGURES = ("top1", "top3", "ndcg_at_10", "recall_at_10", "mrr_at_10")


def rows(results: list[Measured]) -> Iterator[str]:
    head = " ".join(f"{name:>12}" for name in FIGURES)
    yield f"{'set':<12} {'documents':>9} {'questions':>9} {head}"
    for value in (result.to_json() for result in results):
        figures = " ".join(f"{value[name]:>12.3f}" for name in FIGURES)
        yield f"{value['set']:<12} {value['documents']:>9} {value['questions']:>9} {figures}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", action="append", choices=sorted(SETS))
    parser.add_argument(
        "--trec-files", type=Path, help="Write run.trec and qrels.trec of a single --only set there."
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = [measured(name, arguments.data, arguments.trec_files) for name in arguments.only or SETS]
    print(json.dumps([result.to_json() for result in results]) if arguments.json else "\n".join(rows(results)))


if __name__ == "__main__":
    main()
