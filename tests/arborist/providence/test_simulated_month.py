"""The same questions hour after hour: what is promoted levels off, and the primary evidence stays where it was."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from arborist.clock import FixedClock
from arborist.policy import SELF_REFERENCE
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from arborist.providence.promotions import count_in_use, promotions_in_use
from arborist.workspace import Workspace
from tests.arborist.providence.answers import AnswersHome
from tests.corpora import build, write_config

QUESTIONS = 20


@dataclass
class SimulatedMonth:
    """Paragraphs of Wikipedia, twenty questions with the paragraph that answers each, and a clock."""

    home: AnswersHome
    wanted: dict[str, str]
    recalls: list[float] = field(default_factory=list)
    promoted: list[int] = field(default_factory=list)

    def hour(self) -> None:
        """Ask everything, then let the hour pass and make a pass."""
        found = 0
        for question, uri in self.wanted.items():
            reply = self.home.ask(question)
            primary = [source.uri for source in reply.sources if source.role != SELF_REFERENCE]
            assert reply.sources[0].role != SELF_REFERENCE
            found += primary[:1] == [uri]
        self.recalls.append(found / len(self.wanted))
        self.home.promote()
        self.promoted.append(count_in_use(self.home.ledger))

    def promoted_with_an_ancestor(self) -> list[str]:
        rows = self.home.ledger.rows("SELECT DISTINCT record_id FROM record_ancestors")
        leaning = {record_id for (record_id,) in rows}
        return [item.cache_key for item in promotions_in_use(self.home.ledger) if item.record_id in leaning]


@pytest.fixture
def month(tmp_path: Path, shared_data: Path) -> Iterator[SimulatedMonth]:
    folder = shared_data / "squad2_wiki"
    documents = [json.loads(line) for line in (folder / "docs_gold.jsonl").open(encoding="utf-8")][:120]
    rows = [{"uri": row["doc_id"], "title": row["title"], "text": row["text"]} for row in documents]
    (tmp_path / "wiki.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    write_config(tmp_path, {"wiki": {}})
    uris = {row["uri"] for row in rows}
    asked = (json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8"))
    answerable = [item for item in asked if item["answerable"] and item["doc_id"] in uris]
    wanted = {item["question"]: item["doc_id"] for item in answerable[:: len(answerable) // QUESTIONS][:QUESTIONS]}
    workspace = Workspace.open(tmp_path / "var", tmp_path / "corpus.toml", FixedClock())
    build(workspace)
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        yield SimulatedMonth(AnswersHome(workspace, ledger), wanted)


def is_steady(month: SimulatedMonth) -> None:
    assert 0 < month.promoted[-1] <= QUESTIONS
    settled = month.promoted[len(month.promoted) // 2 :]
    assert settled == [month.promoted[-1]] * len(settled)
    assert month.promoted_with_an_ancestor() == []
    assert min(month.recalls) >= month.recalls[0]
    assert fsck(month.home.workspace.home.root).faults == ()


def test_a_simulated_day_levels_off(month: SimulatedMonth) -> None:
    for _ in range(12):
        month.hour()
    is_steady(month)


@pytest.mark.slow
def test_a_simulated_month_levels_off(month: SimulatedMonth) -> None:
    for _ in range(30 * 24):
        month.hour()
    is_steady(month)
    print(f"promoted {month.promoted[-1]}, recall@1 {month.recalls[0]:.3f} -> {month.recalls[-1]:.3f}")
