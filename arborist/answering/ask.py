"""The pipeline: a question becomes an answer with a verdict, bound into a run DAG and recorded."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arborist.answering.model import AnswerModel, Claim, Message, ModelAnswer, Verdict
from arborist.answering.models import open_model, open_verifier
from arborist.answering.prompt import messages_for
from arborist.answering.run_dag import (
    Answered,
    Node,
    Retrieval,
    RunDag,
    cache_key,
    retrieval_nodes,
    run_dag,
    run_dag_on_hit,
)
from arborist.answering.verifier import Verifier
from arborist.corpus.shard import Shard
from arborist.corpus.store import Corpus
from arborist.errors import RecordInUseError
from arborist.hashing import canonical_json, normalized_question
from arborist.policy import Policy
from arborist.providence.ledger import Ledger, refuse_fallen
from arborist.providence.lineage import refusal_of_record, refused_roots
from arborist.providence.record import NewRecord, ProvidenceRecord
from arborist.providence.record_reading import refuse_changed
from arborist.retrieval.context import Evidence, evidence_within
from arborist.retrieval.plan import Frame, RetrievalPlan, RetrievedSource
from arborist.retrieval.retrieve import Query, filtered, plan_for, retrieved
from arborist.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Reply:
    """What an asker is told. `run_dag_root` is this run's; on a cache hit the record has one of its own.

    `retrieval_plan_hash` is that of the plan as it is bound, which a policy may have without its keywords.
    """

    record: ProvidenceRecord
    run_dag_root: str
    retrieval_plan_hash: str | None
    retrieval_plan: RetrievalPlan
    sources: tuple[RetrievedSource, ...]
    evidence: tuple[Evidence, ...]
    claims: tuple[Claim, ...]
    cache_hit: bool
    refusal: str = ""

    @property
    def audit_mode(self) -> str:
        """The record's verdict, unless it was refused at the moment of reading."""
        return Verdict().audit_mode if self.refusal else self.record.audit_mode

    def to_json(self) -> dict[str, Any]:
        """The reply under the names that the specs use."""
        record = self.record
        return {
            "question": record.question,
            "question_hash": record.question_hash,
            "cache_key": record.cache_key,
            "run_dag_root": self.run_dag_root,
            "record_run_dag_root": record.run_dag_root,
            "retrieval_plan_hash": self.retrieval_plan_hash,
            "retrieval_keywords": list(self.retrieval_plan.retrieval_keywords),
            "retrieval_mode": self.retrieval_plan.retrieval_mode,
            "context_root": record.context_root,
            "chunking_version": record.chunking_version,
            "audit_mode": self.audit_mode,
            "falsification_state": record.falsification_state,
            "refusal": self.refusal,
            "cache_hit": self.cache_hit,
            "answer": record.answer,
            "claims": [claim.canonical() for claim in self.claims],
            "sources": self._sources_json(),
        }

    def _sources_json(self) -> list[dict[str, Any]]:
        numbers = {(item.document_root, item.chunk_index): item.number for item in self.evidence}
        cited = {number for claim in self.claims for number in claim.citations}
        return [
            source.summary()
            | {
                "evidence": numbers.get((source.document_root, source.chunk_index)),
                "cited": numbers.get((source.document_root, source.chunk_index)) in cited,
                "shard": source.shard,
                "uri": source.uri,
                "title": source.title,
                "text": source.text,
            }
            for source in self.sources
        ]


