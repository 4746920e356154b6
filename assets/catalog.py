"""What the catalogue shows of every asset beside its description: group, owner, kinds, tags, columns, code.

Kept here for all of them, so that no asset is without, and one look tells how they compare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import dagster as dg

from assets.names import (
    CORPUS_SNAPSHOT,
    DOCUMENT_CHUNKS,
    EVALUATION_BASELINE,
    FTS_INDEX,
    GOLDEN_QUESTIONS,
    PROVIDENCE_LEDGER,
    QUESTION_SWEEP,
    RETAINED_RETRIEVAL_AUDIT,
    RETRIEVAL_EVALUATION,
    SELF_PROVIDENCE,
    SOURCE_DOCUMENTS,
)

Columns = Mapping[str, tuple[str, str]]

DOCUMENTS: Columns = {
    "uri": ("text", "Unique and stable name of the document"),
    "title": ("text", "What the document calls itself"),
    "text": ("text", "The whole text"),
    "source_type": ("text", "The kind of source it was read by"),
    "source_revision": ("text", "Label of this version of this document"),
    "aliases": ("list of text", "Other names it is found by"),
}
CHUNKS: Columns = {
    "uri": ("text", "The document that the chunk is of"),
    "document_digest": ("text", "Digest of all that the document says, however it is cut; empty where unknown"),
    "document_root": ("text", "Merkle root over the document's header and chunks"),
    "chunk_index": ("integer", "Place of the chunk in its document, from 0"),
    "start": ("integer", "Offset of its first character in the document"),
    "end": ("integer", "Offset behind its last character"),
    "text": ("text", "The chunk"),
    "leaf_hash": ("text", "RFC 9162 leaf hash of its UTF-8 bytes"),
}
INDEXED_CHUNKS: Columns = {
    "id": ("integer", "The chunk's number in the shard, and its row in the full-text index"),
    "document_id": ("integer", "The row of its document in the table `documents`"),
    **{name: CHUNKS[name] for name in ("chunk_index", "start", "end", "text", "leaf_hash")},
}
SHARDS: Columns = {
    "shard": ("text", "Name of the shard, `<source>-<nnn>`"),
    "documents": ("integer", "How many documents it holds"),
    "chunks": ("integer", "How many chunks these have"),
    "root": ("text", "Merkle root over the roots of its documents; the first 16 digits are shown"),
}
RECORDS: Columns = {
    "cache_key": ("text", "Under what the answer is found again: question, corpus, policies and model"),
    "question": ("text", "The question as it was asked"),
    "answer": ("text", "The answer as it was given"),
    "audit_mode": ("text", "Verdict on its claims: STRICT, HYBRID or UNGROUNDED"),
    "claims": ("JSON", "The claims, each with its state and citations"),
    "run_dag_root": ("text", "Root over everything that had a part in the answer"),
    "retrieval_plan_hash": ("text", "Identity of how it was searched"),
    "context_root": ("text", "Root over the evidence that the model was shown"),
    "falsification_state": ("text", "`live`, or why the answer no longer counts"),
    "created_at": ("time", "When it was recorded, UTC"),
}
SWEPT_QUESTIONS: Columns = {
    "question": ("text", "The question as it was asked"),
    "retrieval_keywords": ("list of text", "The keywords it was asked with; empty where it was asked bare"),
    "audit_mode": ("text", "The verdict on the answer"),
    "cache_hit": ("boolean", "Whether the answer came from the cache"),
    "cache_key": ("text", "The record of the answer"),
    "run_dag_root": ("text", "Root over everything that had a part in this run"),
    "retrieval_plan_hash": ("text", "Identity of how it was searched"),
}
QUESTIONS: Columns = {
    "id": ("text", "Name of the question in its set"),
    "question": ("text", "What is asked"),
    "form": ("text", "How the question is put: what it shares with the words of its documents"),
    "expectedDocumentIds": ("list of text", "The documents that answer it; none where nothing should be found"),
    "hardClass": ("text", "What makes it hard"),
    "answerGist": ("text", "The answer in a sentence"),
    "grades": ("JSON", "How well each document answers, from 1 up"),
}
RUNS: Columns = {
    "id": ("integer", "Number of the run, which `promote_baseline` takes"),
    "set_identifier": ("text", "The golden set that was asked"),
    "retriever_identifier": ("text", "What was measured"),
    "run_date": ("integer", "When it ran"),
    "benchmark_fingerprint": ("text", "Identity of what was measured; runs of one benchmark are comparable"),
    "variant_fingerprint": ("text", "Identity of how the retriever was set"),
    "questions": ("integer", "Questions that were asked"),
    "top1_hits": ("integer", "Questions whose first document was right"),
    "top3_hits": ("integer", "Questions with a right one among the first three documents"),
    "no_result_hits": ("integer", "Questions that nothing answers, and for which nothing was found"),
    "errors": ("integer", "Questions on which the retriever failed"),
}
BASELINES: Columns = {
    "run": ("integer", "Number of the pinned run"),
    "retriever": ("text", "What was measured"),
    "top-1": ("number", "Share of questions whose first document was right"),
    "top-3": ("number", "Share of questions with a right one among the first three documents"),
    "since": ("time", "When it was pinned, UTC"),
}
FINDINGS: Columns = {
    "status": ("text", "Whether the finding fails the audit, leaves something open, or informs"),
    "code": ("text", "Which rule found it; `docs/retained-retrieval-audit.md` has them all"),
    "at": ("text", "JSON pointer to the place in the bundle"),
}


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """How an asset is filed. `data` says whether it can be made again, `cost` what making it grows with."""

    group: str
    kinds: frozenset[str]
    data: Literal["original", "derived", "measured"]
    cost: Literal["text", "questions", "little"]
    columns: Columns

    @property
    def tags(self) -> dict[str, str]:
        return {"arborist/data": self.data, "arborist/cost": self.cost}


def _entry(
    group: str,
    kinds: str,
    data: Literal["original", "derived", "measured"],
    cost: Literal["text", "questions", "little"],
    columns: Columns,
) -> CatalogEntry:
    return CatalogEntry(group, frozenset(kinds.split()), data, cost, columns)


CATALOG: Mapping[str, CatalogEntry] = {
    SOURCE_DOCUMENTS: _entry("corpus", "python parquet", "derived", "text", DOCUMENTS),
    DOCUMENT_CHUNKS: _entry("corpus", "python parquet", "derived", "text", CHUNKS),
    FTS_INDEX: _entry("corpus", "sqlite", "derived", "text", INDEXED_CHUNKS),
    CORPUS_SNAPSHOT: _entry("corpus", "sqlite", "derived", "little", SHARDS),
    PROVIDENCE_LEDGER: _entry("providence", "sqlite", "original", "little", RECORDS),
    SELF_PROVIDENCE: _entry("providence", "sqlite parquet", "derived", "questions", DOCUMENTS),
    QUESTION_SWEEP: _entry("providence", "python parquet", "measured", "questions", SWEPT_QUESTIONS),
    GOLDEN_QUESTIONS: _entry("evaluation", "json", "original", "little", QUESTIONS),
    RETRIEVAL_EVALUATION: _entry("evaluation", "python sqlite", "measured", "questions", RUNS),
    EVALUATION_BASELINE: _entry("evaluation", "sqlite", "original", "little", BASELINES),
    RETAINED_RETRIEVAL_AUDIT: _entry("retrieval_audit", "json", "measured", "little", FINDINGS),
}


def catalogued(assets: Sequence[dg.AssetsDefinition]) -> list[dg.AssetsDefinition]:
    """The assets as the catalogue shows them, each owned by the team that its group is named after.

    Raises KeyError for an asset that is not in the catalogue.
    """
    filed = dg.with_source_code_references([definition.map_asset_specs(_filed) for definition in assets])
    return [definition for definition in filed if isinstance(definition, dg.AssetsDefinition)]


def _filed(spec: dg.AssetSpec) -> dg.AssetSpec:
    entry = CATALOG[spec.key.to_user_string()]
    return spec.replace_attributes(
        group_name=entry.group,
        owners=[f"team:{entry.group}"],
        tags=entry.tags,
        kinds=set(entry.kinds),
        metadata={**spec.metadata, "dagster/column_schema": _table_schema(entry.columns)},
    )


def _table_schema(columns: Columns) -> dg.TableSchema:
    return dg.TableSchema([dg.TableColumn(name, kind, text) for name, (kind, text) in columns.items()])
