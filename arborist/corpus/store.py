"""The corpus of a home: what of it is current, and the three steps that make it so."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property

from arborist.corpus.chunking import Chunker
from arborist.corpus.config import CorpusConfig
from arborist.corpus.posting_sidecar import has_postings
from arborist.corpus.shard import Shard, ShardMeta, read_shard_meta
from arborist.corpus.snapshot import CorpusSnapshot
from arborist.corpus.tokenizer import INDEX_VERSION
from arborist.errors import CorpusError
from arborist.home import Home
from arborist.policy import PROVIDENCE_SOURCE

POSTINGS_MISSING = "its postings are missing"


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """Where a shard stands: `published` is what its file says, `behind` why it is not current, empty if it is.

    A `cold` shard was evicted: it is not searched, and not published, until it is rehydrated.
    """

    shard: str
    source: str
    published: ShardMeta | None
    behind: str
    cold: bool = False


@dataclass(frozen=True)
class Corpus:
    """Documents, chunks and shards under a home, as `corpus.toml` wants them.

    Whether something is current is read from the files themselves, never from a memory of what was done.
    """

    home: Home
    config: CorpusConfig

    @cached_property
    def chunker(self) -> Chunker:
        return Chunker(self.config.chunking.max_characters)

    def stale_sources(self) -> list[str]:
        """Sources whose documents are not what the source would give now, judged by content."""
        from arborist.corpus.source_documents import read_manifest
        from arborist.corpus.sources import open_source

        stale = []
        for source in self.config.sources:
            manifest = read_manifest(self.home, source.name)
            current = (
                manifest is not None
                and tuple(sorted(manifest.shards)) == source.shard_names
                and manifest.input_digest == open_source(source).input_digest()
            )
            if not current:
                stale.append(source.name)
        return stale

    def chunks_behind(self, shard: str) -> str:
        """Why the shard's chunk file is not that of its documents under today's chunking; empty if it is."""
        from arborist.corpus import tables
        from arborist.corpus.document_chunks import read_shard_chunks

        source = self.config.source_of_shard(shard)
        chunks = read_shard_chunks(self.home, shard)
        if chunks is None:
            return "not chunked yet"
        if chunks.chunking_version != self.chunker.version:
            return f"chunked by {chunks.chunking_version}, not {self.chunker.version}"
        documents = tables.read_labels(self.home.documents_file(source.name, shard)) or {}
        if chunks.documents_digest != documents.get("documents_digest"):
            return "its documents have changed"
        return ""

    def index_behind(self, shard: str) -> str:
        """Why the published shard file is not that of its chunk file; empty if it is."""
        from arborist.corpus.document_chunks import read_shard_chunks

        chunks = read_shard_chunks(self.home, shard)
        meta = read_shard_meta(self.home, shard) or self.cold_meta(shard)
        if meta is None:
            return "not published yet"
        if meta.index_version != INDEX_VERSION:
            return f"indexed by {meta.index_version}, not {INDEX_VERSION}"
        if chunks is None or meta.shard_root != chunks.shard_root:
            return "its chunks have changed"
        path = self.home.shard_file(shard)
        return POSTINGS_MISSING if path.is_file() and not has_postings(path, meta.digest) else ""

    def cold_meta(self, shard: str) -> ShardMeta | None:
        """What an evicted shard says of itself; None where the shard is published, or was never evicted."""
        path = self.home.cold_shard_file(shard)
        if self.home.shard_file(shard).is_file() or not path.is_file():
            return None
        with Shard(path) as opened:
            return opened.meta

    def status(self) -> list[ShardStatus]:
        """Every configured shard, in the order of the configuration."""
        return [
            ShardStatus(
                shard=shard,
                source=source.name,
                published=read_shard_meta(self.home, shard),
                behind=self.chunks_behind(shard) or self.index_behind(shard),
                cold=self.cold_meta(shard) is not None,
            )
            for source in self.config.sources
            for shard in source.shard_names
        ]

    def published_shards(self) -> list[str]:
        """The names of all shards that can be searched now: configured, and that of promoted answers."""
        folder = self.home.shards_folder
        promoted = sorted(path.stem for path in folder.glob(f"{PROVIDENCE_SOURCE}-???.db"))
        return sorted(
            [name for name in self.config.shard_names if self.home.shard_file(name).is_file()] + promoted
        )

    def unpublished_shards(self) -> list[str]:
        """Configured shards that have no file: a search goes without them."""
        return [name for name in self.config.shard_names if not self.home.shard_file(name).is_file()]

    @contextmanager
    def opened(self, names: Sequence[str] | None = None) -> Iterator[list[Shard]]:
        """The shards of these names (all that can be searched by default), open for reading.

        Raises CorpusError where nothing was built yet, or a shard is missing or damaged.
        """
        names = self.published_shards() if names is None else names
        if not names:
            raise CorpusError(f"{self.home.root}: no shard has been built yet (run `arborist build`)")
        with ExitStack() as stack:
            yield [stack.enter_context(Shard(self.home.shard_file(name))) for name in names]

    def snapshot(self) -> CorpusSnapshot:
        """The shards that can be searched now, each at its root."""
        with self.opened() as shards:
            return CorpusSnapshot.of([(shard.meta.shard, shard.meta.shard_root) for shard in shards])
