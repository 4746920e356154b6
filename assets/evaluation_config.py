"""What a person may say of an evaluation in the launchpad."""

from typing import Literal

import dagster as dg
from pydantic import Field


class EvaluationConfig(dg.Config):
    """How a golden set is measured; the set itself is the partition."""

    retriever: Literal["fts5", "fts5+keywords", "fts5+promoted"] = Field(
        default="fts5",
        description="What is measured: the search as it is, with `keywords`, or with promoted answers in it.",
    )
    other_retriever: str | None = Field(
        default=None,
        description=(
            "Instead of `retriever`: `fts5@600` (chunks of at most 600 characters), a function as "
            "`module:function`, or an http(s) URL."
        ),
    )
    keywords: list[str] = Field(
        default=[], description="Search hints for `fts5+keywords`; the same for all questions."
    )
    top_k: int = Field(
        default=3,
        ge=1,
        description="Distinct documents that count as found. Another number than 3 is another benchmark.",
    )
    over_fetch: int = Field(
        default=4,
        ge=1,
        description="Raw results asked for, per document counted. Another number is another benchmark.",
    )
    privacy: Literal["none", "metadata", "redacted", "full"] = Field(
        default="metadata", description="What of questions and found documents is kept with the run."
    )
    max_top1_drop: float = Field(default=0.1, ge=0, le=1, description="How far top-1 may fall below the baseline.")
    max_top3_drop: float = Field(default=0.1, ge=0, le=1, description="How far top-3 may fall below the baseline.")
    max_no_result_drop: float = Field(
        default=0.1, ge=0, le=1, description="How far the share of no-result questions answered so may fall."
    )
    notes: str = Field(default="", description="Kept with the run.")


class BaselineConfig(dg.Config):
    """Which run becomes the baseline of its set, retriever and benchmark."""

    run_id: int | None = Field(
        default=None,
        ge=1,
        description=(
            "The number of a run, as `evaluation_run` on its materialization says. Without one the baselines stay "
            "as they are."
        ),
    )
