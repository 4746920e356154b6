"""A home with real shards, and records whose evidence is in them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arborist.answering.run_dag import cache_key, retrieval_nodes, run_dag
from arborist.corpus.chunking import Chunker
from arborist.corpus.config import load_corpus_config
from arborist.corpus.document_chunks import write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.corpus.shard import Shard
from arborist.corpus.source_documents import write_source_documents
from arborist.corpus.sources import open_source
from arborist.home import Home
from arborist.policy import PRIMARY, SELF_REFERENCE, ProvenancePolicy
from arborist.providence.audit_log import SignedCheckpoint, sign_checkpoint
from arborist.providence.checkpoint import SigningKey
from arborist.providence.ledger import Ledger
from arborist.providence.record import NewRecord, ProvidenceRecord
from arborist.retrieval.context import Evidence
from arborist.retrieval.plan import ShardId
from tests.arborist.providence.runs import answered, retrieval

NEWS = [
    "Oceania has always been at war with Eastasia.",
    "Eurasia is an ally.\n\n" + "Victory is near. " * 30,
    "Rations go up.\n\n" + "The chocolate ration has been raised to twenty grammes. " * 12,
    "There is no war with Eurasia, and there never was.",
]


@dataclass
class ProvenHome:
    """Shards of news, and one more for every group of answers that was promoted."""

    path: Path
    ledger: Ledger
    shards: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path, ledger: Ledger) -> "ProvenHome":
        made = cls(path, ledger)
        made.rebuild(NEWS)
        return made

    def rebuild(self, texts: Sequence[str]) -> None:
        rows = [
            {"uri": f"news:{number}", "title": f"News {number}", "text": text} for number, text in enumerate(texts)
        ]
        self._publish("news", rows)

    def _publish(self, source: str, rows: Sequence[dict[str, str]]) -> str:
        file = self.path / f"{source}.jsonl"
        file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        config = self.path / "corpus.toml"
        config.write_text(
            "[chunking]\nmax_characters = 200\n"
            f'[sources.{source}]\nkind = "jsonl"\npath = "{file.name}"\nfields = {{ revision = "revision" }}\n',
            encoding="utf-8",
        )
        home, (wanted,) = Home(self.path), load_corpus_config(config).sources
        write_source_documents(open_source(wanted), home)
        (shard,) = wanted.shard_names
        write_document_chunks(home, source, shard, Chunker(200))
        write_fts_index(home, shard)
        if shard not in self.shards:
            self.shards.append(shard)
        return shard

    def recorded(
        self,
        question: str,
        keywords: Sequence[str] = (),
        chunks: int = 2,
        leaning_on: Sequence[ProvidenceRecord] = (),
        policy: ProvenancePolicy | None = None,
    ) -> ProvidenceRecord:
        """A record that stands on `chunks` chunks of news, and on promoted answers."""
        found = self._evidence("news-000", PRIMARY, chunks)
        if leaning_on:
            found += self._evidence(self._promote(leaning_on), SELF_REFERENCE, len(leaning_on))
        return self.ledger.append_record(self._new_record(question, keywords, found, policy or ProvenancePolicy()))

    def recorded_from(self, question: str, shard: str) -> ProvidenceRecord:
        """A record that stands on a chunk of news and on the first chunk of another shard."""
        found = self._evidence("news-000", PRIMARY, 1) + self._evidence(shard, SELF_REFERENCE, 1)
        return self.ledger.append_record(self._new_record(question, (), found, ProvenancePolicy()))

    def _new_record(
        self, question: str, keywords: Sequence[str], found: Sequence[Evidence], policy: ProvenancePolicy
    ) -> NewRecord:
        run = retrieval(question, keywords, found, tuple(map(self._shard_id, self.shards)))
        said = answered("Oceania has always been at war." if found else "Nobody knows.", cites=bool(found))
        dag = run_dag(retrieval_nodes(run), said)
        key = cache_key(
            dag.cache_key_parts(),
            retrieval_keywords=keywords if policy.keywords_affect_cache_key else None,
            retrieval_plan_hash=dag.commitment("retrieval_plan_hash")
            if policy.retrieval_plan_affects_cache_key
            else None,
        )
        return NewRecord.of_run(dag, key, found, keywords, policy)

    def _shard_id(self, shard: str) -> ShardId:
        with Shard(Home(self.path).shard_file(shard)) as opened:
            return ShardId(shard, opened.meta.shard_root)

    def _evidence(self, shard: str, role: str, count: int) -> list[Evidence]:
        with Shard(Home(self.path).shard_file(shard)) as opened:
            chunks = opened.chunks(range(1, opened.meta.chunks + 1))
        # One of each document first, then the rest: so that documents of several chunks are met too.
        chosen = sorted(chunks, key=lambda chunk: chunk.chunk_index)[:count]
        return [
            Evidence(
                number=number,
                document_root=chunk.document_root,
                chunk_index=chunk.chunk_index,
                leaf_hash=chunk.leaf_hash,
                role=role,
                shard=shard,
                uri=chunk.uri,
                title=chunk.title,
                text=chunk.text,
            )
            for number, chunk in enumerate(chosen, 1)
        ]

    def _promote(self, records: Sequence[ProvidenceRecord]) -> str:
        rows = [
            {
                "uri": f"arborist://providence/{record.cache_key}",
                "title": record.question,
                "text": f"Q: {record.question}\nA: {record.answer}",
                "revision": record.run_dag_root,
            }
            for record in records
        ]
        return self._publish(f"answers-{len(self.shards)}", rows)

    def chain(self) -> tuple[ProvidenceRecord, ProvidenceRecord, ProvidenceRecord]:
        """Three records, each of which leans on the one before."""
        first = self.recorded("Who is at war?", chunks=1)
        second = self.recorded("Since when?", chunks=1, leaning_on=[first])
        third = self.recorded("Why is Oceania at war?", chunks=1, leaning_on=[second])
        return first, second, third

    def sign(self) -> SignedCheckpoint:
        return sign_checkpoint(self.path, self.ledger, SigningKey.of_home(self.path))
