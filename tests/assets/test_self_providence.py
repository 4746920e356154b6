"""The asset `self_providence` and its checks."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import dagster as dg
import pytest

from arborist.providence.lineage import refusal_of_document
from arborist.providence.promoted_shards import PromotedShards
from assets.self_providence import served_answers_stand
from tests.arborist.providence.answers import HOUR, AnswersHome
from tests.assets.answering_project import failed_checks, materialized
from tests.corpora import WHEN_ALDER


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as made:
        made.ask(WHEN_ALDER)
        yield made


def materialization(result: dg.ExecuteInProcessResult) -> dg.AssetMaterialization:
    (event,) = result.get_asset_materialization_events()
    found = event.step_materialization_data.materialization
    assert isinstance(found, dg.AssetMaterialization)
    return found


def version(result: dg.ExecuteInProcessResult) -> str:
    return (materialization(result).tags or {})["dagster/data_version"]


def test_its_data_version_is_the_root_of_what_is_promoted(home: AnswersHome) -> None:
    before = version(materialized(home))
    home.clock.advance(HOUR)
    result = materialized(home)
    assert result.success
    assert version(result) != before
    assert version(result) == PromotedShards(home.workspace.corpus, home.ledger).snapshot().root
    home.ask("Who conducts the orchestra of Samarkand?")
    home.clock.advance(HOUR)
    assert version(materialized(home)) == version(result)


def test_it_shows_counts_by_gate_and_what_changed(home: AnswersHome) -> None:
    home.clock.advance(HOUR)
    metadata = materialization(materialized(home)).metadata
    assert metadata["promoted"].value == 1
    assert metadata["dagster/row_count"].value == 1
    assert "| rejected | first-generation | 0 |" in str(metadata["gates"].value)
    assert "arborist://providence/" in str(metadata["changes"].value)


def test_its_checks_pass_and_say_what_they_looked_at(home: AnswersHome) -> None:
    home.clock.advance(HOUR)
    result = materialized(home)
    assert failed_checks(result) == []
    assert len(result.get_asset_check_evaluations()) == 3


def test_before_anything_was_asked_it_is_empty_and_sound(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        result = materialized(home)
    assert result.success
    assert failed_checks(result) == []


def test_a_document_that_would_be_served_though_it_has_fallen_blocks(home: AnswersHome) -> None:
    home.clock.advance(HOUR)
    materialized(home)
    # What no pass can mend: the index serves a document that the ledger knows nothing of.
    connection = apsw.Connection(str(home.workspace.home.shard_file("providence-000")))
    connection.execute("UPDATE documents SET document_root = ?", ("0" * 64,))
    connection.close()
    assert refusal_of_document(home.ledger, "0" * 64)
    result = materialized(home)
    assert "served_answers_stand" in failed_checks(result)
    assert not result.success


def test_the_check_of_what_is_served_is_the_blocking_one() -> None:
    (spec,) = served_answers_stand.check_specs
    assert spec.blocking
