"""The constants of the scoring protocol, and the name a run's scoring goes by."""

import re
from dataclasses import dataclass

from arborist.evaluation.errors import CodedInputError

SCORING_VERSION = "distinct-documents-top1-top3-no-result-v1"
METRIC_DEPTH = 10
"""Distinct documents that nDCG, recall and reciprocal rank look at."""

TOP_K = 3
OVER_FETCH = 4
MAX_LIMIT = 10_000
_TOP_K = re.compile(r"distinct-documents-top1-top(\d+)-no-result-v1", re.ASCII)


@dataclass(frozen=True, slots=True)
class ScoringProtocol:
    """How many distinct documents count as found, and how many raw results are asked for to find that many.

    Other constants than the contract's 3 and 4 measure something else, so they have a `version` of their own
    and are not compared with it. Raises CodedInputError for numbers below 1 or beyond 10,000 raw results.
    """

    top_k: int = TOP_K
    over_fetch: int = OVER_FETCH

    def __post_init__(self) -> None:
        if self.top_k < 1 or self.over_fetch < 1:
            raise CodedInputError("top-k and over-fetch are whole numbers from 1 up")
        if self.limit > MAX_LIMIT:
            raise CodedInputError(
                f"top-k times over-fetch is {self.limit}: at most {MAX_LIMIT} results are asked for"
            )

    @property
    def limit(self) -> int:
        """Raw results a retriever is asked for."""
        return self.top_k * self.over_fetch

    @property
    def depth(self) -> int:
        """Distinct documents that are looked at for any figure."""
        return max(self.top_k, METRIC_DEPTH)

    @property
    def version(self) -> str:
        """The scoring's name in the benchmark fingerprint."""
        name = f"distinct-documents-top1-top{self.top_k}-no-result-v1"
        return name if self.over_fetch == OVER_FETCH else f"{name}+over-fetch-{self.over_fetch}"


def top_k_of(scoring_version: str) -> int:
    """The K of a scoring version's second figure; 3 for a name that does not tell."""
    match = _TOP_K.match(scoring_version)
    return int(match[1]) if match else TOP_K


STANDARD = ScoringProtocol()
