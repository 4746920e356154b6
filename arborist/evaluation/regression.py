"""How far a figure may fall before a run fails its gate (`retrieval-evaluation.md`, 6.2), in exact fractions."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

from arborist.evaluation.errors import ToleranceError
from arborist.evaluation.protocol import top_k_of
from arborist.evaluation.run import Breakdown, RunSummary, Tally

TOLERANCE = 1794000040
TOLERANCE_OPTION = 1794000041
DEFAULT_TOLERANCE = 0.1
_NUMBER = re.compile(r"[ \t\n\r\v\f]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\n\r\v\f]*\Z")


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The largest drop of each rate that is let pass, from 0 to 1; a drop equal to it passes.

    `group` is for each form and hard class by itself; None leaves those ungated. A float stands for the decimal
    number it prints as, so that 0.1 is one tenth. Raises ToleranceError (1794000040).
    """

    top1: float = DEFAULT_TOLERANCE
    top3: float = DEFAULT_TOLERANCE
    no_result: float = DEFAULT_TOLERANCE
    group: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not _is_tolerance(value):
                raise ToleranceError(f"the tolerance {field.name} is not a number in 0..1", TOLERANCE)


def _is_tolerance(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= 1


def parsed_tolerance(option: str, text: str) -> float:
    """The tolerance that `text` writes in decimal notation.

    Raises ToleranceError (1794000041) that names the option for anything that is not a number in 0..1; stricter
    than float(), which takes `nan`, `1_0` and digits of other scripts.
    """
    if _NUMBER.match(text) and _is_tolerance(float(text)):
        return float(text)
    raise ToleranceError(f"{option}: {text!r} is not a number in 0..1", TOLERANCE_OPTION)


@dataclass(frozen=True, slots=True)
class Change:
    """One figure in the baseline and now, as hits of as many questions; a `tolerance` of None gates nothing."""

    figure: str
    baseline_hits: int
    current_hits: int
    questions: int
    tolerance: float | None

    @property
    def delta(self) -> Fraction:
        """Current rate less the baseline's, exactly."""
        return Fraction(self.current_hits - self.baseline_hits, self.questions) if self.questions else Fraction(0)

    @property
    def is_regression(self) -> bool:
        """Whether the rate fell by strictly more than its tolerance."""
        return self.tolerance is not None and -self.delta > Fraction(repr(self.tolerance))

    def __str__(self) -> str:
        text = f"{self.figure} {self.baseline_hits}/{self.questions} -> {self.current_hits}/{self.questions}"
        return f"{text} ({float(self.delta * 100):+.1f} points)"


def changes(baseline: RunSummary, current: RunSummary, tolerances: Tolerances) -> tuple[Change, ...]:
    """Every figure of two comparable runs.

    Top-1 and top-3 are gated over all questions, as the contract has it, and over the answerable ones, since
    a retriever that finds less hits more of the questions that expect nothing.
    """
    top_k = f"top-{top_k_of(current.identity.scoring_version)}"
    return (
        *_pair("", top_k, baseline.all, current.all, tolerances.top1, tolerances.top3),
        *_pair(" (answerable)", top_k, baseline.answerable, current.answerable, tolerances.top1, tolerances.top3),
        _change(
            "no-result",
            baseline.no_result.top1_hits,
            current.no_result.top1_hits,
            current.no_result,
            tolerances.no_result,
        ),
        *_group_changes("form", top_k, baseline.by_form, current.by_form, tolerances.group),
        *_group_changes("class", top_k, baseline.by_hard_class, current.by_hard_class, tolerances.group),
    )


def _pair(
    suffix: str, top_k: str, old: Tally, new: Tally, top1: float | None, top3: float | None
) -> Iterator[Change]:
    yield _change(f"top-1{suffix}", old.top1_hits, new.top1_hits, new, top1)
    yield _change(f"{top_k}{suffix}", old.top3_hits, new.top3_hits, new, top3)


def _change(figure: str, old_hits: int, new_hits: int, tally: Tally, tolerance: float | None) -> Change:
    return Change(figure, old_hits, new_hits, tally.questions, tolerance)


def _group_changes(
    kind: str, top_k: str, baseline: Breakdown, current: Breakdown, tolerance: float | None
) -> Iterator[Change]:
    old_tallies = dict(baseline)
    for name, new in current:
        # A class may be missing from a baseline whose privacy level kept no names.
        if name in old_tallies and old_tallies[name].questions == new.questions:
            yield from _pair(f" ({kind} {name})", top_k, old_tallies[name], new, tolerance, tolerance)
