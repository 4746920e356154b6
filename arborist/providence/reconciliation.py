"""Reconciliation: what may be a source is computed from the ledger and compared with what is one.

There is one promoted answer to a question (after one conversation) at most: the newest that the gates let through,
unless an older one that is promoted and still allowed says the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from arborist.corpus.chunking import Chunker
from arborist.corpus.document_chunks import chunked
from arborist.providence.gates import (
    CANDIDATE_COLUMNS,
    WAITING,
    Candidate,
    Cooling,
    Gate,
    GatePolicy,
    closed_gate,
)
from arborist.providence.ledger import Ledger
from arborist.providence.pass_mark import PROMOTABLE, PassMark
from arborist.providence.promoted_document import promoted_document, promoted_text
from arborist.providence.promotions import (
    NewPromotion,
    Promotion,
    Retirement,
    promotion_in_use,
    promotions_in_use,
)
from arborist.providence.record import LIVE
from arborist.retrieval.promoted import promoted_uri

RECORD_RETIRED = "record-retired"
"""The reason of a promotion whose record was taken out of use."""

SHOWN_CHANGES = 1_000
_BATCH = 500

Question = tuple[str, str]
"""Question hash and conversation hash."""

Write = Callable[[Sequence[NewPromotion], Sequence[Retirement]], Sequence[NewPromotion]]
"""Carries out promotions and retirements, and gives back the promotions that were carried out."""


@dataclass(frozen=True, slots=True)
class Change:
    """A document that comes or goes: `promoted`, `superseded` (in the place of another) or `retired`, and why."""

    change: str
    uri: str
    question_hash: str
    reason: str = ""


@dataclass
class Tally:
    """What a pass has found so far; see `PromotionReport` for the counts."""

    promoted: int = 0
    superseded: int = 0
    retired: int = 0
    examined: int = 0
    repeated: int = 0
    fallen: int = 0
    closed: Counter[Gate] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)

    def note(self, change: Change) -> None:
        if len(self.changes) < SHOWN_CHANGES:
            self.changes.append(change)


@dataclass
class Reconciliation:
    """One pass over what is new since `mark`, at the time that `cooled` stands for."""

    ledger: Ledger
    chunker: Chunker
    gates: GatePolicy
    cooled: Cooling
    kindergarten_seconds: int
    mark: PassMark
    write: Write
    tally: Tally = field(default_factory=Tally)
    _decided: set[Question] = field(default_factory=set)
    _promotions: list[NewPromotion] = field(default_factory=list)
    _retirements: list[Retirement] = field(default_factory=list)

    def run(self) -> Tally:
        """Look at everything there is to look at, and carry out what follows."""
        self._count_unpromotable()
        for candidate in self.mark.matured(self.ledger, self.cooled):
            self._examine(candidate)
        for question in self._shaken():
            self._decide(question)
        self._flush()
        return self.tally

    def _count_unpromotable(self) -> None:
        """Records that are held back at the first two gates are counted where they stand, without being read."""
        rows = self.ledger.rows(
            "SELECT audit_mode = 'STRICT', count(*) FROM providence_records "
            "WHERE record_id > ? AND record_id <= ? AND retired_at IS NULL "
            "AND (audit_mode <> 'STRICT' OR falsification_state <> 'live') GROUP BY 1",
            (self.mark.cooled, self.cooled.seq),
        )
        for is_strict, count in rows:
            self.tally.closed[Gate.FALSIFICATION_STATE if is_strict else Gate.AUDIT_MODE] += count
        ((waiting,),) = self.ledger.rows(
            "SELECT count(*) FROM providence_records INDEXED BY records_promotable "
            f"WHERE {PROMOTABLE} AND record_id > ?",
            (max(self.cooled.seq, self.mark.cooled),),
        )
        if waiting:
            self.tally.closed[Gate.KINDERGARTEN] += waiting

    def _shaken(self) -> Iterator[Question]:
        """The questions whose promoted answer may have to go, or come back."""
        fallen = self.mark.fallen(self.ledger)
        self.tally.fallen = len(fallen)
        keys = dict.fromkeys(key for _, key in fallen)
        for key in list(keys):
            keys.update(dict.fromkeys(self.ledger.leaning_on(key)))
        for key in keys:
            yield from self._questions_of(key)
        if not self.mark.head:
            yield from ((item.question_hash, item.conversation_hash) for item in promotions_in_use(self.ledger))

    def _questions_of(self, cache_key: str) -> list[Question]:
        rows = self.ledger.rows(
            "SELECT question_hash, conversation_hash FROM providence_records WHERE cache_key = ? UNION "
            "SELECT question_hash, conversation_hash FROM promotions WHERE cache_key = ?",
            (cache_key, cache_key),
        )
        return [(question, conversation) for question, conversation in rows]

    def _examine(self, candidate: Candidate) -> None:
        self.tally.examined += 1
        question = candidate.question_hash, candidate.conversation_hash
        group = self._group(question)
        gate = group.gate(candidate)
        if gate is not None:
            self.tally.closed[gate] += 1
            if group.current is None:
                return
        promotion = self._decide(question, group)
        if gate is None and (promotion is None or promotion.record_id != candidate.record_id):
            self.tally.repeated += 1

    def _decide(self, question: Question, group: "_Group | None" = None) -> NewPromotion | None:
        """Settle a question once; what becomes a source for it, None where nothing new does."""
        if question in self._decided:
            return None
        self._decided.add(question)
        group = group or self._group(question)
        promotion = group.promotion()
        if promotion is not None:
            self._promotions.append(promotion)
        elif group.current is not None and group.newest_allowed() is None:
            reason = group.reason_against_current()
            self._retirements.append(Retirement(group.current.document_root, group.current.cache_key, reason))
            self.tally.note(
                Change("retired", promoted_uri(group.current.cache_key), group.current.question_hash, reason)
            )
        if len(self._promotions) + len(self._retirements) >= _BATCH:
            self._flush()
        return promotion

    def _group(self, question: Question) -> "_Group":
        rows = self.ledger.rows(
            f"SELECT {CANDIDATE_COLUMNS} FROM providence_records WHERE question_hash = ? "
            "AND conversation_hash = ? AND retired_at IS NULL ORDER BY record_id DESC",
            question,
        )
        current = promotion_in_use(self.ledger, *question)
        return _Group(self, tuple(Candidate(*row) for row in rows), current)

    def _flush(self) -> None:
        for item in self.write(self._promotions, self._retirements):
            change = "superseded" if item.supersedes else "promoted"
            self.tally.promoted += not item.supersedes
            self.tally.superseded += bool(item.supersedes)
            self.tally.note(Change(change, promoted_uri(item.cache_key), item.question_hash))
        self.tally.retired += len(self._retirements)
        self._promotions, self._retirements = [], []


@dataclass
class _Group:
    """The records in use that answer one question, the newest first, and which of them is promoted now."""

    reconciliation: Reconciliation
    candidates: tuple[Candidate, ...]
    current: Promotion | None
    _gates: dict[int, Gate | None] = field(default_factory=dict)

    def gate(self, candidate: Candidate) -> Gate | None:
        """The first gate closed to the record. Once promoted, it need not cool again."""
        if candidate.record_id not in self._gates:
            pass_ = self.reconciliation
            cooled = self._is_current(candidate) or pass_.cooled.has_cooled(candidate)
            gate = closed_gate(pass_.ledger, candidate, pass_.gates, cooled=cooled)
            if gate is None and self._says_what_has_fallen(candidate):
                gate = Gate.FALSIFICATION_STATE
            self._gates[candidate.record_id] = gate
        return self._gates[candidate.record_id]

    def _is_current(self, candidate: Candidate) -> bool:
        current = self.current
        return (
            current is not None
            and candidate.cache_key == current.cache_key
            and candidate.run_dag_root == current.run_dag_root
        )

    def _says_what_has_fallen(self, candidate: Candidate) -> bool:
        """Whether a falsified record answers the question in the same words from the same chunks.

        Asked again over other sources beside the cited ones, a question has another cache key; its answer must not
        be washed clean by that.
        """
        fallen = [item for item in self.candidates if item.falsification_state != LIVE]
        return bool(fallen) and self._text(candidate) in {self._text(item) for item in fallen}

    def newest_allowed(self) -> Candidate | None:
        return next((item for item in self.candidates if self.gate(item) is None), None)

    def promotion(self) -> NewPromotion | None:
        """What has to become a source; None where what is one stays, or nothing may be one."""
        newest = self.newest_allowed()
        if newest is None or (self.current is not None and self._current_stays(newest)):
            return None
        root = self._document_root(newest)
        if self.current is not None and root == self.current.document_root:
            return None
        return NewPromotion(
            document_root=root,
            cache_key=newest.cache_key,
            record_id=newest.record_id,
            run_dag_root=newest.run_dag_root,
            question_hash=newest.question_hash,
            conversation_hash=newest.conversation_hash,
            kindergarten_seconds=self.reconciliation.kindergarten_seconds,
            supersedes=self.current.document_root if self.current is not None else None,
        )

    def _current_stays(self, newest: Candidate) -> bool:
        if self._is_current(newest):
            # A pass over everything looks at the document itself, which may be laid out otherwise by now.
            return bool(self.reconciliation.mark.head)
        current = next((item for item in self.candidates if self._is_current(item)), None)
        return current is not None and self.gate(current) is None and self._text(current) == self._text(newest)

    def reason_against_current(self) -> str:
        current = next((item for item in self.candidates if self._is_current(item)), None)
        gate = None if current is None else self.gate(current)
        return RECORD_RETIRED if gate is None else gate.value

    def _text(self, candidate: Candidate) -> str:
        ledger = self.reconciliation.ledger
        return promoted_text(ledger.record_numbered(candidate.record_id), ledger.sources(candidate.record_id))

    def _document_root(self, candidate: Candidate) -> str:
        ledger = self.reconciliation.ledger
        record = ledger.record_numbered(candidate.record_id)
        document = promoted_document(record, ledger.sources(candidate.record_id))
        return chunked(document, self.reconciliation.chunker).root.hex()


def gate_counts(closed: Counter[Gate]) -> tuple[dict[str, int], dict[str, int]]:
    """The counts of the gates that records wait at, and of those that reject them: every gate has one."""
    waiting = {gate.value: closed[gate] for gate in WAITING}
    return waiting, {gate.value: closed[gate] for gate in Gate if gate not in WAITING}
