"""A home in which questions are asked, answers promoted, and asked about again."""

import atexit
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from arborist.answering.ask import Asker, Reply
from arborist.answering.extractive import ExtractiveModel
from arborist.answering.model import AnswerModel, Message, ModelAnswer, ModelIdentity
from arborist.answering.verifier import Verifier
from arborist.clock import FixedClock
from arborist.providence.ledger import Ledger
from arborist.providence.pass_mark import PassMark
from arborist.providence.promotion import Promoter, PromotionReport
from arborist.retrieval.context import Evidence
from arborist.retrieval.promoted import claims_stated
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace
from tests.corpora import bridges, opened

HOUR = 3600
ANY_GENERATION = "[policy.promotion]\nfirst_generation_only = false\n[policy.ranking]\nself_reference_slots = 20\n"


@dataclass
class QuotingModel:
    """Quotes what the evidence of these titles states; without any, the first sentence of the first evidence."""

    titles: Sequence[str] = ()
    deterministic: bool = True
    identity: ModelIdentity = field(default_factory=lambda: ModelIdentity("quoting", "1"))

    def answer(self, question: str, evidence: Sequence[Evidence], messages: Sequence[Message]) -> ModelAnswer:
        chosen = [item for item in evidence if item.title in self.titles] or list(evidence[:1])
        return ModelAnswer(" ".join(f"{_first_sentence(item.text)} [E{item.number}]" for item in chosen))


@cache
def _built() -> Path:
    """The corpus, built once for all tests; it is copied, never changed."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    bridges(folder)
    return folder


def _first_sentence(text: str) -> str:
    return claims_stated(text).splitlines()[0].split(". ")[0].rstrip(".") + "."


@dataclass
class AnswersHome:
    """The bridges corpus with a ledger over it, and a clock that the test moves."""

    workspace: Workspace
    ledger: Ledger
    model: AnswerModel = field(default_factory=ExtractiveModel)

    @classmethod
    @contextmanager
    def opened(cls, folder: Path, more: str = "") -> Iterator["AnswersHome"]:
        shutil.copytree(_built(), folder, dirs_exist_ok=True)
        config = folder / "corpus.toml"
        config.write_text(f"{more}\n{config.read_text()}")
        workspace = opened(folder)
        with Ledger.open(workspace.home.root, workspace.clock) as ledger:
            yield cls(workspace, ledger)

    @property
    def clock(self) -> FixedClock:
        clock = self.workspace.clock
        assert isinstance(clock, FixedClock)
        return clock

    @property
    def promoter(self) -> Promoter:
        return Promoter.of(self.workspace.corpus, self.ledger, self.workspace.config.policy, self.clock.now())

    def ask(self, question: str, quoting: Sequence[str] | None = None) -> Reply:
        """Ask; with titles, the answer quotes the evidence that has them."""
        return self.asker(quoting).ask(Query(question))

    def asker(self, quoting: Sequence[str] | None = None) -> Asker:
        model = self.model if quoting is None else QuotingModel(quoting)
        return Asker(self.workspace.corpus, self.ledger, model, Verifier(), self.workspace.config.policy)

    def promote(self, after: float = HOUR, since: PassMark | None = None) -> PromotionReport:
        """Let the time pass, then make a pass."""
        self.clock.advance(after)
        return self.promoter.promote(since)

    def generations(self, count: int) -> list[Reply]:
        """Answers each of which rests on the one before, the first on the corpus; all but the last promoted."""
        replies = [self.ask("When did the Alder Bridge open?")]
        for number in range(1, count):
            self.promote()
            previous = replies[-1].record.question
            replies.append(self.ask(f"In generation {number}, when did the Alder Bridge open?", [previous]))
        return replies
