"""Whether postings or FTS5 answer: the result is the same, so whichever has it sooner."""

import sys
from collections.abc import Sequence

from arborist.corpus.posting_sidecar import PostingSidecar
from arborist.corpus.shard import Shard

CHUNKS_WORTH_NUMPY = 30_000
"""FTS5 searches so many chunks in the time that importing numpy takes."""


def load_numpy_where_it_pays(shards: Sequence[Shard]) -> None:
    """Import numpy for a search over these shards, unless FTS5 would be done before that."""
    if sum(shard.meta.chunks for shard in shards) >= CHUNKS_WORTH_NUMPY:
        import numpy  # noqa: F401


def postings_of(shard: Shard) -> PostingSidecar | None:
    """The shard's postings, where it has any and numpy is there already to read them."""
    return shard.postings if "numpy" in sys.modules else None
