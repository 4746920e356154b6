"""This project's own retrieval as something to measure, under the name of each variant.

- `fts5`: questions as they are, over primary and background sources
- `fts5+keywords`: with the operator's keywords
- `fts5+promoted`: promoted answers are searched too
- `fts5@N` (for example `fts5@600`): chunks of at most N characters, built beside the corpus when first used

A document id is the document's uri. The corpus revision is a digest of the documents, not of the chunks made of
them, so that another chunking is another variant of the same benchmark.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from arborist import __version__
from arborist.corpus.config import ChunkingConfig
from arborist.corpus.shard import Shard
from arborist.corpus.store import Corpus
from arborist.errors import CorpusError, InputError
from arborist.evaluation.provenance import NOT_APPLICABLE, RetrievalProvenance
from arborist.evaluation.retriever import Retriever, RetrieverContext, RetrieverFactory
from arborist.hashing import Domain, hash_json
from arborist.home import Home
from arborist.policy import PROVIDENCE_SOURCE, RetrievalDefaults
from arborist.retrieval.plan import FTS5, FTS5_KEYWORDS
from arborist.retrieval.retrieve import Query, plan_for, retrieved
from arborist.workspace import Workspace

CHUNKS_A_DOCUMENT = 4
"""How many chunks are fetched for each document wanted, since several of one document may rank high."""
PROMOTED = "fts5+promoted"
CHUNKED = re.compile(r"fts5@([1-9][0-9]{0,8})")


class Fts5Retriever:
    """The search that `ask` does, over shards held open; close it when done."""

    def __init__(
        self, identifier: str, corpus: Corpus, keywords: tuple[str, ...] = (), over_fetch: int = 32
    ) -> None:
        """Raises CorpusError where the corpus has not been built."""
        self.identifier = identifier
        self._corpus = corpus
        self._keywords = keywords
        self._over_fetch = over_fetch
        names = corpus.published_shards()
        if identifier != PROMOTED:
            names = [name for name in names if not name.startswith(f"{PROVIDENCE_SOURCE}-")]
        if not names:
            raise CorpusError(f"{corpus.home.root}: no shard has been built yet (run `arborist build`)")
        self._shards = [Shard(corpus.home.shard_file(name)) for name in names]

    def close(self) -> None:
        for shard in self._shards:
            shard.close()

    def retrieve(self, question: str, limit: int) -> list[str]:
        """The uris of the documents that the best chunks are of, best first, each once."""
        chunks = limit * CHUNKS_A_DOCUMENT
        query = Query(question, self._keywords, top_k=chunks, over_fetch=max(chunks, self._over_fetch))
        ranking = self._corpus.config.policy.ranking
        plan = plan_for(query, self._shards, RetrievalDefaults(), ranking)
        found = retrieved(plan, question, self._shards, ranking)
        return list(dict.fromkeys(source.uri for source in found))[:limit]

    def retrieval_provenance(self) -> RetrievalProvenance:
        versions = sorted({shard.meta.chunking_version for shard in self._primary})
        return RetrievalProvenance(
            corpus_revision=self._revision(),
            model_revision=NOT_APPLICABLE,
            chunking_identity=_label(versions[0]) if len(versions) == 1 else hash_json(Domain.INDEX, versions),
            pipeline_identity=self._pipeline(),
            execution_revision=execution_revision(),
        )

    def current_corpus_revision(self) -> str:
        """The revision of what is published by now; another one than declared means that it changed meanwhile."""
        with self._corpus.opened([shard.meta.shard for shard in self._primary]) as shards:
            return _documents_revision(shards)

    def missing_documents(self, document_ids: Sequence[str]) -> list[str]:
        known = {uri for shard in self._shards for (uri,) in shard.rows("SELECT uri FROM documents")}
        return [document_id for document_id in document_ids if document_id not in known]

    @property
    def _primary(self) -> list[Shard]:
        return [shard for shard in self._shards if shard.meta.source != PROVIDENCE_SOURCE]

    def _revision(self) -> str:
        return _documents_revision(self._primary)

    def _pipeline(self) -> str:
        """Everything beside the chunking that can alter the ranking."""
        return hash_json(
            Domain.PIPELINE,
            {
                "ranking_policy_hash": self._corpus.config.policy.ranking.digest(),
                "index_versions": sorted({shard.meta.index_version for shard in self._shards}),
                "keywords": list(self._keywords),
                "over_fetch": self._over_fetch,
                "chunks_a_document": CHUNKS_A_DOCUMENT,
                "promoted": [s.meta.shard_root for s in self._shards if s.meta.source == PROVIDENCE_SOURCE],
            },
        )


def _documents_revision(shards: Sequence[Shard]) -> str:
    return hash_json(Domain.SOURCE_DOCUMENTS, {shard.meta.shard: shard.meta.documents_digest for shard in shards})


def _label(text: str) -> str:
    """The text as a provenance label, which has no `=`."""
    return text.replace("=", ":")


def execution_revision() -> str:
    """The commit of the checkout that this code runs from; the package's version where there is none."""
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return __version__
    return done.stdout.strip()


def chunked_anew(workspace: Workspace, max_characters: int) -> Corpus:
    """The workspace's documents under another chunk size, in a home of its own, built where it is behind."""
    from arborist.corpus.work import chunk_shard, index_shard

    home = Home(workspace.home.root / "variants" / f"max-{max_characters}")
    home.root.mkdir(parents=True, exist_ok=True)
    documents = home.root / "documents"
    if not documents.is_symlink():
        documents.symlink_to(Path("..", "..", "documents"), target_is_directory=True)
    corpus = Corpus(home, replace(workspace.config, chunking=ChunkingConfig(max_characters)))
    for shard in corpus.config.shard_names:
        if corpus.chunks_behind(shard):
            chunk_shard(corpus, shard)
        if corpus.index_behind(shard):
            index_shard(corpus, shard)
    return corpus


def own_retrievers() -> Mapping[str, RetrieverFactory]:
    """The variants with a fixed name."""
    return {FTS5: _plain, FTS5_KEYWORDS: _with_keywords, PROMOTED: _with_promoted}


def chunked_retriever(name: str, context: RetrieverContext) -> Retriever | None:
    """The variant `fts5@N`; None for any other name."""
    found = CHUNKED.fullmatch(name)
    if found is None:
        return None
    return Fts5Retriever(name, chunked_anew(context.workspace(), int(found[1])), context.keywords)


def _plain(context: RetrieverContext) -> Retriever:
    if context.keywords:
        raise InputError(f"keywords are for the retriever {FTS5_KEYWORDS}")
    return Fts5Retriever(FTS5, context.workspace().corpus)


def _with_keywords(context: RetrieverContext) -> Retriever:
    if not context.keywords:
        raise InputError(f"{FTS5_KEYWORDS} needs a keyword or more (--keyword)")
    return Fts5Retriever(FTS5_KEYWORDS, context.workspace().corpus, context.keywords)


def _with_promoted(context: RetrieverContext) -> Retriever:
    return Fts5Retriever(PROMOTED, context.workspace().corpus, context.keywords)
