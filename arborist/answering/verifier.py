"""The verifier: what of an answer its evidence supports, by rules that need no model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from arborist.answering.claims import claims_of
from arborist.answering.lexicon import HEDGES, MONTHS, OPPOSITES
from arborist.answering.model import Claim, Verdict
from arborist.answering.quotes import quotations_of, quote_finding, word_line
from arborist.answering.sentences import sentences_of
from arborist.answering.sidecar import EntailmentModel
from arborist.answering.statement import NOT, Kind, Statement, statement_of, stem
from arborist.errors import ModelError
from arborist.hashing import Domain, hash_json
from arborist.policy import ROLES
from arborist.retrieval.context import Evidence

RULES_VERSION = "verifier-rules-1"

NO_CITATION = "no-citation"
UNKNOWN_EVIDENCE = "unknown-evidence"
ROLE_NOT_ALLOWED = "role-not-allowed"
EVIDENCE_REFUSED = "evidence-refused"
CLAIM_TOO_LONG = "claim-too-long"
EVIDENCE_TOO_LONG = "evidence-too-long"
TOO_MANY_CLAIMS = "too-many-claims"
NOTHING_STATED = "nothing-stated"
OFF_TOPIC = "off-topic"
NUMBER_DIFFERS = "number-differs"
DATE_DIFFERS = "date-differs"
UNIT_DIFFERS = "unit-differs"
NAME_DIFFERS = "name-differs"
NEGATION_DIFFERS = "negation-differs"
OPPOSITE_WORD = "opposite-word"
WORDS_MISSING = "words-missing"
RELATION_MISSING = "relation-missing"
ORDER_DIFFERS = "order-differs"
HEDGE_DROPPED = "hedge-dropped"
SIDECAR_NEUTRAL = "sidecar-neutral"
SIDECAR_CONTRADICTED = "sidecar-contradicted"
SIDECAR_FAILED = "sidecar-failed"

# These say that the evidence speaks against the claim, not merely that it does not hold it.
CONTRADICTIONS = frozenset({NUMBER_DIFFERS, DATE_DIFFERS, UNIT_DIFFERS, NEGATION_DIFFERS, OPPOSITE_WORD})

_HEDGES = frozenset(stem(word) for word in HEDGES)
_MONTHS = frozenset(stem(word) for word in MONTHS)


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for left, right in (map(stem, pair) for pair in OPPOSITES):
        found.setdefault(left, set()).add(right)
        found.setdefault(right, set()).add(left)
    return {word: frozenset(words) for word, words in found.items()}


_OPPOSITE_OF = _opposites()


@dataclass(frozen=True, slots=True)
class VerifierPolicy:
    """The operating point; `docs/verifier.md` says how it was chosen and what it costs.

    `coverage` is the share of a claim's terms that one window of `window_sentences` sentences must hold, `order`
    the share that must stand in the claim's order. Below `anchor_coverage` a claim is not even near its evidence.
    `min_terms` is how many terms a sentence needs to state anything. Lengths are in characters.
    """

    coverage: float = 1.0
    order: float = 0.8
    window_sentences: int = 2
    min_terms: int = 2
    anchor_coverage: float = 0.4
    min_quote_words: int = 3
    max_claims: int = 200
    max_claim_chars: int = 2_000
    max_evidence_chars: int = 100_000

    def canonical(self) -> dict[str, Any]:
        return {"rules": RULES_VERSION} | {item.name: getattr(self, item.name) for item in fields(self)}


@dataclass(frozen=True)
class _Source:
    """One piece of evidence as the verifier reads it, parsed when first needed."""

    evidence: Evidence

    @cached_property
    def quotable(self) -> str:
        return word_line(f"{self.evidence.title}\n{self.evidence.text}")

    @cached_property
    def title(self) -> Statement:
        return statement_of(self.evidence.title)

    @cached_property
    def sentences(self) -> tuple[Statement, ...]:
        return tuple(statement_of(sentence.text) for sentence in sentences_of(self.evidence.text))


@dataclass(frozen=True, slots=True)
class _Window:
    """A run of sentences with the title before it, and the share of the claim's terms it holds."""

    sentences: tuple[tuple[str, ...], ...]
    coverage: float