@dataclass(frozen=True)
class Asker:
    """Everything that answers: a corpus, a ledger, a model, a verifier, and the policies they work under."""

    corpus: Corpus
    ledger: Ledger
    model: AnswerModel
    verifier: Verifier
    policy: Policy = field(default_factory=Policy)

    def ask(self, query: Query, conversation: Sequence[Message] = ()) -> Reply:
        """Answer from the cache where the same run was recorded before, else anew; either way it is recorded.

        Raises InputError for a query that cannot be asked, CorpusError where the corpus cannot be searched,
        ModelError where the model gives no answer, LedgerError where the record that would answer was changed;
        then nothing is recorded.
        """
        run = self._retrieve(query, conversation)
        return self._hit(run) or self._record(run, self.ledger.append_record)

    def ask_anew(self, query: Query, conversation: Sequence[Message] = ()) -> Reply:
        """Answer anew; a record that the cache would have answered from is retired once the answer is there.

        Raises LedgerError where that record was falsified: asking again must not wash that off.
        """
        run = self._retrieve(query, conversation)
        old = self.ledger.record(run.cache_key)
        if old is not None:
            refuse_fallen(old)
        return self._record(run, lambda new: self.ledger.replace_record(new, "asked anew"))

    def _retrieve(self, query: Query, conversation: Sequence[Message]) -> "PreparedRun":
        with self.corpus.opened() as opened:
            shards = filtered(opened, query.filters)
            plan = plan_for(query, shards, self.policy.retrieval, self.policy.ranking)
            return self.prepared(plan, query.question, conversation, shards)

    def prepared(
        self, plan: RetrievalPlan, question: str, conversation: Sequence[Message], shards: Sequence[Shard]
    ) -> "PreparedRun":
        """Execute the plan over its shards, opened in its order, as far as the prompt; nothing is recorded."""
        sources = tuple(retrieved(plan, question, shards, self.policy.ranking))
        evidence = evidence_within(sources, plan.max_context_chars, self.policy.answering)
        version = chunking_version(shards)
        return PreparedRun.of(self, question, tuple(conversation), plan, sources, evidence, version)

    def answered(self, run: "PreparedRun", as_of: int | None = None) -> Answered:
        """Have the model answer and the verifier judge; nothing is recorded.

        Promoted answers are rested on as they stand now or, with `as_of`, as they stood at that event.
        """
        answer = self.model.answer(run.question, run.evidence, run.messages)
        verdict = self._verdict(answer, run.evidence, as_of)
        return Answered(
            answer=answer,
            model=self.model.identity,
            claims=verdict.claims,
            verifier_policy=self.verifier.canonical(),
            audit_mode=verdict.audit_mode,
        )

    def _hit(self, run: "PreparedRun") -> Reply | None:
        record = self.ledger.record(run.cache_key)
        if record is None:
            return None
        refuse_changed(self.ledger, record)
        dag = run_dag_on_hit(run.nodes, record.dag)
        self.ledger.append_hit(record, dag, run.kept_keywords)
        refusal = refusal_of_record(self.ledger, record)
        return run.reply(record, dag, stored_claims(record), refusal=refusal, cache_hit=True)

    def _record(self, run: "PreparedRun", append: Callable[[NewRecord], ProvidenceRecord]) -> Reply:
        answered = self.answered(run)
        dag = run_dag(run.nodes, answered)
        new = NewRecord.of_run(
            dag, run.cache_key, run.evidence, run.plan.retrieval_keywords, self.policy.provenance
        )
        try:
            record = append(new)
        except RecordInUseError:
            # Another process recorded the same run while the model was answering.
            hit = self._hit(run)
            if hit is None:
                raise
            return hit
        return run.reply(record, dag, answered.claims, refusal="", cache_hit=False)

    def _verdict(self, answer: ModelAnswer, evidence: Sequence[Evidence], as_of: int | None) -> Verdict:
        if answer.abstained:
            return Verdict()
        return self.verifier.verify(
            answer.text,
            evidence,
            allowed_roles=self.policy.answering.allowed_roles,
            refused_roots=refused_roots(self.ledger, evidence, as_of),
        )


