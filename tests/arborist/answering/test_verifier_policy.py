"""The verifier's policy is one digest, and its rules' version stands for what they say on labelled claims."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from arborist.answering.verifier_policy import RULES_VERSION, VerifierPolicy
from bench.labelled_claims import attribution_claims, scifact_claims
from bench.verdict_digest import different_verdicts, verdict_digest

# Over 2,010 labelled rows, the same on every Python: a change of it is a new version of the rules.
VERDICTS_SHA256 = {"verifier-rules-1": "9666ddaa1196113c5bae780cb0908f4d112974256e09203b2e7cc7a64880e4f9"}


@pytest.mark.parametrize("name", [item.name for item in fields(VerifierPolicy)])
def test_every_threshold_is_part_of_the_digest(name: str) -> None:
    policy = VerifierPolicy()
    assert replace(policy, **{name: getattr(policy, name) + 1}).digest() != policy.digest()


def test_the_version_of_the_rules_and_the_sidecar_are_part_of_the_policy() -> None:
    assert VerifierPolicy().canonical()["rules"] == RULES_VERSION
    assert VerifierPolicy().digest({"name": "judge"}) != VerifierPolicy().digest()


def test_a_version_of_the_rules_gives_the_verdicts_it_is_known_for(shared_data: Path) -> None:
    rows = [*attribution_claims(shared_data), *scifact_claims(shared_data)]
    assert verdict_digest(rows) == VERDICTS_SHA256[RULES_VERSION]


def test_a_thousand_runs_give_one_verdict(shared_data: Path) -> None:
    row = next(row for row in attribution_claims(shared_data) if len(row.claims) > 2)
    assert different_verdicts(row, 1_000) == 1
