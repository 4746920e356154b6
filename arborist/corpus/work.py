"""The build steps over many sources or shards at once: each fails alone, shards in parallel processes."""

import errno
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Generic, TypeVar

from arborist import progress
from arborist.corpus.document_chunks import ShardChunks, read_shard_chunks, write_document_chunks
from arborist.corpus.fts_index import write_fts_index, write_missing_postings
from arborist.corpus.shard import Shard, ShardFault, ShardMeta, read_shard_meta
from arborist.corpus.source_documents import SourceManifest, write_source_documents
from arborist.corpus.sources import open_source
from arborist.corpus.store import POSTINGS_MISSING, Corpus
from arborist.errors import ArboristError, CorpusError
from arborist.home import Home

T = TypeVar("T")

SHARDS_WORTH_PROCESSES = 4
BYTES_WORTH_PROCESSES = 2_000_000
"""Of document files: two large shards are worth a second process too."""
SHARDS_A_PROCESS = 3
"""A process costs memory and a start; on a machine of many processors a few shards do not pay for one each."""
# Imported once, in the process from which those that work are forked.
PRELOADED = ("arborist.corpus.work", "numpy", "pyarrow.parquet", "semantic_text_splitter")
_MAY_PASS = {
    errno.EAGAIN,
    errno.EBUSY,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.ESTALE,
    errno.ETIMEDOUT,
}


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a step gave for one source or shard, by its name: a result, or the error it ended with.

    `transient` says that trying again may help: the system refused memory, space, handles or time. `seconds` is
    how long the step took, 0 where that is not known.
    """

    name: str
    result: T | None
    error: ArboristError | None = None
    transient: bool = False
    seconds: float = 0.0


def read_source(corpus: Corpus, source: str) -> SourceManifest:
    """Read one source into its shards' document files."""
    return write_source_documents(open_source(corpus.config.source(source)), corpus.home)


def chunk_shard(corpus: Corpus, shard: str) -> ShardChunks:
    """Chunk one shard's documents."""
    return write_document_chunks(corpus.home, corpus.config.source_of_shard(shard).name, shard, corpus.chunker)


def index_shard(corpus: Corpus, shard: str) -> ShardMeta:
    """Publish one shard's file, or its postings where only these are missing."""
    if corpus.index_behind(shard) == POSTINGS_MISSING:
        return write_missing_postings(corpus.home, shard)
    return write_fts_index(corpus.home, shard)


def chunks_since(corpus: Corpus, shard: str, moment: float) -> ShardChunks | None:
    """What `chunk_shard` would give, where that was made since `moment` and is still current; else None."""
    made = _written_since(corpus.home.chunks_file(shard), moment) and not corpus.chunks_behind(shard)
    return read_shard_chunks(corpus.home, shard) if made else None


def index_since(corpus: Corpus, shard: str, moment: float) -> ShardMeta | None:
    """What `index_shard` would give, where that was made since `moment` and is still current; else None."""
    made = _written_since(corpus.home.shard_file(shard), moment) and not corpus.index_behind(shard)
    return read_shard_meta(corpus.home, shard) if made else None


def _written_since(path: Path, moment: float) -> bool:
    return path.is_file() and path.stat().st_mtime >= moment


def over_sources(corpus: Corpus, sources: Sequence[str]) -> list[Outcome[SourceManifest]]:
    """The outcome of reading every source, one after the other: most wait for the disk, and memory stays flat."""
    return _watched("documents", sources, (_outcome(corpus, read_source, source) for source in sources))


def over_shards(
    corpus: Corpus, step: Callable[[Corpus, str], T], shards: Sequence[str], name: str
) -> list[Outcome[T]]:
    """The outcome of `step` for every shard, in the order of `shards`; `name` is told to whoever watches."""
    return _watched(name, shards, _outcomes(corpus, step, shards))


def faults_over_shards(
    corpus: Corpus, find: Callable[[Home, str], Iterable[ShardFault]], shards: Sequence[str]
) -> list[ShardFault]:
    """What `find` finds in any of the shards, in their order; a shard that it cannot read is a fault as well."""
    step = partial(_listed, find)
    outcomes = {outcome.name: outcome for outcome in _outcomes(corpus, step, shards)}
    found: list[ShardFault] = []
    for shard in shards:
        outcome = outcomes[shard]
        if outcome.transient:
            # That a process died says nothing about the shard.
            outcome = _outcome(corpus, step, shard)
        found += [ShardFault(shard, "file", str(outcome.error))] if outcome.error else outcome.result or []
    return found


def _listed(find: Callable[[Home, str], Iterable[T]], corpus: Corpus, shard: str) -> list[T]:
    return list(find(corpus.home, shard))


def published_faults(find: Callable[[Shard], Iterable[ShardFault]], home: Home, shard: str) -> list[ShardFault]:
    """What `find` finds in the published file of a shard. Raises CorpusError where that is missing or damaged."""
    with Shard(home.shard_file(shard)) as opened:
        return list(find(opened))


def _watched(step: str, names: Sequence[str], arriving: Iterator[Outcome[T]]) -> list[Outcome[T]]:
    outcomes = {}
    for outcome in arriving:
        outcomes[outcome.name] = outcome
        progress.done(f"{step} {outcome.name}")
    return [outcomes[name] for name in names]


def _outcomes(corpus: Corpus, step: Callable[[Corpus, str], T], shards: Sequence[str]) -> Iterator[Outcome[T]]:
    processes = min(os.cpu_count() or 1, max(2, len(shards) // SHARDS_A_PROCESS))
    if processes < 2 or not _worth_processes(corpus, shards):
        yield from (_outcome(corpus, step, shard) for shard in shards)
        return
    # A corpus that has worked already holds a splitter, which cannot be sent to another process.
    plain = Corpus(corpus.home, corpus.config)
    context = get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    pool = ProcessPoolExecutor(processes, context, initializer=_follow_parent)
    try:
        # The largest first, so that none of them is begun when the other processes have nothing left to do.
        largest_first = sorted(shards, key=lambda shard: -_documents_size(corpus, shard))
        futures = {pool.submit(_outcome, plain, step, shard): shard for shard in largest_first}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenExecutor:
                # One process that dies takes the whole pool with it; which shard it had cannot be told.
                yield Outcome(
                    futures[future], None, CorpusError("a process that works on shards died"), transient=True
                )
    finally:
        # Whoever stops listening wants no further shard begun.
        pool.shutdown(cancel_futures=True)


def _worth_processes(corpus: Corpus, shards: Sequence[str]) -> bool:
    if len(shards) >= SHARDS_WORTH_PROCESSES:
        return True
    return len(shards) > 1 and sum(_documents_size(corpus, shard) for shard in shards) >= BYTES_WORTH_PROCESSES


def _documents_size(corpus: Corpus, shard: str) -> int:
    """Bytes of the shard's document file; nothing where there is none."""
    # Not asked of the configuration, where the source of promoted answers does not stand.
    file = corpus.home.documents_file(shard.rpartition("-")[0], shard)
    return file.stat().st_size if file.is_file() else 0


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
    started = perf_counter()
    try:
        return Outcome(name, step(corpus, name), seconds=perf_counter() - started)
    except ArboristError as error:
        return Outcome(name, None, error, _may_pass(error.__cause__))
    except OSError as error:
        return Outcome(name, None, CorpusError(f"{error.filename or name}: {error.strerror}"), _may_pass(error))


def _may_pass(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in _MAY_PASS
