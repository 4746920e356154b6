"""The verifier: what of an answer its evidence supports, by rules that need no model."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arborist.answering import findings as found
from arborist.answering.claims import claims_of
from arborist.answering.model import Claim, Verdict
from arborist.answering.quotes import quotations_of, quote_finding
from arborist.answering.sidecar import EntailmentModel
from arborist.answering.statement import Kind, Statement, statement_of
from arborist.answering.support import Source, Support, best_support
from arborist.answering.verifier_policy import VerifierPolicy
from arborist.errors import ModelError
from arborist.policy import ROLES
from arborist.retrieval.context import Evidence

__all__ = ["Verifier", "VerifierPolicy"]

_WORD = re.compile(r"[^\W_]+")
# Words about the answer itself, which no evidence states.
_PREAMBLE = re.compile(
    r"\A(?:according to|based on|as stated in|from) (?:the |this |these )?(?:given |provided |cited |above )?"
    r"(?:evidence|contexts?|sources?|information|texts?|passages?|documents?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Context:
    """What a verification stands on, the same for every claim of an answer."""

    sources: Mapping[int, Source]
    allowed_roles: frozenset[str]
    refused_roots: Mapping[str, str]


class Verifier:
    """Gives each claim its state and the answer its verdict. Deterministic without a sidecar; keeps no state."""

    def __init__(self, policy: VerifierPolicy | None = None, sidecar: EntailmentModel | None = None) -> None:
        self.policy = policy or VerifierPolicy()
        self.sidecar = sidecar

    def canonical(self) -> dict[str, Any]:
        """Rules, thresholds and sidecar, as JSON values."""
        return self.policy.canonical(self._sidecar_identity())

    def digest(self) -> str:
        """`verifier_policy_hash`."""
        return self.policy.digest(self._sidecar_identity())

    def _sidecar_identity(self) -> dict[str, Any] | None:
        return self.sidecar.identity if self.sidecar else None

    def verify(
        self,
        answer: str | Sequence[Claim],
        evidence: Sequence[Evidence],
        *,
        allowed_roles: Sequence[str] = ROLES,
        refused_roots: Mapping[str, str] | None = None,
    ) -> Verdict:
        """The verdict on an answer in the `[E#]` text form, or on claims already split.

        `refused_roots` maps the document root of evidence that may not be rested on to the reason; a claim that
        cites it is unsupported. An abstention has no claims. Never raises for what stands in answer or evidence.
        """
        claims = claims_of(answer) if isinstance(answer, str) else tuple(answer)
        context = _Context(
            sources=_sources(evidence),
            allowed_roles=frozenset(allowed_roles),
            refused_roots=refused_roots or {},
        )
        judged = [self._judged(claim, context) for claim in claims[: self.policy.max_claims]]
        unread = [_lowered(claim, found.TOO_MANY_CLAIMS) for claim in claims[self.policy.max_claims :]]
        return Verdict((*judged, *unread))

    def _judged(self, claim: Claim, context: _Context) -> Claim:
        refusals = tuple(self._refusals(claim, context))
        if refusals:
            return _lowered(claim, *refusals)
        cited = [context.sources[number] for number in claim.citations]
        quoting = tuple(self._quote_findings(claim, cited, context))
        if quoting:
            return _lowered(claim, *quoting)
        stated = statement_of(_PREAMBLE.sub(_blanks, claim.text))
        if len(stated.keys) < self.policy.min_terms or not _states_something(claim.text, stated):
            return _lowered(claim, found.NOTHING_STATED)
        supports = [best_support(stated, source, self.policy) for source in cited]
        best = min(supports, key=lambda support: (bool(support.findings), -support.coverage))
        if best.findings:
            return self._unproven(claim, stated, best)
        supported = replace(claim, state="supported", findings=())
        return self._with_sidecar(supported, cited) if self.sidecar else supported

    def _refusals(self, claim: Claim, context: _Context) -> Iterator[str]:
        """Why a claim is not even looked at; one bad citation is enough, however good the others are."""
        if not claim.citations:
            yield found.NO_CITATION
        if len(claim.text) > self.policy.max_claim_chars:
            yield found.CLAIM_TOO_LONG
        known = [context.sources[number].evidence for number in claim.citations if number in context.sources]
        if len(known) < len(claim.citations):
            yield found.UNKNOWN_EVIDENCE
        if any(item.role not in context.allowed_roles for item in known):
            yield found.ROLE_NOT_ALLOWED
        if any(item.document_root in context.refused_roots for item in known):
            yield found.EVIDENCE_REFUSED
        if any(len(item.text) + len(item.title) > self.policy.max_evidence_chars for item in known):
            yield found.EVIDENCE_TOO_LONG

    def _quote_findings(self, claim: Claim, cited: Sequence[Source], context: _Context) -> Iterator[str]:
        quotations = quotations_of(claim.text, self.policy.min_quote_words)
        if not quotations:
            return
        held = [source.quotable for source in cited]
        others = [
            source.quotable
            for number, source in context.sources.items()
            if number not in claim.citations and len(source.evidence.text) <= self.policy.max_evidence_chars
        ]
        for pieces in quotations:
            finding = quote_finding(pieces, held, others)
            if finding:
                yield finding

    def _unproven(self, claim: Claim, stated: Statement, support: Support) -> Claim:
        names = {key for key, kind in zip(stated.keys, stated.kinds, strict=True) if kind is Kind.NAME}
        relation = set(stated.keys) - names
        shares_entity = bool(names & support.held)
        lacks_relation = len(relation & support.held) < len(relation) / 2
        if support.coverage < self.policy.anchor_coverage and not shares_entity:
            return _lowered(claim, found.OFF_TOPIC, *support.findings)
        lazy = shares_entity and lacks_relation
        findings = (*support.findings, found.RELATION_MISSING) if lazy else support.findings
        return replace(claim, state="anchored", findings=findings, lazy_anchor_demoted=lazy)

    def _with_sidecar(self, claim: Claim, cited: Sequence[Source]) -> Claim:
        assert self.sidecar is not None
        premise = "\n\n".join(source.evidence.text for source in cited)
        try:
            label = self.sidecar.judge(premise, claim.text).label
        except ModelError:
            return replace(claim, state="anchored", findings=(found.SIDECAR_FAILED,), semantic_demoted=True)
        if label == "entailment":
            return replace(claim, state="entailed")
        finding = found.SIDECAR_CONTRADICTED if label == "contradiction" else found.SIDECAR_NEUTRAL
        return replace(claim, state="anchored", findings=(finding,), semantic_demoted=True)


def _sources(evidence: Sequence[Evidence]) -> dict[int, Source]:
    """The evidence by its number; a number that stands for two pieces stands for none."""
    counts = Counter(item.number for item in evidence)
    return {item.number: Source(item) for item in evidence if counts[item.number] == 1}


def _lowered(claim: Claim, *findings: str) -> Claim:
    return replace(claim, state="unsupported", findings=tuple(dict.fromkeys(findings)))


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _states_something(text: str, stated: Statement) -> bool:
    """Whether it is no question and holds a word that is no name: a bare name relates nothing to anything."""
    words = (_WORD.match(text, start) for start in stated.starts)
    return not text.rstrip().endswith("?") and any(word is not None and word[0].islower() for word in words)