@dataclass(frozen=True, slots=True)
class _Context:
    """What a verification stands on, the same for every claim of an answer."""

    sources: Mapping[int, _Source]
    allowed_roles: frozenset[str]
    refused_roots: Mapping[str, str]


class Verifier:
    """Gives each claim its state and the answer its verdict. Deterministic without a sidecar; keeps no state."""

    def __init__(self, policy: VerifierPolicy | None = None, sidecar: EntailmentModel | None = None) -> None:
        self.policy = policy or VerifierPolicy()
        self.sidecar = sidecar

    def canonical(self) -> dict[str, Any]:
        """Rules, thresholds and sidecar, as JSON values."""
        return {
            "policy": self.policy.canonical(),
            "sidecar": dict(self.sidecar.identity) if self.sidecar else None,
        }

    def digest(self) -> str:
        """`verifier_policy_hash`."""
        return hash_json(Domain.VERIFIER_POLICY, self.canonical())

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
            sources={item.number: _Source(item) for item in evidence},
            allowed_roles=frozenset(allowed_roles),
            refused_roots=refused_roots or {},
        )
        judged = [self._judged(claim, context) for claim in claims[: self.policy.max_claims]]
        unread = [_lowered(claim, TOO_MANY_CLAIMS) for claim in claims[self.policy.max_claims :]]
        return Verdict((*judged, *unread))

    def _judged(self, claim: Claim, context: _Context) -> Claim:
        refusals = tuple(self._refusals(claim, context))
        if refusals:
            return _lowered(claim, *refusals)
        cited = [context.sources[number] for number in claim.citations]
        quoting = tuple(self._quote_findings(claim, cited, context))
        if quoting:
            return _lowered(claim, *quoting)
        stated = statement_of(claim.text)
        if len(stated.keys) < self.policy.min_terms:
            return _lowered(claim, NOTHING_STATED)
        found = [self._best(stated, source) for source in cited]
        best = min(found, key=lambda support: (bool(support.findings), -support.coverage))
        if best.findings:
            return self._unproven(claim, stated, best)
        supported = replace(claim, state="supported", findings=())
        return self._with_sidecar(supported, cited) if self.sidecar else supported

    def _refusals(self, claim: Claim, context: _Context) -> Iterator[str]:
        """Why a claim is not even looked at; one bad citation is enough, however good the others are."""
        if not claim.citations:
            yield NO_CITATION
        if len(claim.text) > self.policy.max_claim_chars:
            yield CLAIM_TOO_LONG
        known = [context.sources[number].evidence for number in claim.citations if number in context.sources]
        if len(known) < len(claim.citations):
            yield UNKNOWN_EVIDENCE
        if any(item.role not in context.allowed_roles for item in known):
            yield ROLE_NOT_ALLOWED
        if any(item.document_root in context.refused_roots for item in known):
            yield EVIDENCE_REFUSED
        if any(len(item.text) + len(item.title) > self.policy.max_evidence_chars for item in known):
            yield EVIDENCE_TOO_LONG

    def _quote_findings(self, claim: Claim, cited: Sequence[_Source], context: _Context) -> Iterator[str]:
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

    def _best(self, stated: Statement, source: _Source) -> "_Support":
        """The support of the window that holds most of the claim, or of the first of those that lacks nothing."""
        windows = sorted(self._windows(stated, source), key=lambda window: -window.coverage)[:3]
        best = _Support(0.0, (OFF_TOPIC,), frozenset())
        for window in windows:
            support = self._support(stated, source, window)
            if not support.findings:
                return support
            if support.coverage > best.coverage:
                best = support
        return best

    def _windows(self, stated: Statement, source: _Source) -> Iterator[_Window]:
        wanted = set(stated.keys)
        title = wanted.intersection(source.title.keys)
        held = [wanted.intersection(sentence.keys) for sentence in source.sentences]
        for size in range(1, self.policy.window_sentences + 1):
            for first in range(max(len(held) - size + 1, 0)):
                run = held[first : first + size]
                if all(run):
                    covered = len(title.union(*run)) / len(wanted)
                    sentences = tuple(s.keys for s in source.sentences[first : first + size])
                    yield _Window(sentences, covered)

    def _support(self, stated: Statement, source: _Source, window: _Window) -> "_Support":
        terms = [*source.title.keys, *(key for sentence in window.sentences for key in sentence)]
        held = frozenset(terms)
        findings = list(_differences(stated, held))
        if window.coverage < self.policy.coverage:
            findings.append(WORDS_MISSING)
        if not findings:
            findings.extend(self._order_findings(stated, terms))
            findings.extend(_context_findings(stated, window.sentences))
        return _Support(window.coverage, tuple(dict.fromkeys(findings)), held)

    def _order_findings(self, stated: Statement, terms: Sequence[str]) -> Iterator[str]:
        hard = [key for key, kind in zip(stated.keys, stated.kinds, strict=True) if kind is not Kind.WORD]
        in_order = common_subsequence(stated.keys, terms) >= self.policy.order * len(stated.keys)
        if not in_order or common_subsequence(hard, terms) < len(hard):
            yield ORDER_DIFFERS

    def _unproven(self, claim: Claim, stated: Statement, support: "_Support") -> Claim:
        names = {key for key, kind in zip(stated.keys, stated.kinds, strict=True) if kind is Kind.NAME}
        relation = set(stated.keys) - names
        shares_entity = bool(names & support.held)
        lacks_relation = len(relation & support.held) < len(relation) / 2
        if support.coverage < self.policy.anchor_coverage and not shares_entity:
            return _lowered(claim, OFF_TOPIC, *support.findings)
        lazy = shares_entity and lacks_relation
        findings = (*support.findings, RELATION_MISSING) if lazy else support.findings
        return replace(claim, state="anchored", findings=findings, lazy_anchor_demoted=lazy)

    def _with_sidecar(self, claim: Claim, cited: Sequence[_Source]) -> Claim:
        assert self.sidecar is not None
        premise = "\n\n".join(source.evidence.text for source in cited)
        try:
            label = self.sidecar.judge(premise, claim.text).label
        except ModelError:
            return replace(claim, state="anchored", findings=(SIDECAR_FAILED,), semantic_demoted=True)
        if label == "entailment":
            return replace(claim, state="entailed")
        finding = SIDECAR_CONTRADICTED if label == "contradiction" else SIDECAR_NEUTRAL
        return replace(claim, state="anchored", findings=(finding,), semantic_demoted=True)


