"""The commands of self-providence, as a person or a script uses them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arborist.cli.main import cli
from arborist.errors import InputError
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.corpora import WHEN_ALDER


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    """A home with one cooled STRICT record, by the time of the machine's clock."""
    with AnswersHome.opened(tmp_path) as made:
        made.ask(WHEN_ALDER)
        yield made


def run(home: AnswersHome, *arguments: str) -> Result:
    folder = home.workspace.home.root
    paths = ["--home", str(folder), "--config", str(home.workspace.config.path)]
    return CliRunner().invoke(cli, ["providence", *arguments, *paths])


def value(home: AnswersHome, *arguments: str) -> Any:
    result = run(home, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def key(home: AnswersHome) -> str:
    return next(home.ledger.records()).cache_key


def test_promote_tells_its_counts_by_gate_and_a_dry_run_does_nothing(home: AnswersHome) -> None:
    planned = value(home, "promote", "--dry-run")
    assert (planned["dry_run"], planned["promoted"], planned["shards"]) == (True, 1, [])
    assert not home.workspace.home.shard_file("providence-000").exists()
    made = value(home, "promote")
    assert (made["promoted"], made["shards"]) == (1, ["providence-000"])
    assert set(made["waiting"]) == {"kindergarten", "stale-policy"}
    assert set(made["rejected"]) == {
        "audit-mode",
        "falsification-state",
        "first-generation",
        "lazy-anchor",
        "semantic",
    }
    text = run(home, "promote", "--full").output
    assert "unchanged                     1" in text


def test_promote_takes_another_window(home: AnswersHome) -> None:
    century = str(100 * 365 * 24 * HOUR)
    waiting = value(home, "promote", "--kindergarten-seconds", century)
    assert (waiting["promoted"], waiting["waiting"]["kindergarten"]) == (0, 1)
    assert value(home, "promote", "--kindergarten-seconds", "0")["promoted"] == 1


def test_falsify_and_revive_print_the_state_and_what_leans_on_it(home: AnswersHome) -> None:
    value(home, "promote")
    home.ask("When was the Alder Bridge opened to all?", [WHEN_ALDER])
    short = key(home)
    first = next(record.cache_key for record in home.ledger.records() if record.question == WHEN_ALDER)
    fallen = value(home, "falsify", first[:12], "--state", "failed", "--reason", "it opened later")
    assert fallen["falsification_state"] == "failed"
    assert [item["cache_key"] for item in fallen["blast_radius"]] == [short]
    assert value(home, "promote")["retired"] == 1
    text = run(home, "revive", first, "--reason", "it did not").output
    assert "1 records lean on it" in text
    assert value(home, "promote")["promoted"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("falsify", "KEY", "--state", "failed"),
        ("falsify", "KEY", "--state", "live", "--reason", "r"),
        ("falsify", "KEY", "--reason", "r"),
        ("revive", "KEY"),
        ("promote", "--kindergarten-seconds", "-1"),
        ("burn-kindergarten", "--older-than", "-1"),
        ("evict-to-cold",),
    ],
)
def test_what_is_missing_or_out_of_range_is_a_usage_error(home: AnswersHome, arguments: Sequence[str]) -> None:
    head = home.ledger.head()
    result = run(home, *(key(home) if item == "KEY" else item for item in arguments))
    assert result.exit_code == 2
    assert home.ledger.head() == head


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("falsify", "0" * 64, "--state", "failed", "--reason", "r"), "no record has a cache key"),
        (("falsify", "xyz", "--state", "failed", "--reason", "r"), "not a cache key"),
        (("revive", "KEY", "--reason", "r"), "nothing to revive"),
        (("falsify", "KEY", "--state", "failed", "--reason", " "), "a reason is needed"),
        (("evict-to-cold", "nowhere-000"), "no such shard is published"),
        (("rehydrate", "land-000"), "not in cold storage"),
    ],
)
def test_what_cannot_be_done_is_told_in_words(home: AnswersHome, arguments: Sequence[str], problem: str) -> None:
    result = run(home, *(key(home) if item == "KEY" else item for item in arguments))
    assert isinstance(result.exception, InputError)
    assert problem in str(result.exception)


def test_burn_kindergarten_tells_what_burns(home: AnswersHome) -> None:
    home.ask("Who conducts the orchestra of Samarkand?")
    planned = value(home, "burn-kindergarten", "--dry-run")
    assert [record["audit_mode"] for record in planned["records"]] == ["UNGROUNDED"]
    assert "1 records burnt" in run(home, "burn-kindergarten").output
    assert "0 records burnt" in run(home, "burn-kindergarten").output


def test_a_shard_goes_cold_and_comes_back(home: AnswersHome) -> None:
    assert value(home, "evict-to-cold", "people-000", "--dry-run")["dry_run"]
    assert "1 chunks went cold" in run(home, "evict-to-cold", "people-000").output
    assert "1 chunks would come back" in run(home, "rehydrate", "people-000", "--dry-run").output
    assert value(home, "rehydrate", "people-000")["mismatches"] == []
    assert "people-000" in home.workspace.corpus.published_shards()


def test_a_shard_that_comes_back_changed_has_an_exit_code_of_its_own(home: AnswersHome) -> None:
    run(home, "evict-to-cold", "people-000")
    path = home.workspace.home.cold_text_file("people-000")
    other = home.workspace.home.chunks_file("land-000")
    path.write_bytes(other.read_bytes())
    result = run(home, "rehydrate", "people-000")
    assert result.exit_code == 4
    assert "people-000 stays cold" in result.stderr
