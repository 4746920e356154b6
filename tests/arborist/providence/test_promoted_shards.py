"""The shards of promoted answers follow the ledger, whatever becomes of their files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arborist.providence.promoted_shards import PromotedShards
from arborist.workspace import Workspace
from tests.arborist.providence.answers import AnswersHome
from tests.corpora import WHEN_ALDER, build, opened, write_config, write_rows

SHARD = "providence-000"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        yield made


def documents(home: AnswersHome) -> int:
    return sum(meta.documents for meta in PromotedShards(home.workspace.corpus, home.ledger).metas())


def test_the_last_one_to_go_takes_the_shard_with_it(home: AnswersHome) -> None:
    record = home.ask(WHEN_ALDER).record
    home.promote()
    home.ledger.set_state(record.cache_key, "failed", "wrong")
    assert home.promote(after=1).shards == (SHARD,)
    assert SHARD not in home.workspace.corpus.published_shards()
    assert list(home.workspace.home.root.glob(f"**/{SHARD}*")) == []


@pytest.mark.parametrize("damage", ["deleted", "truncated"])
def test_a_shard_file_that_is_gone_or_broken_is_made_again(home: AnswersHome, damage: str) -> None:
    home.ask(WHEN_ALDER)
    root = home.promote().root
    path = home.workspace.home.shard_file(SHARD)
    path.unlink() if damage == "deleted" else path.write_bytes(path.read_bytes()[:2000])
    report = home.promote(after=1)
    assert (report.shards, report.root) == ((SHARD,), root)


def test_documents_fill_shards_in_order_and_a_new_one_changes_the_last_alone(
    home: AnswersHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arborist.providence.promoted_shards.DOCUMENTS_PER_SHARD", 2)
    rows = {f"things/{n}": (f"Thing {n}", f"The thing number {n} weighs {n} kilograms.") for n in range(5)}
    write_rows(tmp_path / "things.jsonl", rows)
    write_config(tmp_path, {"things": {}})
    home.workspace = Workspace(home.workspace.home, opened(tmp_path).config, home.clock)
    build(home.workspace)
    for number in range(4):
        home.ask(f"How much does the thing number {number} weigh?", [f"Thing {number}"])
    assert home.promote().shards == ("providence-000", "providence-001")
    first = home.workspace.home.shard_file("providence-000").stat().st_ino
    home.ask("How much does the thing number 4 weigh?", ["Thing 4"])
    assert home.promote().shards == ("providence-002",)
    assert home.workspace.home.shard_file("providence-000").stat().st_ino == first
    assert documents(home) == 5