@dataclass(frozen=True)
class PreparedRun:
    """A run up to its prompt: all that decides whether the cache can answer it."""

    question: str
    plan: RetrievalPlan
    sources: tuple[RetrievedSource, ...]
    evidence: tuple[Evidence, ...]
    messages: tuple[Message, ...]
    nodes: tuple[Node, ...]
    cache_key: str
    kept_keywords: tuple[str, ...] | None

    @classmethod
    def of(
        cls,
        asker: Asker,
        question: str,
        conversation: tuple[Message, ...],
        plan: RetrievalPlan,
        sources: tuple[RetrievedSource, ...],
        evidence: tuple[Evidence, ...],
        version: str,
    ) -> "PreparedRun":
        policy = asker.policy
        question = normalized_question(question)
        shown = plan.retrieval_keywords if policy.answering.show_keywords_to_model else ()
        messages = messages_for(question, evidence, conversation=conversation, keywords=shown)
        hashed = messages
        if shown and not policy.provenance.keywords_affect_prompt_hash_if_prompted:
            hashed = messages_for(question, evidence, conversation=conversation)
        bound = plan if policy.provenance.bind_keywords_in_run_dag else replace(plan, retrieval_keywords=())
        nodes = retrieval_nodes(
            Retrieval(
                question=question,
                conversation=tuple(turn.canonical() for turn in conversation),
                frame=Frame.choose(plan.retrieval_keywords),
                plan=bound,
                sources_summary=[source.summary() for source in sources],
                context_items=[item.canonical() for item in evidence],
                chunking_version=version,
                messages=hashed,
                governance_policy=policy.answering.canonical(),
            )
        )
        return cls(
            question=question,
            plan=plan,
            sources=sources,
            evidence=evidence,
            messages=messages,
            nodes=nodes,
            cache_key=_cache_key(asker, RunDag(nodes), plan.retrieval_keywords),
            kept_keywords=plan.retrieval_keywords if policy.provenance.store_keywords_on_record else None,
        )

    def reply(
        self, record: ProvidenceRecord, dag: RunDag, claims: tuple[Claim, ...], *, refusal: str, cache_hit: bool
    ) -> Reply:
        return Reply(
            record=record,
            run_dag_root=dag.root,
            retrieval_plan_hash=dag.commitment("retrieval_plan_hash"),
            retrieval_plan=self.plan,
            sources=self.sources,
            evidence=self.evidence,
            claims=claims,
            cache_hit=cache_hit,
            refusal=refusal,
        )


def _cache_key(asker: Asker, dag: RunDag, keywords: Sequence[str]) -> str:
    switches = asker.policy.provenance
    parts: Mapping[str, str | None] = dag.cache_key_parts() | {
        "model_identity": asker.model.identity.digest(),
        "verifier_policy_hash": asker.verifier.digest(),
    }
    return cache_key(
        parts,
        retrieval_keywords=keywords if switches.keywords_affect_cache_key else None,
        retrieval_plan_hash=(
            dag.commitment("retrieval_plan_hash") if switches.retrieval_plan_affects_cache_key else None
        ),
    )


def open_asker(workspace: Workspace, ledger: Ledger, model: str | None = None) -> Asker:
    """The asker that a workspace is configured for; `model` puts another model in its place (`open_model`)."""
    return Asker(
        corpus=workspace.corpus,
        ledger=ledger,
        model=open_model(workspace.config.model, model),
        verifier=open_verifier(workspace.config.sidecar),
        policy=workspace.config.policy,
    )


def chunking_version(shards: Sequence[Shard]) -> str:
    """The label the searched shards were chunked under; during a backfill, all their labels as a JSON array."""
    versions = sorted({shard.meta.chunking_version for shard in shards})
    return versions[0] if len(versions) == 1 else canonical_json(versions).decode()


def stored_claims(record: ProvidenceRecord) -> tuple[Claim, ...]:
    """The claims of a record as values."""
    return tuple(
        Claim(**(claim | {"citations": tuple(claim["citations"]), "findings": tuple(claim["findings"])}))
        for claim in json.loads(record.claims)
    )
