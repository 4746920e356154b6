"""How fast the ledger takes records and is verified: `python -m bench.ledger [--records N] [--folder DIR]`.

A record is what a question over prose leaves: eight chunks of 700 characters, four claims, three events. Runs are
made before the clock starts; measured is the ledger's own work, until the commit is on the disk.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arborist.answering.model import Claim, Message, ModelAnswer, ModelIdentity
from arborist.answering.run_dag import Answered, Retrieval, cache_key, retrieval_nodes, run_dag
from arborist.clock import SystemClock
from arborist.hashing import question_hash
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import PRIMARY, AnsweringPolicy, ProvenancePolicy, RankingPolicy
from arborist.providence.audit_log import sign_checkpoint
from arborist.providence.checkpoint import SigningKey
from arborist.providence.ledger import Ledger
from arborist.providence.record import NewRecord
from arborist.providence.verification import Anchor, verify_ledger
from arborist.retrieval.context import Evidence
from arborist.retrieval.plan import Filters, Frame, RetrievalPlan, ShardId

CHUNKS = 8
CHUNK_CHARACTERS = 700
SENTENCE = "The ration of chocolate was raised to twenty grammes a week, and nobody recalled what it had been. "


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; seconds of the wall clock and of this process and its children."""

    name: str
    records: int
    wall: float
    cpu: float

    def line(self) -> str:
        rate = self.records / self.wall
        return f"{self.name:<44} {self.records:>8} {self.wall:>9.2f} s {self.cpu:>9.2f} s {rate:>9.0f}/s"


def evidence(question: int) -> tuple[Evidence, ...]:
    found = []
    for number in range(1, CHUNKS + 1):
        text = (f"{question}/{number}: " + SENTENCE * CHUNK_CHARACTERS)[:CHUNK_CHARACTERS]
        leaf = leaf_hash(text.encode())
        uri = f"news/{question % 5000}/{number}"
        root = tree_root([leaf_hash(uri.encode()), leaf]).hex()
        found.append(Evidence(number, root, 0, leaf.hex(), PRIMARY, "news-000", uri, uri, text))
    return tuple(found)


def new_record(number: int) -> NewRecord:
    question = f"How much chocolate was there in week {number}?"
    found = evidence(number)
    keywords = ("chocolate", "ration")
    plan = RetrievalPlan(
        question_hash=question_hash(question),
        retrieval_keywords=keywords,
        retrieval_mode="fts5+keywords",
        top_k=CHUNKS,
        over_fetch=32,
        max_context_chars=12_000,
        filters=Filters(),
        shard_ids=tuple(ShardId(f"news-{index:03d}", "5" * 64) for index in range(4)),
        ranking_policy_hash=RankingPolicy().digest(),
    )
    retrieval = Retrieval(
        question=question,
        conversation=(),
        frame=Frame.choose(keywords),
        plan=plan,
        sources_summary=[
            {
                "document_root": item.document_root,
                "chunk_index": 0,
                "leaf_hash": item.leaf_hash,
                "source_role": item.role,
                "score": repr(17.25 / item.number),
            }
            for item in found
        ],
        context_items=[item.canonical() for item in found],
        chunking_version="splitter 1",
        messages=(
            Message("system", "Answer from the evidence, and cite it."),
            Message("user", "\n\n".join([*(f"[E{item.number}] {item.text}" for item in found), question])),
        ),
        governance_policy=AnsweringPolicy().canonical(),
    )
    claims = tuple(Claim(SENTENCE.strip(), (cited,), "supported") for cited in range(1, 5))
    answered = Answered(
        answer=ModelAnswer(" ".join(f"{claim.text} [E{claim.citations[0]}]" for claim in claims)),
        model=ModelIdentity("extractive", "1"),
        claims=claims,
        verifier_policy={"rules": "bench"},
        audit_mode="STRICT",
    )
    dag = run_dag(retrieval_nodes(retrieval), answered)
    return NewRecord.of_run(dag, cache_key(dag.cache_key_parts()), found, keywords, ProvenancePolicy())


def cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def measured(name: str, records: int, work: Callable[[], object]) -> Figure:
    wall, cpu = time.perf_counter(), cpu_seconds()
    work()
    return Figure(name, records, time.perf_counter() - wall, cpu_seconds() - cpu)


def grouped(numbers: range, size: int) -> Iterator[list[NewRecord]]:
    for start in range(numbers.start, numbers.stop, size):
        yield [new_record(number) for number in range(start, min(start + size, numbers.stop))]


def appended(ledger: Ledger, name: str, groups: Iterator[list[NewRecord]]) -> Figure:
    """Append group by group, a transaction each; making the runs is not counted."""
    records, wall, cpu = 0, 0.0, 0.0
    for group in groups:
        figure = measured(name, len(group), lambda group=group: ledger.append_records(group))  # type: ignore[misc]
        records, wall, cpu = records + figure.records, wall + figure.wall, cpu + figure.cpu
    return Figure(name, records, wall, cpu)


def figures(home: Path, records: int) -> Iterator[Figure]:
    alone = min(records // 4, 2_000)
    with Ledger.open(home, SystemClock()) as ledger:
        yield appended(ledger, "append, a commit a record", grouped(range(alone), 1))
        yield appended(ledger, "append, a commit for 50 records", grouped(range(alone, records), 50))
        signed = sign_checkpoint(home, ledger, SigningKey.of_home(home))
    anchor = Anchor(signed.note, signed.key)
    verdicts: list[str] = []
    yield measured(
        f"ledger verify, {os.cpu_count()} processes",
        records,
        lambda: verdicts.append(verify_ledger(home, anchor).verdict),
    )
    if verdicts != ["sound"]:
        raise SystemExit(f"the ledger is {verdicts[0]}, where it should be sound")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Appending to the ledger, and verifying it.")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the ledger is made; the default is a temporary folder")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(f"{'':<44} {'records':>8} {'wall':>11} {'CPU':>11} {'rate':>11}")
        for figure in figures(Path(folder), options.records):
            print(figure.line(), flush=True)
        print(f"{(Path(folder) / 'ledger.db').stat().st_size / options.records:.0f} bytes a record")


if __name__ == "__main__":
    main()
