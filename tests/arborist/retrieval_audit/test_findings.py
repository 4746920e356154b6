"""Findings: the code fixes the status, the worst decides, the caps lose no count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborist.retrieval_audit.findings import (
    DIAGNOSTIC_CAP,
    FINDING_CAP,
    BlockedError,
    DiagnosticKind,
    Doubt,
    Failure,
    Findings,
    Status,
)

codes = st.sampled_from([*Failure, *Doubt])
found = st.lists(st.tuples(codes, st.sampled_from(["/a", "/b"])), max_size=60)
reported = st.lists(st.tuples(st.sampled_from(DiagnosticKind), st.sampled_from(["/a", "/b"])), max_size=40)


def collected(
    finding_list: list[tuple[Failure | Doubt, str]], diagnostic_list: list[tuple[DiagnosticKind, str]]
) -> Findings:
    findings = Findings()
    for code, at in finding_list:
        findings.add(code, at)
    for kind, at in diagnostic_list:
        findings.add_diagnostic(kind, at, "0" * 64)
    return findings


@given(found, found, reported, reported)
def test_absorbing_is_adding_one_after_the_other(
    first: list[tuple[Failure | Doubt, str]],
    second: list[tuple[Failure | Doubt, str]],
    early: list[tuple[DiagnosticKind, str]],
    late: list[tuple[DiagnosticKind, str]],
) -> None:
    absorbed = collected(first, early)
    absorbed.absorb(collected(second, late))
    assert absorbed == collected(first + second, early + late)


@given(found)
def test_the_worst_finding_decides(finding_list: list[tuple[Failure | Doubt, str]]) -> None:
    failures = [code for code, _ in finding_list if isinstance(code, Failure)]
    expected = Status.FAILED if failures else Status.UNVERIFIED if finding_list else Status.PASSED
    assert collected(finding_list, []).status is expected


@given(found, reported)
def test_totals_and_firsts_outlive_the_caps(
    finding_list: list[tuple[Failure | Doubt, str]], diagnostic_list: list[tuple[DiagnosticKind, str]]
) -> None:
    findings = collected(finding_list, diagnostic_list)
    assert len(findings.findings.listed) == min(len(finding_list), FINDING_CAP)
    assert len(findings.diagnostics.listed) == min(len(diagnostic_list), DIAGNOSTIC_CAP)
    assert findings.findings.totals.total() == len(finding_list)
    failures = [(code, at) for code, at in finding_list if isinstance(code, Failure)]
    first = findings.findings.firsts.get(Status.FAILED)
    assert (first is None) == (not failures)
    assert first is None or (first.code, first.at) == failures[0]


def test_no_code_is_both_a_failure_and_a_doubt() -> None:
    assert not {str(code) for code in Failure} & {str(code) for code in Doubt}


def test_a_block_keeps_its_finding_and_ends_the_work() -> None:
    findings = Findings()
    with findings.up_to_the_first_block("/input"):
        raise BlockedError(Failure.JSON_INVALID, "/before")
    assert [(entry.code, entry.at) for entry in findings.findings.listed] == [(Failure.JSON_INVALID, "/before")]


def test_an_unforeseen_exception_is_a_finding_without_its_text() -> None:
    findings = Findings()
    with findings.up_to_the_first_block("/customer/response"):
        raise RuntimeError("secret")
    assert [(entry.code, entry.at) for entry in findings.findings.listed] == [
        (Failure.INTERNAL_ERROR, "/customer/response")
    ]


def test_an_interrupt_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt), Findings().up_to_the_first_block(""):
        raise KeyboardInterrupt
