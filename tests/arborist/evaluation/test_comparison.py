"""Apples and pears: every pair of runs over corpus, labels, scorer, model, chunking, pipeline and code."""

import itertools

import pytest

from arborist.evaluation.comparison import (
    BaselineState,
    baseline_state,
    benchmark_differences,
    refuse_different,
    treatment_differences,
)
from arborist.evaluation.errors import NotComparableError
from arborist.evaluation.fingerprint import Identity
from arborist.evaluation.provenance import RetrievalProvenance

BENCHMARK_FIELDS = ("corpusRevision", "labels", "scoringVersion")
TREATMENT_FIELDS = ("modelRevision", "chunkingIdentity", "pipelineIdentity")
PARTS = (*BENCHMARK_FIELDS, *TREATMENT_FIELDS, "executionRevision")


def identity(*values: str) -> Identity:
    corpus, labels, scorer, model, chunking, pipeline, code = values
    provenance = RetrievalProvenance(corpus, model, chunking, pipeline, code)
    return Identity("v1:" + labels * 64, scorer, provenance)


EVERY_RUN = [(values, identity(*values)) for values in itertools.product("ab", repeat=len(PARTS))]
UNDECLARED = Identity("v1:" + "a" * 64, "a", None)
KNOWN = EVERY_RUN[0][1]


def test_exactly_the_unequal_benchmarks_of_all_pairs_are_refused_with_their_fields() -> None:
    pairs = list(itertools.product(EVERY_RUN, repeat=2))
    assert len(pairs) == 128 * 128
    for (old_values, old), (new_values, new) in pairs:
        changed = [part for part, a, b in zip(PARTS, old_values, new_values, strict=True) if a != b]
        forbidding = [part for part in changed if part in BENCHMARK_FIELDS]
        assert [difference.field for difference in benchmark_differences(old, new)] == forbidding
        expected = BaselineState.MISMATCH if forbidding else BaselineState.COMPARABLE
        assert baseline_state(new, old) is expected
        treated = [difference.field for difference in treatment_differences(old, new)]
        assert treated == [part for part in changed if part in TREATMENT_FIELDS]
        assert (old.variant != new.variant) is bool(treated)


def test_a_refusal_names_each_field_with_both_values() -> None:
    other = Identity(KNOWN.labels, "b", RetrievalProvenance("corpus-v2", "a", "a", "a"))
    with pytest.raises(NotComparableError) as refused:
        refuse_different(benchmark_differences(KNOWN, other))
    assert str(refused.value) == "not comparable: corpusRevision: a -> corpus-v2; scoringVersion: a -> b"
    assert refused.value.exit_code == 3


@pytest.mark.parametrize(
    ("current", "baseline", "state"),
    [
        (UNDECLARED, None, BaselineState.UNKNOWN),
        (UNDECLARED, KNOWN, BaselineState.UNKNOWN),
        (UNDECLARED, UNDECLARED, BaselineState.UNKNOWN),
        (KNOWN, None, BaselineState.BASELINE),
        (KNOWN, UNDECLARED, BaselineState.UNKNOWN),
        (KNOWN, KNOWN, BaselineState.COMPARABLE),
    ],
)
def test_what_is_unknown_is_never_comparable(
    current: Identity, baseline: Identity | None, state: BaselineState
) -> None:
    assert baseline_state(current, baseline) is state


@pytest.mark.parametrize(("old", "new"), [(UNDECLARED, KNOWN), (KNOWN, UNDECLARED), (UNDECLARED, UNDECLARED)])
def test_an_undeclared_corpus_is_a_difference_even_from_another(old: Identity, new: Identity) -> None:
    assert [difference.field for difference in benchmark_differences(old, new)] == ["corpusRevision"]
    assert treatment_differences(old, new) == ()
