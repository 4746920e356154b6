"""Replay: executing a record's run again from its stored plan, and comparing every digest (`provenance.md`)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from arborist.answering.ask import Asker
from arborist.answering.model import Message
from arborist.answering.run_dag import RunDag, run_dag
from arborist.corpus.shard import read_shard_meta
from arborist.errors import ArboristError, CorpusError
from arborist.providence.record import ProvidenceRecord
from arborist.retrieval.plan import RetrievalPlan


class Outcome(StrEnum):
    """What a replay came to. `diverged` means the same inputs gave another result, which is a bug of ours."""

    REPRODUCED = "reproduced"
    CORPUS_MOVED = "corpus-moved"
    POLICY_MOVED = "policy-moved"
    DIVERGED = "diverged"
    NOT_REPLAYABLE = "not-replayable"


EXIT_CODES = {
    Outcome.REPRODUCED: 0,
    Outcome.NOT_REPLAYABLE: 2,
    Outcome.CORPUS_MOVED: 6,
    Outcome.POLICY_MOVED: 7,
    Outcome.DIVERGED: 8,
}
WORST_LAST = (
    Outcome.REPRODUCED,
    Outcome.NOT_REPLAYABLE,
    Outcome.POLICY_MOVED,
    Outcome.CORPUS_MOVED,
    Outcome.DIVERGED,
)


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome for one record. `parts` names the shards, policy parts or stages that the outcome is due to.

    `answered` says whether the answer was replayed too, as it is where the model is deterministic.
    """

    cache_key: str
    outcome: Outcome
    parts: tuple[str, ...] = ()
    answered: bool = False


def replay(record: ProvidenceRecord, asker: Asker) -> Replay:
    """Execute the record's plan again with today's corpus and policies; nothing is recorded."""
    try:
        dag = record.dag
        plan = RetrievalPlan.from_canonical(dag.payloads()["retrieval_plan"])
    except (ArboristError, KeyError):
        return Replay(record.cache_key, Outcome.NOT_REPLAYABLE, ("its plan was not kept",))
    moved = tuple(_moved_shards(plan, asker))
    if moved:
        return Replay(record.cache_key, Outcome.CORPUS_MOVED, moved)
    changed = tuple(_moved_policies(record, asker))
    if changed:
        return Replay(record.cache_key, Outcome.POLICY_MOVED, changed)
    return _executed(record, dag, plan, asker)


def _moved_shards(plan: RetrievalPlan, asker: Asker) -> Iterator[str]:
    for item in plan.shard_ids:
        meta = read_shard_meta(asker.corpus.home, item.shard)
        if meta is None or meta.shard_root != item.root:
            yield item.shard


def _moved_policies(record: ProvidenceRecord, asker: Asker) -> Iterator[str]:
    today = {
        "ranking_policy_hash": asker.policy.ranking.digest(),
        "governance_policy_hash": asker.policy.answering.digest(),
        "verifier_policy_hash": asker.verifier.digest(),
        "model_identity": asker.model.identity.digest(),
    }
    for name, digest in today.items():
        if getattr(record, name) != digest:
            yield name


def _executed(record: ProvidenceRecord, dag: RunDag, plan: RetrievalPlan, asker: Asker) -> Replay:
    question = dag.node("question").payload
    conversation = [Message(turn["role"], turn["content"]) for turn in question["conversation"]]
    keywords = tuple(json.loads(record.retrieval_keywords or "[]"))
    asker = _binding_as_then(asker, bound=keywords == plan.retrieval_keywords)
    plan = replace(plan, retrieval_keywords=keywords or plan.retrieval_keywords)
    try:
        with asker.corpus.opened([item.shard for item in plan.shard_ids]) as shards:
            run = asker.prepared(plan, question["question"], conversation, shards)
    except CorpusError:
        return Replay(record.cache_key, Outcome.CORPUS_MOVED, tuple(item.shard for item in plan.shard_ids))
    if not asker.model.deterministic:
        return _compared(record, dag, RunDag(run.nodes), answered=False)
    return _compared(record, dag, run_dag(run.nodes, asker.answered(run, record.record_id)), answered=True)


def _binding_as_then(asker: Asker, *, bound: bool) -> Asker:
    """The asker under the switch that decided, when the record was made, whether its DAG binds the keywords."""
    switches = replace(asker.policy.provenance, bind_keywords_in_run_dag=bound)
    return replace(asker, policy=replace(asker.policy, provenance=switches))


def _compared(record: ProvidenceRecord, stored: RunDag, again: RunDag, *, answered: bool) -> Replay:
    differing = tuple(
        f"{node.stage}: {name}"
        for node in again.nodes
        for name, digest in node.commitment.items()
        if stored.commitment(name) != digest
    )
    outcome = Outcome.DIVERGED if differing else Outcome.REPRODUCED
    return Replay(record.cache_key, outcome, differing, answered)


def worst(replays: Sequence[Replay]) -> Outcome:
    """The outcome that a whole replay is known by; `reproduced` for none."""
    return max((item.outcome for item in replays), key=WORST_LAST.index, default=Outcome.REPRODUCED)
