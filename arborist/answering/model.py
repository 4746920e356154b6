"""What an answer model is: the protocol, its identity, the messages it is sent, the answer it gives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from arborist.hashing import Domain, hash_json
from arborist.retrieval.context import Evidence


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat, as it is sent."""

    role: Literal["system", "user", "assistant"]
    content: str

    def canonical(self) -> dict[str, str]:
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model answers and how it decodes; enters the cache key.

    `revision` labels the weights or the code; `settings` holds decoding settings and the seed, as JSON values.
    """

    name: str
    revision: str
    settings: tuple[tuple[str, Any], ...] = ()

    def canonical(self) -> dict[str, Any]:
        return {"name": self.name, "revision": self.revision, "settings": dict(self.settings)}

    def digest(self) -> str:
        """`model_identity`."""
        return hash_json(Domain.MODEL_IDENTITY, self.canonical())


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model said. An abstention has no claims and says in `text` what was missing."""

    text: str
    abstained: bool = False
    usage: tuple[tuple[str, int], ...] = ()


class AnswerModel(Protocol):
    """Answers a question from evidence. Raises ModelError when no answer can be had."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def deterministic(self) -> bool:
        """Whether the same input gives the same answer, so that replay may answer again and compare."""
        ...

    def answer(self, question: str, evidence: Sequence[Evidence], messages: Sequence[Message]) -> ModelAnswer:
        """The answer in the `[E#]` text form. `messages` is the prompt that holds question and evidence."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer, the evidence numbers it cites, and what the verifier found.

    `state` is `unsupported`, `anchored` (near the topic, not entailed), `supported` or `entailed`; `findings`
    name the rules that lowered it (for example `number-differs`); `semantic_demoted` and `lazy_anchor_demoted`
    are those of issue-tracked gates in `self-providence.md`.
    """

    text: str
    citations: tuple[int, ...]
    state: Literal["unsupported", "anchored", "supported", "entailed"] = "unsupported"
    findings: tuple[str, ...] = ()
    lazy_anchor_demoted: bool = False
    semantic_demoted: bool = False

    @property
    def supported(self) -> bool:
        return self.state in ("supported", "entailed")

    def canonical(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "citations": list(self.citations),
            "state": self.state,
            "findings": list(self.findings),
            "lazy_anchor_demoted": self.lazy_anchor_demoted,
            "semantic_demoted": self.semantic_demoted,
        }


STRICT: Final = "STRICT"
HYBRID: Final = "HYBRID"
UNGROUNDED: Final = "UNGROUNDED"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verifier's word on an answer: its claims with their states, and `audit_mode` as their meet."""

    claims: tuple[Claim, ...] = field(default=())

    @property
    def audit_mode(self) -> Literal["STRICT", "HYBRID", "UNGROUNDED"]:
        """`STRICT` when every claim is supported, `HYBRID` when some are, `UNGROUNDED` when none is."""
        supported = sum(claim.supported for claim in self.claims)
        if not supported:
            return UNGROUNDED
        return STRICT if supported == len(self.claims) else HYBRID
