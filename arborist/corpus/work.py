"""The build steps over many shards at once: in parallel processes, each shard failing alone."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Generic, TypeVar

from arborist import progress
from arborist.corpus.document_chunks import ShardChunks, write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.corpus.shard import ShardMeta
from arborist.corpus.store import Corpus
from arborist.errors import ArboristError, CorpusError

T = TypeVar("T")

SHARDS_WORTH_PROCESSES = 4


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a step gave for one shard: a result, or the error it ended with."""

    shard: str
    result: T | None
    error: ArboristError | None = None


def chunk_shard(corpus: Corpus, shard: str) -> ShardChunks:
    """Chunk one shard's documents."""
    return write_document_chunks(corpus.home, corpus.config.source_of_shard(shard).name, shard, corpus.chunker)


def index_shard(corpus: Corpus, shard: str) -> ShardMeta:
    """Publish one shard's file."""
    return write_fts_index(corpus.home, shard)


def over_shards(
    corpus: Corpus, step: Callable[[Corpus, str], T], shards: Sequence[str], name: str
) -> list[Outcome[T]]:
    """The outcome of `step` for every shard, in the order of `shards`; `name` is told to whoever watches."""
    outcomes = {}
    for outcome in _outcomes(corpus, step, shards):
        outcomes[outcome.shard] = outcome
        progress.done(f"{name} {outcome.shard}")
    return [outcomes[shard] for shard in shards]


def _outcomes(corpus: Corpus, step: Callable[[Corpus, str], T], shards: Sequence[str]) -> Iterator[Outcome[T]]:
    processes = min(os.cpu_count() or 1, len(shards))
    if processes < 2 or len(shards) < SHARDS_WORTH_PROCESSES:
        yield from (_outcome(corpus, step, shard) for shard in shards)
        return
    # A corpus that has worked already holds a splitter, which cannot be sent to another process.
    plain = Corpus(corpus.home, corpus.config)
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
        futures = {pool.submit(_outcome, plain, step, shard): shard for shard in shards}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenExecutor:
                # One process that dies takes the whole pool with it; which shard it had cannot be told.
                yield Outcome(futures[future], None, CorpusError("a process that builds shards died"))


def _outcome(corpus: Corpus, step: Callable[[Corpus, str], T], shard: str) -> Outcome[T]:
    try:
        return Outcome(shard, step(corpus, shard))
    except ArboristError as error:
        return Outcome(shard, None, error)
    except OSError as error:
        return Outcome(shard, None, CorpusError(f"{error.filename or shard}: {error.strerror}"))
