"""Promotion: a pass over the ledger that makes cooled STRICT answers sources (`self-providence.md`, Document)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arborist.corpus.store import Corpus
from arborist.errors import InputError
from arborist.files import replacing
from arborist.policy import Policy
from arborist.providence.audit_events import EventType, NewEvent
from arborist.providence.gates import GatePolicy, cooling
from arborist.providence.ledger import Ledger
from arborist.providence.pass_mark import PassMark
from arborist.providence.promoted_shards import PromotedShards, shard_index, shard_name
from arborist.providence.promotions import (
    NewPromotion,
    Retirement,
    count_in_use,
    numbers_changed_after,
    write_promotions,
)
from arborist.providence.reconciliation import Change, Reconciliation, Tally, Write, gate_counts


@dataclass(frozen=True, slots=True)
class PromotionReport:
    """What a pass did, or would do.

    `promoted`, `superseded` (in the place of an older answer to the same question), `retired` and `unchanged`
    count documents. `examined` counts the records looked at: those that became documents, those that say what is
    promoted already (`repeated`), and those held back, each counted at the first gate closed to it. `waiting`
    and `rejected` have a count for every gate. `changes` are the first thousand. `shards` are those built anew
    or taken away, and `root` is the root over all shards of promoted answers.
    """

    promoted: int
    superseded: int
    retired: int
    unchanged: int
    examined: int
    repeated: int
    waiting: Mapping[str, int]
    rejected: Mapping[str, int]
    changes: tuple[Change, ...]
    shards: tuple[str, ...]
    root: str

    def to_json(self) -> dict[str, Any]:
        value = {name: getattr(self, name) for name in self.__slots__}
        changes = [{name: getattr(item, name) for name in Change.__slots__} for item in self.changes]
        return value | {"waiting": dict(self.waiting), "rejected": dict(self.rejected), "changes": changes}


@dataclass(frozen=True)
class Promoter:
    """What a pass needs: the corpus whose chunking counts today, the ledger, the policies, and the time.

    `now` is in seconds since the epoch; `kindergarten_seconds` is the window of this pass.
    """

    corpus: Corpus
    ledger: Ledger
    policy: Policy
    now: float
    kindergarten_seconds: int

    @classmethod
    def of(
        cls, corpus: Corpus, ledger: Ledger, policy: Policy, now: float, kindergarten_seconds: int | None = None
    ) -> "Promoter":
        """The window is the policy's unless another is asked for. Raises InputError for one below zero."""
        seconds = policy.promotion.kindergarten_seconds if kindergarten_seconds is None else kindergarten_seconds
        if seconds < 0:
            raise InputError(f"the kindergarten window is {seconds} seconds: it must be 0 or more")
        return cls(corpus, ledger, policy, now, seconds)

    @property
    def gates(self) -> GatePolicy:
        return GatePolicy.of(self.corpus.chunker.version, self.policy.answering, self.policy.promotion)

    def promote(self, since: PassMark | None = None) -> PromotionReport:
        """Make a pass over what is new since the last (or since another mark) and bring the shards in line.

        One pass at a time; a second one waits, and finds nothing left to do. What a killed pass left undone, the
        next one does.
        """
        with replacing(self.corpus.home.root / "promotion"):
            last = PassMark.last(self.ledger)
            made = self._pass(since or last, lambda *changes: write_promotions(self.ledger, *changes))
            shards = self._published_since(since or last)
            if made.tally.examined or made.tally.fallen or made.next.gates != last.gates:
                # Only a pass writes promotions, and there is no other now: up to its last event all is published.
                mark = replace(made.next, published=self.ledger.head()[0])
                self.ledger.append_event(NewEvent(EventType.PROMOTIONS_RECONCILED, made.payload(mark)))
            return self._report(made, shards)

    def planned(self, since: PassMark | None = None) -> PromotionReport:
        """What `promote` would do now; nothing is written."""
        return self._report(self._pass(since or PassMark.last(self.ledger), _nothing_written), ())

    def _pass(self, since: PassMark, write: Write) -> "_Pass":
        gates = self.gates
        if since.gates != gates.digest():
            since = PassMark()
        head = self.ledger.head()[0]
        cooled = cooling(self.ledger, self.now, self.kindergarten_seconds)
        pass_ = Reconciliation(
            self.ledger, self.corpus.chunker, gates, cooled, self.kindergarten_seconds, since, write
        )
        in_use = count_in_use(self.ledger)
        tally = pass_.run()
        after = PassMark(
            head=head,
            cooled=max(since.cooled, cooled.seq),
            cutoff=max(since.cutoff, cooled.cutoff),
            gates=gates.digest(),
        )
        return _Pass(tally, in_use - tally.superseded - tally.retired, after, self.kindergarten_seconds)

    def _published_since(self, mark: PassMark) -> tuple[str, ...]:
        """Build anew every shard that is not what the ledger says, and give back their names."""
        shards = PromotedShards(self.corpus, self.ledger)
        changed = {shard_index(number) for number in numbers_changed_after(self.ledger, mark.published)}
        behind = [index for index in sorted(changed) if not shards.is_current(index)]
        behind += [index for index in shards.indexes() if index not in changed and not shards.is_whole(index)]
        for index in behind:
            shards.publish(index)
        return tuple(shard_name(index) for index in behind)

    def _report(self, made: "_Pass", shards: Sequence[str]) -> PromotionReport:
        tally = made.tally
        waiting, rejected = gate_counts(tally.closed)
        return PromotionReport(
            promoted=tally.promoted,
            superseded=tally.superseded,
            retired=tally.retired,
            unchanged=made.unchanged,
            examined=tally.examined,
            repeated=tally.repeated,
            waiting=waiting,
            rejected=rejected,
            changes=tuple(tally.changes),
            shards=tuple(shards),
            root=PromotedShards(self.corpus, self.ledger).snapshot().root,
        )


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass that was made, the documents it left as they were, and the mark that it leaves."""

    tally: Tally
    unchanged: int
    next: PassMark
    kindergarten_seconds: int

    def payload(self, mark: PassMark) -> dict[str, Any]:
        waiting, rejected = gate_counts(self.tally.closed)
        counts = ("promoted", "superseded", "retired", "examined", "repeated")
        return {
            **{name: getattr(mark, name) for name in PassMark.__slots__},
            **{name: getattr(self.tally, name) for name in counts},
            "waiting": waiting,
            "rejected": rejected,
            "kindergarten_seconds": self.kindergarten_seconds,
        }


def _nothing_written(promoted: Sequence[NewPromotion], retired: Sequence[Retirement]) -> Sequence[NewPromotion]:
    return promoted
