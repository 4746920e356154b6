"""Tolerances and drops: rows D1 to D8, C15, C16 and R6 of `retrieval-evaluation.md`, in exact arithmetic."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.evaluation.errors import ToleranceError
from arborist.evaluation.fingerprint import Identity
from arborist.evaluation.protocol import SCORING_VERSION
from arborist.evaluation.regression import Change, Tolerances, changes, parsed_tolerance
from arborist.evaluation.run import Breakdown, RunSummary, Tally

NO_QUESTIONS = Tally()


def summary(
    counted: Tally,
    no_result: Tally = NO_QUESTIONS,
    forms: Breakdown = (),
    classes: Breakdown = (),
) -> RunSummary:
    identity = Identity("", SCORING_VERSION, None)
    return RunSummary("s", "r", 0, identity, counted, no_result, forms, classes, 0, 0, 0, None, ())


def dropped(baseline: Tally, current: Tally, tolerances: Tolerances) -> list[str]:
    compared = changes(summary(baseline), summary(current), tolerances)
    return [change.figure for change in compared if change.is_regression]


@pytest.mark.parametrize(
    ("row", "baseline", "current", "tolerances", "regressed"),
    [
        ("D2", Tally(2, 2, 2), Tally(2, 1, 2), Tolerances(), True),
        ("D3", Tally(2, 1, 1), Tally(2, 2, 2), Tolerances(), False),
        ("D4", Tally(20, 18, 18), Tally(20, 17, 17), Tolerances(), False),
        ("D5", Tally(10, 5, 9), Tally(10, 5, 6), Tolerances(), True),
        ("D6", Tally(10, 9, 9), Tally(10, 6, 6), Tolerances(0.5, 0.5), False),
        ("equal to the tolerance", Tally(2, 2, 2), Tally(2, 1, 1), Tolerances(0.5, 0.5), False),
        ("8/10 to 7/10", Tally(10, 8, 8), Tally(10, 7, 7), Tolerances(), False),
        ("8/10 to 6/10", Tally(10, 8, 8), Tally(10, 6, 6), Tolerances(), True),
        ("4/10 to 3/10", Tally(10, 4, 4), Tally(10, 3, 3), Tolerances(), False),
        ("2/3 again", Tally(3, 2, 2), Tally(3, 2, 2), Tolerances(0.0, 0.0), False),
        ("one of a thousand", Tally(1000, 800, 800), Tally(1000, 699, 800), Tolerances(), True),
    ],
)
def test_a_drop_beyond_its_tolerance_is_a_regression(
    row: str, baseline: Tally, current: Tally, tolerances: Tolerances, *, regressed: bool
) -> None:
    assert bool(dropped(baseline, current, tolerances)) is regressed


@given(st.sampled_from([10, 20, 25, 40, 50, 100]), st.integers(0, 100), st.integers(0, 100))
def test_a_drop_of_exactly_the_tolerance_always_passes_and_one_hit_more_never(
    questions: int, hundredths: int, spare: int
) -> None:
    allowed = questions * hundredths // 100
    tolerance = float(Fraction(allowed, questions))
    before = min(questions, allowed + 1 + spare)
    assert not Change("top-1", before, before - allowed, questions, tolerance).is_regression
    if before > allowed:
        assert Change("top-1", before, before - allowed - 1, questions, tolerance).is_regression


def test_one_figure_may_fall_while_the_other_stands() -> None:
    """R6"""
    compared = {c.figure: c for c in changes(summary(Tally(2, 2, 2)), summary(Tally(2, 1, 2)), Tolerances())}
    assert compared["top-1"].delta == Fraction(-1, 2)
    assert compared["top-1"].is_regression
    assert compared["top-3"].delta == 0
    assert not compared["top-3"].is_regression


def test_finding_nothing_any_more_is_a_regression_although_the_overall_rate_rises() -> None:
    before = summary(Tally(20, 8, 8), no_result=Tally(10, 0, 0))
    after = summary(Tally(20, 10, 10), no_result=Tally(10, 10, 10))
    dropped_figures = [c.figure for c in changes(before, after, Tolerances()) if c.is_regression]
    assert dropped_figures == ["top-1 (answerable)", "top-3 (answerable)"]


def test_no_result_questions_have_a_tolerance_of_their_own() -> None:
    before, after = (summary(Tally(20, 10 + n, 10 + n), no_result=Tally(10, n, n)) for n in (6, 4))
    assert [c.figure for c in changes(before, after, Tolerances()) if c.is_regression] == ["no-result"]
    assert not [c for c in changes(before, after, Tolerances(no_result=0.2)) if c.is_regression]


def test_forms_and_classes_are_gated_on_demand() -> None:
    before = summary(Tally(20, 10, 10), forms=(("gap", Tally(2, 2, 2)),), classes=(("rare", Tally(2, 2, 2)),))
    after = summary(Tally(20, 10, 10), forms=(("gap", Tally(2, 1, 2)),), classes=(("rare", Tally(2, 2, 1)),))
    assert not [c for c in changes(before, after, Tolerances()) if c.is_regression]
    gated = [c.figure for c in changes(before, after, Tolerances(group=0.1)) if c.is_regression]
    assert gated == ["top-1 (form gap)", "top-3 (class rare)"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.0001, 1.0001])
@pytest.mark.parametrize("field", ["top1", "top3", "no_result", "group"])
def test_a_tolerance_outside_its_range_is_refused(value: float, field: str) -> None:
    """D7"""
    with pytest.raises(ToleranceError) as refused:
        Tolerances(**{field: value})
    assert refused.value.code == 1794000040


@pytest.mark.parametrize("pair", [(0.0, 0.0), (-0.0, -0.0), (1.0, 1.0), (0.125, 0.875)])
def test_valid_tolerances_are_kept_exactly(pair: tuple[float, float]) -> None:
    """D8: minus zero keeps its sign."""
    kept = Tolerances(*pair)
    assert repr((kept.top1, kept.top3)) == repr(pair)


ACCEPTED = ["0", "-0", "-0.0", "0.5", "5e-1", ".5", "0.", "+0.5", " 0.5", "0.5 ", "0.5\n", "1", "1e0", "-1e-400"]
REFUSED = [
    *(
        "-0.0001",
        "1.0001",
        "5.",
        "1e309",
        "NAN",
        "INF",
        "-INF",
        "typo",
        "",
        "1e",
        "0,5",
        "0x1",
        "1_0",
        "٠",
        "0.5\0",
    ),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_decimal_notation_of_0_to_1_is_accepted(text: str) -> None:
    """C16"""
    assert parsed_tolerance("--max-top1-drop", text) == float(text)


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_with_its_option(text: str) -> None:
    """C15"""
    with pytest.raises(ToleranceError, match=r"--max-top1-drop.*0\.\.1") as refused:
        parsed_tolerance("--max-top1-drop", text)
    assert refused.value.code == 1794000041
