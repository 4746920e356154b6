"""How far one piece of evidence supports one claim: the rules of the verifier that read language."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from arborist.answering.alignment import UNALIGNED, aligned
from arborist.answering.findings import (
    DATE_DIFFERS,
    EVIDENCE_TOO_LONG,
    HEDGE_DROPPED,
    NAME_DIFFERS,
    NEGATION_DIFFERS,
    NUMBER_DIFFERS,
    OFF_TOPIC,
    OPPOSITE_WORD,
    ORDER_DIFFERS,
    UNIT_DIFFERS,
    WORDS_MISSING,
)
from arborist.answering.lexicon import HEDGES, LIGHT_WORDS, MONTHS
from arborist.answering.opposites import has_opposites, negated, opposed_in
from arborist.answering.quotes import word_line
from arborist.answering.sentences import opens_with_pronoun, sentences_of
from arborist.answering.statement import NOT, Kind, Statement, statement_of, stem
from arborist.answering.verifier_policy import VerifierPolicy
from arborist.retrieval.context import Evidence

_HEDGES = frozenset(stem(word) for word in HEDGES)
_LIGHT = frozenset(stem(word) for word in LIGHT_WORDS)
_MONTHS = frozenset(stem(word) for word in MONTHS)
# Terms of the claim times terms of the window: beyond, aligning them takes longer than a claim is worth.
_LARGEST_ALIGNMENT = 100_000
# Windows that are looked at closely, of all that are tried; the others hold less of the claim.
_CLOSE_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Support:
    """How well the best window holds a claim: coverage 0 to 1, what speaks against it, and the window's terms."""

    coverage: float
    findings: tuple[str, ...]
    held: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Stated:
    """The terms of a claim that have to be found, light words left out."""

    keys: tuple[str, ...]
    kinds: tuple[Kind, ...]

    @classmethod
    def of(cls, statement: Statement) -> "_Stated":
        kept = [pair for pair in zip(statement.keys, statement.kinds, strict=True) if pair[0] not in _LIGHT]
        kept = kept or list(zip(statement.keys, statement.kinds, strict=True))
        return cls(tuple(key for key, _ in kept), tuple(kind for _, kind in kept))


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of the evidence; `for_pronoun` are the title's terms where the title may be its subject."""

    keys: tuple[str, ...]
    kinds: tuple[Kind, ...]
    opens_with_pronoun: bool
    for_pronoun: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Window:
    sentences: tuple[_Sentence, ...]
    coverage: float


@dataclass(frozen=True)
class Source:
    """One piece of evidence as the verifier reads it, parsed when first needed."""

    evidence: Evidence

    @cached_property
    def quotable(self) -> str:
        """Title and text as `quotes.word_line`."""
        return word_line(f"{self.evidence.title}\n{self.evidence.text}")

    @cached_property
    def sentences(self) -> tuple[_Sentence, ...]:
        title = statement_of(self.evidence.title).keys
        return tuple(_sentence(sentence.text, title) for sentence in sentences_of(self.evidence.text))


def best_support(statement: Statement, source: Source, policy: VerifierPolicy) -> Support:
    """The support of the first window that lacks nothing, else of the one that holds most of the claim."""
    stated = _Stated.of(statement)
    windows = sorted(_windows(stated, source, policy), key=lambda window: -window.coverage)
    best = Support(0.0, (OFF_TOPIC,), frozenset())
    for window in windows[:_CLOSE_LOOKS]:
        support = _support(stated, window, policy)
        if not support.findings:
            return support
        if support.coverage > best.coverage:
            best = support
    return best


def _sentence(text: str, title: tuple[str, ...]) -> _Sentence:
    statement = statement_of(text)
    pronoun = opens_with_pronoun(text)
    return _Sentence(statement.keys, statement.kinds, pronoun, title if pronoun else ())


def _windows(stated: _Stated, source: Source, policy: VerifierPolicy) -> Iterator[_Window]:
    wanted = frozenset(stated.keys)
    held = [wanted.intersection(sentence.keys) for sentence in source.sentences]
    for size in range(1, policy.window_sentences + 1):
        for first in range(max(len(held) - size + 1, 0)):
            run = held[first : first + size]
            if all(run):
                sentences = source.sentences[first : first + size]
                covered = wanted.intersection(sentences[0].for_pronoun).union(*run)
                yield _Window(sentences, len(covered) / len(wanted))


def _support(stated: _Stated, window: _Window, policy: VerifierPolicy) -> Support:
    held = frozenset(window.sentences[0].for_pronoun).union(*(sentence.keys for sentence in window.sentences))
    findings = list(_differences(stated, held))
    if window.coverage < policy.coverage:
        findings.append(WORDS_MISSING)
    if not findings:
        findings.extend(_placement_findings(stated, window, policy))
    return Support(window.coverage, tuple(dict.fromkeys(findings)), held)


