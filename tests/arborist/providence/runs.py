"""Runs for tests: small, whole, and different from each other in what the caller says."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arborist.answering.model import Claim, Message, ModelAnswer, ModelIdentity
from arborist.answering.run_dag import Answered, Retrieval, RunDag, cache_key, retrieval_nodes, run_dag
from arborist.hashing import question_hash
from arborist.merkle import leaf_hash, tree_root
from arborist.policy import PRIMARY, AnsweringPolicy, ProvenancePolicy, RankingPolicy
from arborist.providence.record import NewRecord
from arborist.retrieval.context import Evidence
from arborist.retrieval.plan import Filters, Frame, RetrievalPlan, ShardId

ROOT = Path(__file__).resolve().parents[3]
APPENDING = """
import sys
from pathlib import Path
from arborist.clock import SystemClock
from arborist.providence.ledger import Ledger
from tests.arborist.providence.runs import new_record

with Ledger.open(Path(sys.argv[1]), SystemClock()) as ledger:
    for number in range(int(sys.argv[3])):
        record = ledger.append_record(new_record(f"{sys.argv[2]} {number}?", ["keyword"]))
        print(record.cache_key, flush=True)
"""
WAR = "Oceania is at war with Eastasia."


def evidence(text: str = WAR, uri: str = "test:oceania", number: int = 1, role: str = PRIMARY) -> Evidence:
    leaf = leaf_hash(text.encode())
    return Evidence(
        number=number,
        document_root=tree_root([leaf_hash(uri.encode()), leaf]).hex(),
        chunk_index=0,
        leaf_hash=leaf.hex(),
        role=role,
        shard="test-000",
        uri=uri,
        title=uri,
        text=text,
    )


def retrieval(
    question: str,
    keywords: Sequence[str] = (),
    items: Sequence[Evidence] | None = None,
    shards: tuple[ShardId, ...] = (ShardId("test-000", "5" * 64),),
    **policy: Any,
) -> Retrieval:
    frame = Frame.choose(keywords)
    plan = RetrievalPlan(
        question_hash=question_hash(question),
        retrieval_keywords=tuple(keywords),
        retrieval_mode=frame.retrieval_mode,
        top_k=8,
        over_fetch=32,
        max_context_chars=12_000,
        filters=Filters(),
        shard_ids=shards,
        ranking_policy_hash=RankingPolicy().digest(),
    )
    context = (evidence(),) if items is None else items
    shown = f" {' '.join(keywords)}" if policy.get("show_keywords_to_model") else ""
    return Retrieval(
        question=question,
        conversation=(),
        frame=frame,
        plan=plan,
        sources_summary=[
            {
                "document_root": item.document_root,
                "chunk_index": item.chunk_index,
                "leaf_hash": item.leaf_hash,
                "source_role": item.role,
                "score": repr(1.5 / item.number),
            }
            for item in context
        ],
        context_items=[item.canonical() for item in context],
        chunking_version="test-splitter 1",
        messages=(
            Message("system", "Answer from the evidence."),
            Message("user", "\n".join([*(item.text for item in context), question + shown])),
        ),
        governance_policy=AnsweringPolicy(**policy).canonical(),
    )


def answered(text: str = WAR, *, cites: bool = True) -> Answered:
    return Answered(
        answer=ModelAnswer(text),
        model=ModelIdentity("test-model", "1", (("seed", 7),)),
        claims=(Claim(text, (1,), "supported"),) if cites else (),
        verifier_policy={"rules": "test 1"},
        audit_mode="STRICT" if cites else "UNGROUNDED",
    )


def run(
    question: str, keywords: Sequence[str] = (), items: Sequence[Evidence] | None = None, **policy: Any
) -> RunDag:
    return run_dag(retrieval_nodes(retrieval(question, keywords, items, **policy)), answered())


def new_record(
    question: str,
    keywords: Sequence[str] = (),
    items: Sequence[Evidence] | None = None,
    provenance: ProvenancePolicy | None = None,
    **policy: Any,
) -> NewRecord:
    dag = run(question, keywords, items, **policy)
    switches = provenance or ProvenancePolicy()
    key = cache_key(
        dag.cache_key_parts(),
        retrieval_keywords=keywords if switches.keywords_affect_cache_key else None,
        retrieval_plan_hash=dag.commitment("retrieval_plan_hash")
        if switches.retrieval_plan_affects_cache_key
        else None,
    )
    return NewRecord.of_run(dag, key, (evidence(),) if items is None else items, keywords, switches)


def appending(home: Path, name: str, count: int) -> subprocess.Popen[str]:
    """A process of its own that appends records, and prints each one's key once it is durable."""
    arguments = [sys.executable, "-c", APPENDING, str(home), name, str(count)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)
