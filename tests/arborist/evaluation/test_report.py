"""Reports: people and machines are told the same, and no byte can disturb a terminal."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from arborist.clock import FixedClock
from arborist.evaluation import report
from arborist.evaluation.bytestrings import byte_text
from arborist.evaluation.gate import evaluate_against_baseline
from arborist.evaluation.golden import Form, GoldenQuestion, GoldenQuestionSet, GradedSet
from arborist.evaluation.privacy import PrivacyLevel, StandardPolicy
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.store import EvaluationStore

ODD = byte_text(b"\x1b[31m\xff")
QUESTIONS = (
    GoldenQuestion(ODD, "one", Form.GAP, ("a",), ODD),
    GoldenQuestion("nothing", "two", Form.MATCH),
    GoldenQuestion("crowded", "three", Form.MATCH, ("b",)),
)
GRADED = GradedSet(GoldenQuestionSet("office.test", "T", "", QUESTIONS))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Straße", "Straße"), (ODD, "\\x1b[31m\\xff"), ("a\nb", "a\\nb"), ("\u202e", "\\u202e"), ("a b", "a b")],
)
def test_a_terminal_is_shown_printable_text_only(text: str, shown: str) -> None:
    assert report.printable(text) == shown


def test_lines_and_json_tell_the_same_counts(
    table_retriever: Callable[..., Any], labels: RetrievalProvenance, store: EvaluationStore, clock: FixedClock
) -> None:
    rankings = {"one": [ODD], "three": ["a"] * 12, "two": []}
    retriever = table_retriever(rankings, labels)
    policy = StandardPolicy(PrivacyLevel.FULL)
    evaluated = evaluate_against_baseline(GRADED, retriever, store, clock, policy=policy)
    lines = list(report.evaluation_lines(evaluated))
    said = json.loads(json.dumps(report.evaluation_json(evaluated)))
    assert all(line.isprintable() for line in lines)
    assert said["all"] == {"questions": 3, "top1Hits": 1, "top3Hits": 1}
    assert "Top-1 hit rate: 33.3% (1/3)" in lines
    assert said["answerable"]["top1Hits"] == 0
    assert "Top-1 hit rate, answerable: 0.0% (0/2)" in lines
    assert said["noResult"] == {"questions": 1, "hits": 1}
    assert "No-result hit rate: 100.0% (1/1)" in lines
    assert (said["shortfalls"], said["rankingShortfalls"]) == (1, 1)
    assert "Shortfall: 1 questions had too few distinct documents (raise --over-fetch)" in lines
    assert said["nDCG@10"] == 0.0
    assert said["missingTargets"] is None
    assert said["byHardClass"][0]["name"]["version"] == "retrieval-bytes-v1"
