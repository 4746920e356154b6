"""Promotion is a reconciliation: what is promoted is what the ledger allows, however often a pass is made."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arborist.clock import FixedClock
from arborist.errors import InputError
from arborist.providence.audit_events import EventType
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from arborist.providence.pass_mark import PassMark, promotion_due
from arborist.providence.promoted_shards import PromotedShards
from arborist.providence.promotion import Promoter
from arborist.providence.promotions import count_in_use, promotion_in_use, promotions_of_record
from arborist.workspace import Workspace
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.corpora import WHEN_ALDER, build, opened

WENN = "How long is the river Wenn?"
OUSE = "When does the Ouse freeze?"
UNANSWERED = "Who conducts the orchestra of Samarkand?"
SHARD = "providence-000"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        yield made


def served_uris(home: AnswersHome) -> list[str]:
    """The uris that the index serves of promoted answers."""
    shards = PromotedShards(home.workspace.corpus, home.ledger)
    with home.workspace.corpus.opened(shards.published()) as opened_shards:
        return [uri for shard in opened_shards for (uri,) in shard.rows("SELECT uri FROM documents ORDER BY uri")]


def uri(key: str) -> str:
    return f"arborist://providence/{key}"


def test_cooled_strict_answers_become_documents_of_the_index(home: AnswersHome) -> None:
    keys = [home.ask(question).record.cache_key for question in (WHEN_ALDER, WENN)]
    home.ask(UNANSWERED)
    report = home.promote()
    assert (report.promoted, report.examined, report.unchanged) == (2, 2, 0)
    assert report.rejected["audit-mode"] == 1
    assert report.shards == (SHARD,)
    assert served_uris(home) == sorted(map(uri, keys))
    assert fsck(home.workspace.home.root).faults == ()


def test_a_record_is_promoted_at_the_very_end_of_its_window_and_not_a_second_before(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    early = home.promote(after=HOUR - 1)
    assert (early.promoted, early.waiting["kindergarten"]) == (0, 1)
    assert home.promote(after=1).promoted == 1


def test_a_clock_set_back_promotes_nothing(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.clock.advance(HOUR)
    home.ask(UNANSWERED)
    assert home.promote(after=-1).promoted == 0
    assert home.promote(after=-2 * HOUR).promoted == 0
    assert home.promote(after=3 * HOUR).promoted == 1


def test_a_clock_set_back_retires_nothing_either(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.promote()
    report = home.promote(after=-2 * HOUR, since=PassMark())
    assert (report.retired, report.unchanged) == (0, 1)


def test_a_second_pass_writes_nothing(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.promote()
    path = home.workspace.home.shard_file(SHARD)
    head, written = home.ledger.head(), path.stat().st_ino
    again = home.promote()
    assert (again.promoted, again.unchanged, again.shards) == (0, 1, ())
    assert home.ledger.head() == head
    assert path.stat().st_ino == written


def test_a_full_pass_finds_what_the_small_ones_made(home: AnswersHome) -> None:
    for question in (WHEN_ALDER, WENN, OUSE):
        home.ask(question)
        home.promote()
    report = home.promote(since=PassMark())
    assert (report.promoted, report.superseded, report.retired, report.unchanged) == (0, 0, 0, 3)
    assert (report.examined, report.repeated, report.shards) == (3, 3, ())


def test_a_dry_run_says_what_a_pass_then_does_and_writes_nothing(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)
    home.clock.advance(HOUR)
    head = home.ledger.head()
    planned = home.promoter.planned()
    assert home.ledger.head() == head
    assert not home.workspace.home.shard_file(SHARD).exists()
    made = home.promoter.promote()
    assert (made.promoted, made.changes, made.waiting) == (planned.promoted, planned.changes, planned.waiting)


def test_the_same_answer_asked_again_over_other_context_stays_the_document_it_was(home: AnswersHome) -> None:
    first = home.ask(WHEN_ALDER).record
    home.promote()
    again = home.ask(WHEN_ALDER).record
    assert again.cache_key != first.cache_key
    assert again.answer == first.answer
    report = home.promote()
    assert (report.repeated, report.unchanged) == (1, 1)
    assert served_uris(home) == [uri(first.cache_key)]


def test_a_changed_answer_supersedes_the_old_and_the_edge_is_kept(home: AnswersHome, tmp_path: Path) -> None:
    old = home.ask(WHEN_ALDER).record
    home.promote()
    rows = (tmp_path / "land.jsonl").read_text().replace("opened in 1932", "opened in 1933")
    (tmp_path / "land.jsonl").write_text(rows)
    home.workspace = Workspace(home.workspace.home, opened(tmp_path).config, home.clock)
    build(home.workspace)
    new = home.ask(WHEN_ALDER).record
    assert new.answer == "The Alder Bridge opened in 1933. [E1]"
    report = home.promote()
    assert (report.promoted, report.superseded, report.retired, report.unchanged) == (0, 1, 0, 0)
    assert served_uris(home) == [uri(new.cache_key)]
    (before,), (after,) = (promotions_of_record(home.ledger, item.cache_key) for item in (old, new))
    assert after.supersedes == before.document_root
    assert (before.retired_reason, before.retired_seq) == ("superseded", after.promoted_seq)
    assert fsck(home.workspace.home.root).faults == ()


@pytest.mark.parametrize("state", ["failed", "stale", "quarantined"])
def test_what_has_fallen_is_retired_with_the_reason_and_comes_back_when_it_is_revived(
    home: AnswersHome, state: str
) -> None:
    kept, fallen = home.ask(WENN).record, home.ask(WHEN_ALDER).record
    home.promote()
    home.ledger.set_state(fallen.cache_key, state, "the source was wrong")
    report = home.promote(after=1)
    assert (report.retired, report.unchanged, report.changes[0].reason) == (1, 1, "falsification-state")
    assert served_uris(home) == [uri(kept.cache_key)]
    home.ledger.set_state(fallen.cache_key, "live", "the source was right after all")
    assert home.promote(after=1).promoted == 1
    (promotion,) = promotions_of_record(home.ledger, fallen.cache_key)
    assert promotion.retired_seq is None
    assert fsck(home.workspace.home.root).faults == ()


def test_the_same_words_do_not_come_back_under_another_key(home: AnswersHome) -> None:
    first = home.ask(WHEN_ALDER).record
    home.promote()
    twin = home.ask(WHEN_ALDER).record
    home.promote()
    home.ledger.set_state(first.cache_key, "failed", "wrong")
    report = home.promote()
    assert (report.retired, report.promoted) == (1, 0)
    assert home.promote(since=PassMark()).rejected["falsification-state"] == 2
    assert promotion_in_use(home.ledger, twin.question_hash, twin.conversation_hash) is None


def test_a_record_asked_anew_with_the_same_outcome_keeps_its_document(home: AnswersHome) -> None:
    record = home.ask(WHEN_ALDER).record
    home.promote()
    home.ledger.retire(record.cache_key, "asked anew")
    home.workspace.home.shard_file(SHARD).rename(home.workspace.home.root / "aside")
    again = home.ask(WHEN_ALDER).record
    (home.workspace.home.root / "aside").rename(home.workspace.home.shard_file(SHARD))
    assert (again.cache_key, again.run_dag_root) == (record.cache_key, record.run_dag_root)
    report = home.promote(after=1)
    assert (report.retired, report.unchanged) == (0, 1)


def test_a_burnt_record_takes_its_document_along(home: AnswersHome) -> None:
    record = home.ask(WHEN_ALDER).record
    home.promote()
    home.ledger.retire(record.cache_key, "asked anew")
    report = home.promote(after=1)
    assert (report.retired, report.changes[0].reason) == (1, "record-retired")


def test_another_chunking_makes_everything_wait_and_the_old_one_brings_it_back(
    home: AnswersHome, tmp_path: Path
) -> None:
    home.ask(WHEN_ALDER)
    home.promote()
    config = tmp_path / "corpus.toml"
    written = config.read_text()
    config.write_text(f"[chunking]\nmax_characters = 500\n{written}")
    changed = Workspace(home.workspace.home, opened(tmp_path).config, home.clock)
    stale = Promoter.of(changed.corpus, home.ledger, changed.config.policy, home.clock.now()).promote()
    assert (stale.retired, stale.waiting["stale-policy"], stale.changes[0].reason) == (1, 1, "stale-policy")
    assert home.promote(after=1).promoted == 1


def test_a_longer_window_takes_nothing_back_and_a_shorter_one_lets_in(home: AnswersHome) -> None:
    home.ask(WHEN_ALDER)

    def window(seconds: int) -> int:
        policy, corpus = home.workspace.config.policy, home.workspace.corpus
        report = Promoter.of(corpus, home.ledger, policy, home.clock.now(), seconds).promote()
        return report.promoted - report.retired

    assert [window(seconds) for seconds in (10, 0, 10**6)] == [0, 1, 0]


def test_a_window_below_zero_is_refused(home: AnswersHome) -> None:
    with pytest.raises(InputError, match="0 or more"):
        Promoter.of(home.workspace.corpus, home.ledger, home.workspace.config.policy, 0.0, -1)


def promote_in_a_process(folder: Path, start: float) -> None:
    workspace = Workspace.open(folder / "var", folder / "corpus.toml", FixedClock(start))
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        Promoter.of(workspace.corpus, ledger, workspace.config.policy, workspace.clock.now()).promote()


def test_two_passes_at_once_promote_once(home: AnswersHome, tmp_path: Path) -> None:
    home.ask(WHEN_ALDER)
    home.ask(WENN)
    home.clock.advance(HOUR)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=promote_in_a_process, args=(tmp_path, home.clock.now())) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    promoted = list(home.ledger.events(types=[EventType.RECORD_PROMOTED]))
    assert len(promoted) == 2
    assert count_in_use(home.ledger) == 2
    assert fsck(home.workspace.home.root).faults == ()


KILLED = """
import os, sys
from pathlib import Path
import arborist.providence.promotion as promotion
from tests.arborist.providence.test_promotion import promote_in_a_process
if sys.argv[3] == "before the shards":
    promotion.PromotedShards.publish = lambda *_: os.kill(os.getpid(), 9)
else:
    real = promotion.PromotedShards.publish
    promotion.PromotedShards.publish = lambda *a: (real(*a), os.kill(os.getpid(), 9))
promote_in_a_process(Path(sys.argv[1]), float(sys.argv[2]))
"""


@pytest.mark.parametrize("moment", ["before the shards", "before the mark"])
def test_what_a_killed_pass_left_undone_the_next_one_does(home: AnswersHome, tmp_path: Path, moment: str) -> None:
    home.ask(WHEN_ALDER)
    home.clock.advance(HOUR)
    arguments = [sys.executable, "-c", KILLED, str(tmp_path), repr(home.clock.now()), moment]
    killed = subprocess.run(arguments, env=os.environ | {"PYTHONPATH": "."}, check=False)
    assert killed.returncode == -signal.SIGKILL
    report = home.promoter.promote()
    assert count_in_use(home.ledger) == 1
    assert len(served_uris(home)) == 1
    assert report.promoted == 0
    assert promotion_due(home.ledger, home.workspace.config.policy, home.clock.now()).matured_at is None
    assert len(list(home.ledger.events(types=[EventType.RECORD_PROMOTED]))) == 1
