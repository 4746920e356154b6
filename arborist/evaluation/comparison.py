"""Whether two runs measure the same thing (`retrieval-evaluation.md`, 6.1), and in what they differ if not."""

from dataclasses import dataclass
from enum import StrEnum

from arborist.evaluation.errors import NotComparableError
from arborist.evaluation.fingerprint import Identity

UNDECLARED = "unknown"


class BaselineState(StrEnum):
    """How a run stands to the baseline it is held against."""

    UNKNOWN = "unknown"
    BASELINE = "baseline"
    MISMATCH = "mismatch"
    COMPARABLE = "comparable"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field under its name in the contract, with the value of the baseline and of the current run."""

    field: str
    baseline: str
    current: str

    def __str__(self) -> str:
        return f"{self.field}: {self.baseline} -> {self.current}"


def baseline_state(current: Identity, baseline: Identity | None) -> BaselineState:
    """The state of a run; without a baseline it could become one, unless it declares no provenance."""
    if not current.benchmark:
        return BaselineState.UNKNOWN
    if baseline is None:
        return BaselineState.BASELINE
    if not baseline.benchmark:
        return BaselineState.UNKNOWN
    return BaselineState.COMPARABLE if current.benchmark == baseline.benchmark else BaselineState.MISMATCH


def benchmark_differences(baseline: Identity, current: Identity) -> tuple[Difference, ...]:
    """The fields that make two runs measure different things; empty exactly for comparable ones."""
    old = baseline.provenance.corpus_revision if baseline.provenance else UNDECLARED
    new = current.provenance.corpus_revision if current.provenance else UNDECLARED
    others = _differences(
        [
            ("labels", baseline.labels, current.labels),
            ("scoringVersion", baseline.scoring_version, current.scoring_version),
        ]
    )
    # Two runs that both declare nothing are not known to be the same.
    if old != new or baseline.provenance is None or current.provenance is None:
        return (Difference("corpusRevision", old, new), *others)
    return others


def treatment_differences(baseline: Identity, current: Identity) -> tuple[Difference, ...]:
    """The fields of model, chunking and pipeline that differ: what a comparison is about, never its obstacle."""
    old, new = baseline.provenance, current.provenance
    if old is None or new is None:
        return ()
    return _differences(
        [
            ("modelRevision", old.model_revision, new.model_revision),
            ("chunkingIdentity", old.chunking_identity, new.chunking_identity),
            ("pipelineIdentity", old.pipeline_identity, new.pipeline_identity),
        ]
    )


def _differences(pairs: list[tuple[str, str, str]]) -> tuple[Difference, ...]:
    return tuple(Difference(name, old, new) for name, old, new in pairs if old != new)


def refuse_different(differences: tuple[Difference, ...]) -> None:
    """Raises NotComparableError that names every differing field with both values; returns where there is none."""
    if differences:
        raise NotComparableError("not comparable: " + "; ".join(map(str, differences)))
