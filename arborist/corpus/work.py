"""The build steps over many sources or shards at once: each fails alone, shards in parallel processes."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from threading import Thread
from typing import Generic, TypeVar

from arborist import progress
from arborist.corpus.document_chunks import ShardChunks, write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.corpus.shard import ShardMeta
from arborist.corpus.source_documents import SourceManifest, write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.store import Corpus
from arborist.errors import ArboristError, CorpusError

T = TypeVar("T")

SHARDS_WORTH_PROCESSES = 4


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a step gave for one source or shard, by its name: a result, or the error it ended with."""

    name: str
    result: T | None
    error: ArboristError | None = None


def read_source(corpus: Corpus, source: str) -> SourceManifest:
    """Read one source into its shards' document files."""
    return write_source_documents(open_source(corpus.config.source(source)), corpus.home)


def chunk_shard(corpus: Corpus, shard: str) -> ShardChunks:
    """Chunk one shard's documents."""
    return write_document_chunks(corpus.home, corpus.config.source_of_shard(shard).name, shard, corpus.chunker)


def index_shard(corpus: Corpus, shard: str) -> ShardMeta:
    """Publish one shard's file."""
    return write_fts_index(corpus.home, shard)


def over_sources(corpus: Corpus, sources: Sequence[str]) -> list[Outcome[SourceManifest]]:
    """The outcome of reading every source, one after the other: most wait for the disk, and memory stays flat."""
    return _watched("documents", sources, (_outcome(corpus, read_source, source) for source in sources))


def over_shards(
    corpus: Corpus, step: Callable[[Corpus, str], T], shards: Sequence[str], name: str
) -> list[Outcome[T]]:
    """The outcome of `step` for every shard, in the order of `shards`; `name` is told to whoever watches."""
    return _watched(name, shards, _outcomes(corpus, step, shards))


def _watched(step: str, names: Sequence[str], arriving: Iterator[Outcome[T]]) -> list[Outcome[T]]:
    outcomes = {}
    for outcome in arriving:
        outcomes[outcome.name] = outcome
        progress.done(f"{step} {outcome.name}")
    return [outcomes[name] for name in names]


def _outcomes(corpus: Corpus, step: Callable[[Corpus, str], T], shards: Sequence[str]) -> Iterator[Outcome[T]]:
    processes = min(os.cpu_count() or 1, len(shards))
    if processes < 2 or len(shards) < SHARDS_WORTH_PROCESSES:
        yield from (_outcome(corpus, step, shard) for shard in shards)
        return
    # A corpus that has worked already holds a splitter, which cannot be sent to another process.
    plain = Corpus(corpus.home, corpus.config)
    pool = ProcessPoolExecutor(processes, get_context("forkserver"), initializer=_follow_parent)
    try:
        futures = {pool.submit(_outcome, plain, step, shard): shard for shard in shards}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenExecutor:
                # One process that dies takes the whole pool with it; which shard it had cannot be told.
                yield Outcome(futures[future], None, CorpusError("a process that builds shards died"))
    finally:
        # Whoever stops listening wants no further shard begun.
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """End this process when the one that it works for ends, however that ends; leave Ctrl-C to that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_after_parent, daemon=True).start()


def _end_after_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _outcome(corpus: Corpus, step: Callable[[Corpus, str], T], name: str) -> Outcome[T]:
    try:
        return Outcome(name, step(corpus, name))
    except ArboristError as error:
        return Outcome(name, None, error)
    except OSError as error:
        return Outcome(name, None, CorpusError(f"{error.filename or name}: {error.strerror}"))
