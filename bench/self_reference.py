"""What promoted answers do to primary recall: none, weighted, supplementary, over random halves of the questions.

    python -m bench.self_reference DATA OUT [--paragraphs xquad|all] [--splits N] [--json]

DATA is the folder that holds `squad2_wiki`. Every answerable question is asked once. For each split the STRICT
answers to one half are promoted by the ordinary pass; then both halves are searched again: the held-out half,
whose answers nobody has given, and the half that is asked again. A question is recalled at n when its own
paragraph is among the first n sources. OUT receives `self_reference.json` and `self_reference.png`.
"""

import argparse
import json
import random
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from arborist.answering.ask import Asker
from arborist.answering.extractive import ExtractiveModel
from arborist.answering.verifier import Verifier
from arborist.clock import FixedClock
from arborist.corpus.shard import Shard
from arborist.corpus.source_documents import write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.work import chunk_shard, index_shard
from arborist.policy import PROVIDENCE_SOURCE, SELF_REFERENCE, RankingPolicy
from arborist.providence.ledger import Ledger
from arborist.providence.promotion import Promoter
from arborist.retrieval.retrieve import Query, plan_for, retrieved
from arborist.workspace import Workspace

HOUR = 3600
CUT_OFFS = (1, 5)
MODES: tuple[Literal["supplementary", "weighted"], ...] = ("supplementary", "weighted")
HALVES = ("held-out", "re-asked")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question, and the uri of the paragraph that it was written for."""

    question: str
    uri: str


@dataclass(frozen=True, slots=True)
class SplitResult:
    """Recall by (mode, half, cut-off) for one split, and how many primary places promoted answers took."""

    promoted: int
    recall: dict[tuple[str, str, int], float]
    places_taken: dict[str, int]


def squad_workspace(data: Path, folder: Path, paragraphs: str) -> tuple[Workspace, list[AskedQuestion]]:
    """A built corpus of paragraphs, and the answerable questions over them, each once."""
    source = data / "squad2_wiki"
    rows = [json.loads(line) for line in (source / "questions.jsonl").read_text("utf-8").splitlines()]
    wanted = [row for row in rows if row["answerable"] and (paragraphs == "all" or "xquad" in row["source"])]
    questions = {row["question"]: AskedQuestion(row["question"], row["doc_id"]) for row in wanted}
    names = ("docs_gold.jsonl", "docs_distractors.jsonl") if paragraphs == "all" else ("docs_gold.jsonl",)
    uris = {item.uri for item in questions.values()}
    lines = [line for name in names for line in (source / name).read_text("utf-8").splitlines()]
    kept = [line for line in lines if paragraphs == "all" or json.loads(line)["doc_id"] in uris]
    (folder / "wiki.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    # One chunk a paragraph, so that a source is a paragraph.
    (folder / "corpus.toml").write_text(
        "[chunking]\nmax_characters = 10000\n\n"
        '[sources.wiki]\nkind = "jsonl"\npath = "wiki.jsonl"\nfields = { uri = "doc_id" }\n'
    )
    workspace = Workspace.open(folder / "var", folder / "corpus.toml", FixedClock())
    for config in workspace.config.sources:
        write_source_documents(open_source(config), workspace.home)
    for shard in workspace.config.shard_names:
        chunk_shard(workspace.corpus, shard)
        index_shard(workspace.corpus, shard)
    return workspace, list(questions.values())


def ask_everything(workspace: Workspace, questions: Sequence[AskedQuestion]) -> int:
    """Ask each question once; how many answers were STRICT."""
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        asker = Asker(workspace.corpus, ledger, ExtractiveModel(), Verifier(), workspace.config.policy)
        replies = [asker.ask(Query(item.question)) for item in questions]
    return sum(reply.audit_mode == "STRICT" for reply in replies)


def promoted_half(workspace: Workspace, home: Path, half: Sequence[AskedQuestion]) -> tuple[Workspace, int]:
    """A copy of the home in which the answers to `half` are promoted, and how many those are."""
    shutil.copytree(workspace.home.root, home)
    clock = FixedClock()
    split = Workspace.open(home, workspace.config.path, clock)
    kept = {item.question for item in half}
    with Ledger.open(home, clock) as ledger:
        for record in list(ledger.records()):
            if record.question not in kept:
                ledger.retire(record.cache_key, "not in this half")
        clock.advance(HOUR)
        report = Promoter.of(split.corpus, ledger, split.config.policy, clock.now()).promote()
    return split, report.promoted


@dataclass(frozen=True, slots=True)
class Searched:
    """At which place a question's paragraph stood (None for nowhere), and how many primary places were taken.

    A promoted answer takes one where a primary source stands behind it.
    """

    rank: int | None
    places_taken: int


def searched(
    workspace: Workspace, shards: Sequence[Shard], item: AskedQuestion, ranking: RankingPolicy
) -> Searched:
    plan = plan_for(Query(item.question), shards, workspace.config.policy.retrieval, ranking)
    sources = retrieved(plan, item.question, shards, ranking)
    ranks = [place for place, source in enumerate(sources, start=1) if source.uri == item.uri]
    last = max((place for place, source in enumerate(sources) if source.role != SELF_REFERENCE), default=0)
    return Searched(ranks[0] if ranks else None, sum(item.role == SELF_REFERENCE for item in sources[:last]))


def recall(found: Sequence[Searched], cut_off: int) -> float:
    return sum(item.rank is not None and item.rank <= cut_off for item in found) / len(found)


def split_result(workspace: Workspace, questions: Sequence[AskedQuestion], folder: Path, seed: int) -> SplitResult:
    """Promote the answers to a random half and search for all questions in every mode."""
    shuffled = random.Random(seed).sample(list(questions), k=len(questions))
    asked, held_out = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
    split, promoted = promoted_half(workspace, folder / f"split-{seed}", asked)
    recalls: dict[tuple[str, str, int], float] = {}
    taken: dict[str, int] = {}
    for mode, names in _mode_shards(split):
        ranking = replace(split.config.policy.ranking, self_reference_mode="weighted" if mode == "none" else mode)
        with split.corpus.opened(names) as shards:
            for half, items in zip(HALVES, (held_out, asked), strict=True):
                found = [searched(split, shards, item, ranking) for item in items]
                recalls |= {(mode, half, cut_off): recall(found, cut_off) for cut_off in CUT_OFFS}
                taken[mode] = taken.get(mode, 0) + sum(item.places_taken for item in found)
    shutil.rmtree(split.home.root)
    return SplitResult(promoted, recalls, taken)


def _mode_shards(workspace: Workspace) -> Iterator[tuple[Any, list[str]]]:
    published = workspace.corpus.published_shards()
    yield "none", [name for name in published if not name.startswith(PROVIDENCE_SOURCE)]
    for mode in MODES:
        yield mode, published


def summary(results: Sequence[SplitResult]) -> list[dict[str, Any]]:
    """Mean and deviation of recall over the splits, and its change against no promotion in points."""
    rows = []
    for mode in ("none", *MODES):
        for half in HALVES:
            for cut_off in CUT_OFFS:
                values = [result.recall[mode, half, cut_off] for result in results]
                before = [result.recall["none", half, cut_off] for result in results]
                change = [100 * (value - was) for value, was in zip(values, before, strict=True)]
                rows.append(
                    {
                        "mode": mode,
                        "half": half,
                        "cut_off": cut_off,
                        "recall": statistics.mean(values),
                        "deviation": statistics.pstdev(values),
                        "change_in_points": statistics.mean(change),
                        "worst_change_in_points": min(change),
                        "places_taken": sum(result.places_taken[mode] for result in results),
                    }
                )
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"{'mode':<14} {'half':<9} {'recall at':>9} {'mean':>7} {'sd':>6} {'change':>8} {'worst':>8} places taken"
    ]
    lines += [
        f"{row['mode']:<14} {row['half']:<9} {row['cut_off']:>9} {row['recall']:>7.4f} {row['deviation']:>6.4f} "
        f"{row['change_in_points']:>+8.2f} {row['worst_change_in_points']:>+8.2f} {row['places_taken']:>12}"
        for row in rows
    ]
    return "\n".join(lines)


def plot(results: Sequence[SplitResult], path: Path) -> None:
    """A panel for each half and cut-off, a point for each split in each mode."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(len(CUT_OFFS), len(HALVES), sharey="row")
    modes = ("none", *MODES)
    for row, cut_off in enumerate(CUT_OFFS):
        for column, half in enumerate(HALVES):
            axes = panels[row][column]
            for place, mode in enumerate(modes):
                values = [result.recall[mode, half, cut_off] for result in results]
                axes.scatter([place] * len(values), values, alpha=0.4, s=18)
                axes.hlines(statistics.mean(values), place - 0.25, place + 0.25, color="black")
            axes.set_xticks(range(len(modes)), modes)
            axes.set_title(f"{half} questions: primary recall@{cut_off}")
            axes.grid(visible=True, axis="y", alpha=0.3)
    FigureCanvasAgg(figure).print_png(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="What promoted answers do to primary recall.")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--paragraphs", choices=["xquad", "all"], default="xquad")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace, questions = squad_workspace(options.data, folder, options.paragraphs)
        strict = ask_everything(workspace, questions)
        results = [split_result(workspace, questions, folder, seed) for seed in range(options.splits)]
    rows = summary(results)
    value = {
        "paragraphs": options.paragraphs,
        "questions": len(questions),
        "strict": strict,
        "splits": options.splits,
        "promoted": statistics.mean(result.promoted for result in results),
        "rows": rows,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "self_reference.json").write_text(json.dumps(value, indent=2) + "\n")
    plot(results, options.out / "self_reference.png")
    if options.json:
        print(json.dumps(value, indent=2))
        return
    print(f"{len(questions)} questions, {strict} answered STRICT, {value['promoted']:.0f} promoted in each split")
    print(table(rows))


if __name__ == "__main__":
    main()
