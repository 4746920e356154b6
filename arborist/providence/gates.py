"""The gates between a record and its promotion (`self-providence.md`, Gates)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from arborist.answering.model import STRICT
from arborist.clock import iso_time
from arborist.hashing import Domain, hash_json
from arborist.policy import AnsweringPolicy, PromotionPolicy
from arborist.providence.ledger import Ledger
from arborist.providence.lineage import refusal_of_ancestors
from arborist.providence.record import LIVE
from arborist.retrieval.promoted import names_promoted_answer


class Gate(StrEnum):
    """The seven gates in their order; a record is counted at the first that is closed to it."""

    AUDIT_MODE = "audit-mode"
    FALSIFICATION_STATE = "falsification-state"
    KINDERGARTEN = "kindergarten"
    FIRST_GENERATION = "first-generation"
    LAZY_ANCHOR = "lazy-anchor"
    SEMANTIC = "semantic"
    STALE_POLICY = "stale-policy"


WAITING = (Gate.KINDERGARTEN, Gate.STALE_POLICY)
"""Gates that may open by themselves: by time, or by the policies becoming again what they were."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What the gates are set to today."""

    chunking_version: str
    governance_policy_hash: str
    first_generation_only: bool

    @classmethod
    def of(cls, chunking_version: str, answering: AnsweringPolicy, promotion: PromotionPolicy) -> "GatePolicy":
        return cls(chunking_version, answering.digest(), promotion.first_generation_only)

    def digest(self) -> str:
        """Identity of the setting; another one means that every record has to be judged again."""
        return hash_json(Domain.GATE_POLICY, {name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the gates read of a record: columns of its row."""

    record_id: int
    cache_key: str
    created_at: str
    question_hash: str
    conversation_hash: str
    answer: str
    claims: str
    audit_mode: str
    falsification_state: str
    run_dag_root: str
    chunking_version: str
    governance_policy_hash: str


CANDIDATE_COLUMNS = ", ".join(Candidate.__slots__)


@dataclass(frozen=True, slots=True)
class Cooling:
    """How far the ledger has cooled at a moment: records up to `seq` that were made up to `cutoff` (ISO time).

    `seq` stops before the first event that is younger than the window, so that a record which a clock set back
    dated too early waits with those around it. Events dated in the future do not stop it, only themselves.
    """

    seq: int
    cutoff: str

    def has_cooled(self, candidate: Candidate) -> bool:
        return candidate.record_id <= self.seq and candidate.created_at <= self.cutoff


def cooling(ledger: Ledger, now: float, kindergarten_seconds: int) -> Cooling:
    """How far the ledger has cooled at `now` (seconds since the epoch); not at all for a clock behind the log."""
    cutoff = iso_time(now - kindergarten_seconds)
    head = ledger.rows("SELECT seq, time FROM audit_events ORDER BY seq DESC LIMIT 1")
    if not head or head[0][1] > iso_time(now):
        return Cooling(0, cutoff)
    ((youngest,),) = ledger.rows(
        "SELECT min(seq) FROM audit_events WHERE time > ? AND time <= ?", (cutoff, iso_time(now))
    )
    return Cooling(int(head[0][0]) if youngest is None else int(youngest) - 1, cutoff)


def closed_gate(ledger: Ledger, candidate: Candidate, policy: GatePolicy, *, cooled: bool) -> Gate | None:
    """The first gate that is closed to a record in use, None where all are open. `cooled` is what gate 3 says.

    Gate 2 asks the same of every ancestor; a record of the first generation has none.
    """
    checks: Sequence[tuple[Gate, bool]] = (
        (Gate.AUDIT_MODE, candidate.audit_mode == STRICT),
        (Gate.FALSIFICATION_STATE, _is_live(ledger, candidate)),
        (Gate.KINDERGARTEN, cooled),
        (Gate.FIRST_GENERATION, not policy.first_generation_only or _is_first_generation(ledger, candidate)),
    )
    for gate, is_open in checks:
        if not is_open:
            return gate
    return _claim_gate(candidate) or _policy_gate(candidate, policy)


def _is_live(ledger: Ledger, candidate: Candidate) -> bool:
    return candidate.falsification_state == LIVE and not refusal_of_ancestors(ledger, candidate.record_id)


def _is_first_generation(ledger: Ledger, candidate: Candidate) -> bool:
    """By lineage, and by the seeds' rule for the text: a paraphrase has no uri in it, an old record no lineage."""
    cited = ledger.rows("SELECT 1 FROM record_ancestors WHERE record_id = ? LIMIT 1", (candidate.record_id,))
    return not cited and not names_promoted_answer(candidate.answer)


def _claim_gate(candidate: Candidate) -> Gate | None:
    claims = json.loads(candidate.claims)
    if any(claim.get("lazy_anchor_demoted") for claim in claims):
        return Gate.LAZY_ANCHOR
    return Gate.SEMANTIC if any(claim.get("semantic_demoted") for claim in claims) else None


def _policy_gate(candidate: Candidate, policy: GatePolicy) -> Gate | None:
    current = (
        candidate.chunking_version == policy.chunking_version
        and candidate.governance_policy_hash == policy.governance_policy_hash
    )
    return None if current else Gate.STALE_POLICY
