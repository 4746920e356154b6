"""Blocks of postings and their corners, by which a search knows what a block can score without reading it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BlockPostings:
    """The postings of neighbouring blocks, block after block: tokens of the chunk, frequencies in title and text.

    `sizes` says how many postings each block has.
    """

    sizes: "NDArray[np.int64]"
    lengths: "NDArray[np.int32]"
    titles: "NDArray[Any]"
    texts: "NDArray[Any]"


@dataclass(frozen=True, slots=True)
class BlockCorners:
    """How many corners each of some blocks has, and what they are, block after block."""

    counts: "NDArray[np.int64]"
    lengths: "NDArray[np.int64]"
    titles: "NDArray[np.int64]"
    texts: "NDArray[np.int64]"


class CornerFinder(Protocol):
    """Finds the corners of blocks."""

    def block_corners(self, blocks: BlockPostings) -> BlockCorners:
        """Among the postings of a block that have one frequency in the title, in the order of their lengths, those
        whose frequency in the text is above that of all before them: all corners, and few others.
        """