def _differences(stated: _Stated, held: frozenset[str]) -> Iterator[str]:
    """A finding for each term of the claim that the window lacks and that has a kind of its own."""
    for position, (key, kind) in enumerate(zip(stated.keys, stated.kinds, strict=True)):
        if key in held:
            continue
        if negated(key) in held:
            yield NEGATION_DIFFERS
        elif kind is Kind.NUMBER or key in _MONTHS:
            near = stated.keys[max(position - 2, 0) : position + 3]
            yield DATE_DIFFERS if _MONTHS.intersection(near) else NUMBER_DIFFERS
        elif kind is Kind.UNIT:
            yield UNIT_DIFFERS
        elif opposed_in(key, held):
            yield OPPOSITE_WORD
        elif kind is Kind.NAME:
            yield NAME_DIFFERS


def _placement_findings(stated: _Stated, window: _Window, policy: VerifierPolicy) -> Iterator[str]:
    """Whether the claim's terms stand in the window as in the claim, and nothing there takes them back."""
    laid = _laid_out(window)
    if len(stated.keys) * len(laid.keys) > _LARGEST_ALIGNMENT:
        yield EVIDENCE_TOO_LONG
        return
    places = aligned(stated.keys, laid.keys)
    crossing = len({laid.sentences[place] for place in places if place != UNALIGNED}) > 1
    wanted = len(places) if crossing else policy.order * len(places)
    if sum(place != UNALIGNED for place in places) < wanted or (crossing and not _joined(places, laid)):
        yield ORDER_DIFFERS
    if any(_moved(index, stated, places, laid, policy) for index in range(len(places))):
        yield ORDER_DIFFERS
    yield from _taken_back(frozenset(stated.keys), places, laid)


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """The terms of a window in one row, the title's first where it may be the subject."""

    keys: tuple[str, ...]
    kinds: tuple[Kind, ...]
    sentences: tuple[int, ...]
    pronouns: tuple[bool, ...]
    title_length: int


def _laid_out(window: _Window) -> _LaidOut:
    title = window.sentences[0].for_pronoun
    return _LaidOut(
        keys=(*title, *(key for sentence in window.sentences for key in sentence.keys)),
        kinds=(*(Kind.NAME for _ in title), *(kind for sentence in window.sentences for kind in sentence.kinds)),
        sentences=(
            *(0 for _ in title),
            *(number for number, sentence in enumerate(window.sentences) for _ in sentence.keys),
        ),
        pronouns=tuple(sentence.opens_with_pronoun for sentence in window.sentences),
        title_length=len(title),
    )


def _moved(index: int, stated: _Stated, places: Sequence[int], laid: _LaidOut, policy: VerifierPolicy) -> bool:
    """Whether a term that must not move is out of order, or away from its neighbours in the claim."""
    place = places[index]
    if place == UNALIGNED:
        return stated.kinds[index] is not Kind.WORD or has_opposites(stated.keys[index])
    gap = _gap(max(stated.kinds[index], laid.kinds[place]), policy)
    return gap > 0 and place >= laid.title_length and not _bound(index, places, laid.sentences, gap)


def _joined(places: Sequence[int], laid: _LaidOut) -> bool:
    """Whether a claim may run from each sentence into the next.

    It may where the next one opens with a pronoun, or where it runs over the end of the one and the beginning of
    the other; else a name of one sentence could take the place of a name of the other.
    """
    held = set(places)
    for index in range(max(laid.title_length, 1), len(laid.keys)):
        begins = laid.sentences[index] != laid.sentences[index - 1]
        if begins and not laid.pronouns[laid.sentences[index]] and not {index - 1, index} <= held:
            return False
    return True


def _gap(kind: Kind, policy: VerifierPolicy) -> int:
    """How many terms away a neighbour may stand; 0 where it does not matter."""
    if kind is Kind.NAME:
        return policy.name_gap
    if kind is Kind.UNIT:
        return 1
    return policy.number_gap if kind is Kind.NUMBER else 0


def _bound(index: int, places: Sequence[int], owners: Sequence[int], gap: int) -> bool:
    """Whether a neighbour in the claim is a neighbour in the same sentence of the evidence as well."""
    here = places[index]
    for other in (index - 1, index + 1):
        if 0 <= other < len(places) and places[other] != UNALIGNED:
            there = places[other]
            if owners[there] == owners[here] and abs(there - here) <= gap:
                return True
    return len(places) == 1


def _taken_back(claimed: frozenset[str], places: Sequence[int], laid: _LaidOut) -> Iterator[str]:
    """What the evidence says around the claim's terms and the claim leaves out: a hedge, a negation."""
    last_of = {laid.sentences[place]: place for place in places if place != UNALIGNED}
    for index, (key, sentence) in enumerate(zip(laid.keys, laid.sentences, strict=True)):
        if index >= last_of.get(sentence, 0) or key in claimed or index < laid.title_length:
            continue
        if key in _HEDGES:
            yield HEDGE_DROPPED
        elif key.startswith(NOT):
            yield NEGATION_DIFFERS
