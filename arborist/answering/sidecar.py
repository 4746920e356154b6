"""Entailment models that may stand beside the verifier: they can only lower what the rules let through."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

Label = Literal["entailment", "neutral", "contradiction"]


@dataclass(frozen=True, slots=True)
class Entailment:
    """A sidecar's word on a claim: its label and how sure it is, 0 to 1."""

    label: Label
    score: float


class EntailmentModel(Protocol):
    """Says whether a premise entails a claim. Raises ModelError when it cannot say."""

    @property
    def identity(self) -> dict[str, Any]:
        """JSON values that name the model, its revision and its settings; part of `verifier_policy_hash`."""
        ...

    def judge(self, premise: str, claim: str) -> Entailment: ...
