"""The verifier's operating point and the version of its rules, as one digest."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from arborist.hashing import Domain, hash_json

# Raised with every change that can change a verdict, in the rules or in their word lists.
RULES_VERSION = "verifier-rules-1"


@dataclass(frozen=True, slots=True)
class VerifierPolicy:
    """The operating point; `docs/verifier.md` says how it was chosen and what it costs.

    `coverage` is the share of a claim's terms that one window of `window_sentences` sentences must hold, `order`
    the share that must stand there in the claim's order. A name or number must also stand within `name_gap` or
    `number_gap` terms of a neighbour that it has in the claim. `min_terms` is how many terms state anything at
    all; a claim of which less than `anchor_coverage` is found, and no name, is not even near its evidence. A
    quotation is checked as one from `min_quote_words` words on. Lengths are in characters.
    """

    coverage: float = 1.0
    order: float = 0.6
    window_sentences: int = 2
    name_gap: int = 12
    number_gap: int = 4
    min_terms: int = 2
    anchor_coverage: float = 0.4
    min_quote_words: int = 3
    max_claims: int = 200
    max_claim_chars: int = 2_000
    max_evidence_chars: int = 100_000

    def canonical(self, sidecar: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Rules, thresholds, and the identity of the entailment model beside the rules, if any."""
        thresholds = {item.name: getattr(self, item.name) for item in fields(self)}
        return {"rules": RULES_VERSION, "thresholds": thresholds, "sidecar": dict(sidecar) if sidecar else None}

    def digest(self, sidecar: Mapping[str, Any] | None = None) -> str:
        """`verifier_policy_hash`."""
        return hash_json(Domain.VERIFIER_POLICY, self.canonical(sidecar))