@dataclass(frozen=True, slots=True)
class _Support:
    """How well one window holds a claim: coverage 0 to 1, what speaks against it, and the window's terms."""

    coverage: float
    findings: tuple[str, ...]
    held: frozenset[str]


def _lowered(claim: Claim, *findings: str) -> Claim:
    return replace(claim, state="unsupported", findings=tuple(dict.fromkeys(findings)))


def _differences(stated: Statement, held: frozenset[str]) -> Iterator[str]:
    """A finding for each term of the claim that the window lacks and that has a kind of its own."""
    for position, (key, kind) in enumerate(zip(stated.keys, stated.kinds, strict=True)):
        if key in held:
            continue
        if _negated(key) in held:
            yield NEGATION_DIFFERS
        elif kind is Kind.NUMBER or key in _MONTHS:
            near = stated.keys[max(position - 2, 0) : position + 3]
            yield DATE_DIFFERS if _MONTHS.intersection(near) else NUMBER_DIFFERS
        elif kind is Kind.UNIT:
            yield UNIT_DIFFERS
        elif _OPPOSITE_OF.get(key, frozenset()) & held:
            yield OPPOSITE_WORD
        elif kind is Kind.NAME:
            yield NAME_DIFFERS


def _negated(key: str) -> str:
    return key.removeprefix(NOT) if key.startswith(NOT) else NOT + key


def _context_findings(stated: Statement, sentences: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """What the evidence says around the claim's terms and the claim leaves out: a hedge, a negation."""
    claimed = set(stated.keys)
    for sentence in sentences:
        matched = [index for index, key in enumerate(sentence) if key in claimed]
        if not matched:
            continue
        for key in sentence[: matched[-1]]:
            if key in claimed:
                continue
            if key in _HEDGES:
                yield HEDGE_DROPPED
            elif key.startswith(NOT):
                yield NEGATION_DIFFERS


def common_subsequence(wanted: Sequence[str], terms: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): one step for each of `terms`."""
    places: dict[str, int] = {}
    for index, key in enumerate(wanted):
        places[key] = places.get(key, 0) | 1 << index
    full = (1 << len(wanted)) - 1
    row = full
    for key in terms:
        matches = row & places.get(key, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(wanted) - row.bit_count()
