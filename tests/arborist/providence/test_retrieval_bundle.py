"""Bundles of our own records: what is written can be audited, what cannot be repeated is refused by its reason."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arborist.answering.ask import Reply, open_asker
from arborist.errors import ProofError
from arborist.providence.retrieval_audit import verify_bundle_file
from arborist.providence.retrieval_bundle import FILES, bundle_folder, control_question, write_retrieval_bundle
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace
from tests.arborist.providence.answers import AnswersHome
from tests.corpora import WHEN_ALDER, build, write_rows


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as opened:
        yield opened


def test_a_bundle_is_five_files_and_nothing_is_recorded(home: AnswersHome) -> None:
    record = home.ask(WHEN_ALDER).record
    head = home.ledger.head()
    written = write_retrieval_bundle(home.workspace, record, bundle_folder(home.workspace, record))
    assert {path.name for path in written.parent.iterdir() if not path.name.startswith(".")} == set(FILES)
    assert home.ledger.head() == head


def test_the_same_record_gives_the_same_bundle_at_the_same_time(home: AnswersHome, tmp_path: Path) -> None:
    record = home.ask(WHEN_ALDER).record
    folders = [write_retrieval_bundle(home.workspace, record, tmp_path / name).parent for name in ("a", "b", "a")]
    for name in FILES:
        assert len({(folder / name).read_bytes() for folder in folders}) == 1


@dataclass
class ClockThatMoves:
    """Does something the third time that it is asked, which is between the two snapshots of a bundle."""

    moves: Callable[[], None]
    asked: int = 0

    def now(self) -> float:
        self.asked += 1
        if self.asked == 3:
            self.moves()
        return 1_700_000_000.0


def rebuild_otherwise(workspace: Workspace) -> None:
    write_rows(workspace.config.path.parent / "people.jsonl", {"people/field": ("Mona Field", "Someone else.")})
    build(workspace)


def test_a_shard_that_moves_between_the_two_looks_is_told(home: AnswersHome, tmp_path: Path) -> None:
    record = home.ask(WHEN_ALDER).record
    workspace = replace(home.workspace, clock=ClockThatMoves(lambda: rebuild_otherwise(home.workspace)))
    report = verify_bundle_file(write_retrieval_bundle(workspace, record, tmp_path / "bundle"))
    assert report["before_after_snapshot_equal"] is False
    assert [(item["code"], item["at"]) for item in report["findings"]] == [("snapshot-changed", "/after/shards")]
    assert report["cases"]["customer"]["original_identity"] == "passed"


def test_snapshots_are_of_the_shards_that_were_searched(home: AnswersHome, tmp_path: Path) -> None:
    record = home.ask(WHEN_ALDER).record
    written = write_retrieval_bundle(home.workspace, record, tmp_path / "bundle")
    before, after = (json.loads((written.parent / f"{name}.json").read_text()) for name in ("before", "after"))
    assert before == after
    assert dict(before["shards"]) == dict(home.workspace.corpus.snapshot().shards)
    assert before["snapshot_root"] == home.workspace.corpus.snapshot().root


def test_keywords_that_the_plan_does_not_bind_are_searched_with_and_keyed(tmp_path: Path) -> None:
    unbound = "[policy.provenance]\nbind_keywords_in_run_dag = false\nkeywords_affect_cache_key = true\n"
    with AnswersHome.opened(tmp_path, unbound) as home:
        record = _asked_with(home, "railway").record
        written = write_retrieval_bundle(home.workspace, record, bundle_folder(home.workspace, record))
    report = verify_bundle_file(written)
    assert report["findings"] == []


def _asked_with(home: AnswersHome, keyword: str) -> Reply:
    return open_asker(home.workspace, home.ledger).ask(Query(WHEN_ALDER, (keyword,)))


def test_the_control_question_follows_from_the_run_and_is_one_word(home: AnswersHome) -> None:
    first, second = (home.ask(question).record.run_dag_root for question in (WHEN_ALDER, "How long is the Wenn?"))
    assert control_question(first) != control_question(second)
    assert control_question(first).isalpha()


def test_a_record_whose_shards_have_moved_is_refused_by_name(home: AnswersHome) -> None:
    record = home.ask(WHEN_ALDER).record
    folder = home.workspace.config.path.parent
    rebuild_otherwise(home.workspace)
    with pytest.raises(ProofError, match="people-000 has moved"):
        write_retrieval_bundle(home.workspace, record, folder / "bundle")
    assert not (folder / "bundle").exists()


@pytest.mark.parametrize(
    ("name", "setting"), [("ranking", "bm25_k1 = 2.0"), ("answering", "background_budget_weight = 0.5")]
)
def test_a_record_of_another_policy_is_refused_by_its_name(home: AnswersHome, name: str, setting: str) -> None:
    record = home.ask(WHEN_ALDER).record
    path = home.workspace.config.path
    path.write_text(f"[policy.{name}]\n{setting}\n{path.read_text()}")
    changed = Workspace.open(home.workspace.home.root, path, home.clock)
    with pytest.raises(ProofError, match=rf"\[policy.{name}\] .* has changed"):
        write_retrieval_bundle(changed, record, path.parent / "bundle")


def test_a_record_whose_plan_was_not_kept_is_refused(tmp_path: Path) -> None:
    silent = "[policy.provenance]\nstore_keywords_on_record = false\n"
    with AnswersHome.opened(tmp_path, silent) as home:
        record = _asked_with(home, "railway").record
        with pytest.raises(ProofError, match="was not kept"):
            write_retrieval_bundle(home.workspace, record, tmp_path / "bundle")
