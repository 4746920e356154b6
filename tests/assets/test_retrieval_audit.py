"""Audits as Dagster shows them: each status at its level, no pass without an audit, no text of the evidence."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from arborist.providence.retrieval_bundle import bundle_folder, write_retrieval_bundle
from assets.retrieval_audit import (
    AUDIT_BUNDLES,
    is_partition_key,
    retained_retrieval_audit,
    retrieval_audit,
    retrieval_audit_structure,
)
from tests.arborist.providence.answers import AnswersHome
from tests.arborist.retrieval_audit.bundles import Bundle, file_bundle, put
from tests.assets.answering_project import resource
from tests.corpora import WHEN_ALDER, build, write_rows

MARKER = "zyzzyva-"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path / "project") as opened:
        yield opened


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def keep(home: AnswersHome, name: str, bundle: Bundle) -> Path:
    """Put a bundle among the audits."""
    return bundle.write(home.workspace.home.audits_folder / name).parent


def fresh() -> Bundle:
    """A bundle that leaves only its original's identity open."""
    return file_bundle(MARKER, datetime.now(UTC) - timedelta(minutes=10))


def failing() -> Bundle:
    """A bundle whose snapshots differ."""
    bundle = fresh()
    put("after/knowledge_base/description", f"{MARKER}changed")(bundle)
    return bundle


def audit(home: AnswersHome, instance: dg.DagsterInstance, name: str) -> dg.ExecuteInProcessResult:
    """A run over one bundle with the asset's check."""
    instance.add_dynamic_partitions(str(AUDIT_BUNDLES.name), [name])
    return dg.materialize(
        [retained_retrieval_audit, retrieval_audit_structure],
        instance=instance,
        partition_key=name,
        resources={"workspace": resource(home)},
    )


def structure(home: AnswersHome, instance: dg.DagsterInstance) -> dg.AssetCheckResult:
    """The check on its own."""
    context = dg.build_asset_check_context(instance=instance)
    result = retrieval_audit_structure(context, workspace=resource(home))
    assert isinstance(result, dg.AssetCheckResult)
    return result


def sample(home: AnswersHome) -> dg.AssetCheckResult:
    result = retrieval_audit(workspace=resource(home))
    assert isinstance(result, dg.AssetCheckResult)
    return result


def facts(result: dg.AssetCheckResult) -> dict[str, object]:
    return {name: getattr(value, "value", value) for name, value in (result.metadata or {}).items()}


def told(result: dg.AssetCheckResult) -> tuple[bool, dg.AssetCheckSeverity, object]:
    return result.passed, result.severity, facts(result)["audit_status"]


def test_without_a_bundle_nothing_was_requested_and_nothing_passes(
    home: AnswersHome, instance: dg.DagsterInstance
) -> None:
    result = structure(home, instance)
    assert told(result) == (False, dg.AssetCheckSeverity.WARN, "not-requested")
    assert facts(result)["overall_pass"] is False


def test_what_stays_open_is_a_warning_with_its_codes_and_counts(
    home: AnswersHome, instance: dg.DagsterInstance
) -> None:
    keep(home, "manuals", fresh())
    (evaluation,) = audit(home, instance, "manuals").get_asset_check_evaluations()
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert evaluation.metadata["audit_status"].value == "unverified"
    assert evaluation.metadata["unverified"].value == 1
    assert "original-identity-not-in-native-citation (1)" in str(evaluation.metadata["codes"].value)


def test_what_fails_is_an_error_with_its_code_whatever_else_there_is(
    home: AnswersHome, instance: dg.DagsterInstance
) -> None:
    for name, bundle in (("manuals", fresh()), ("changed", failing())):
        keep(home, name, bundle)
        audit(home, instance, name)
    result = structure(home, instance)
    assert told(result) == (False, dg.AssetCheckSeverity.ERROR, "failed")
    codes = {record.data["bundle"]: record.data for record in facts(result)["codes"].records}
    assert codes["changed"]["structural status"] == "failed"
    assert "snapshot-changed (1)" in str(codes["changed"]["codes"])
    assert [facts(result)[name] for name in ("bundles", "failed", "unverified")] == [2, 1, 1]


def test_a_bundle_that_was_not_audited_as_it_stands_is_open(
    home: AnswersHome, instance: dg.DagsterInstance
) -> None:
    folder = keep(home, "manuals", fresh())
    assert told(structure(home, instance))[2] == "unverified"
    assert facts(structure(home, instance))["not-audited"] == 1
    audit(home, instance, "manuals")
    assert facts(structure(home, instance))["not-audited"] == 0
    (folder / "after.json").write_text("{}")
    assert facts(structure(home, instance))["not-audited"] == 1


@pytest.mark.parametrize("name", ["a...b", "line\nbreak", os.fsdecode(b"\xff")])
def test_a_bundle_that_no_partition_can_be_is_open(
    home: AnswersHome, instance: dg.DagsterInstance, name: str
) -> None:
    assert not is_partition_key(name)
    keep(home, name, fresh())
    result = structure(home, instance)
    assert told(result) == (False, dg.AssetCheckSeverity.WARN, "unverified")
    assert "no partition can have this name" in str(facts(result)["codes"])
    assert str(facts(result)).isascii()


@pytest.mark.parametrize("name", ["manuals", "Handbücher 2026", "ledger-0123456789abcdef", "a,b", "a..b"])
def test_any_printable_name_will_do(name: str) -> None:
    assert is_partition_key(name)


def test_a_removed_bundle_counts_no_more(home: AnswersHome, instance: dg.DagsterInstance) -> None:
    shutil.rmtree(keep(home, "changed", failing()))
    audit(home, instance, "changed")
    assert told(structure(home, instance))[2] == "not-requested"


def test_the_bundle_of_a_record_passes_in_structure_and_no_further(
    home: AnswersHome, instance: dg.DagsterInstance
) -> None:
    record = home.ask(WHEN_ALDER).record
    folder = bundle_folder(home.workspace, record)
    write_retrieval_bundle(home.workspace, record, folder)
    (event,) = audit(home, instance, folder.name).asset_materializations_for_node("retained_retrieval_audit")
    assert event.metadata["structural_status"].value == "passed"
    assert event.metadata["status"].value == "review-required"
    assert event.metadata["overall_pass"].value is False
    assert "answer-faithfulness" in str(event.metadata["unverified"].value)
    result = structure(home, instance)
    assert told(result) == (True, dg.AssetCheckSeverity.WARN, "passed")
    assert facts(result)["overall_pass"] is False


def test_the_data_version_follows_the_content_of_the_bundle(
    home: AnswersHome, instance: dg.DagsterInstance
) -> None:
    folder = keep(home, "manuals", fresh())

    def version() -> str | None:
        (event,) = audit(home, instance, "manuals").asset_materializations_for_node("retained_retrieval_audit")
        return (event.tags or {}).get("dagster/data_version")

    first = version()
    (folder / "audit.json").touch()
    assert version() == first
    (folder / "notes.txt").write_text("seen")
    assert version() != first


@pytest.mark.parametrize("bundle", [fresh, failing])
def test_no_text_of_the_evidence_is_in_any_event_or_log(
    home: AnswersHome,
    instance: dg.DagsterInstance,
    capfd: pytest.CaptureFixture[str],
    bundle: Callable[[], Bundle],
) -> None:
    warned = bundle()
    put("customer/response_body/activity/0/warning", f"{MARKER}dropped")(warned)
    keep(home, "manuals", warned)
    result = audit(home, instance, "manuals")
    logged = "\n".join(repr(entry) for entry in instance.all_logs(result.run_id))
    printed = capfd.readouterr()
    assert "activity-warning" in logged
    for text in (logged, printed.out, printed.err):
        assert MARKER not in text


def test_a_sample_of_records_is_repeated_and_proven(home: AnswersHome) -> None:
    for question in (WHEN_ALDER, "How long is the river Wenn?"):
        home.ask(question)
    result = sample(home)
    assert told(result) == (True, dg.AssetCheckSeverity.WARN, "passed")
    assert facts(result)["records"] == 2
    assert "faithful" in (result.description or "")
    assert not home.workspace.home.audits_folder.exists()


def test_without_a_record_that_can_be_repeated_nothing_passes(home: AnswersHome) -> None:
    home.ask("Who won the regatta?")
    assert told(sample(home)) == (False, dg.AssetCheckSeverity.WARN, "not-requested")
    home.ask(WHEN_ALDER)
    write_rows(home.workspace.config.path.parent / "people.jsonl", {"people/x": ("X", "Someone else.")})
    build(home.workspace)
    moved = sample(home)
    assert told(moved) == (False, dg.AssetCheckSeverity.WARN, "not-requested")
    assert facts(moved)["not_repeatable"] == 1
    assert "people-000 has moved" in str(facts(moved)["hindrances"])


def test_a_text_that_was_changed_under_its_root_is_an_error(home: AnswersHome) -> None:
    record = home.ask(WHEN_ALDER).record
    for shard in home.workspace.config.shard_names:
        with closing(sqlite3.connect(home.workspace.home.shard_file(shard))) as connection, connection:
            connection.execute("UPDATE chunks SET text = replace(text, '1932', '1933')")
    result = sample(home)
    assert told(result) == (False, dg.AssetCheckSeverity.ERROR, "failed")
    assert record.cache_key in str(facts(result)["codes"])
    assert "inclusion-proof-invalid (1)" in str(facts(result)["codes"])
    assert "1933" not in str(facts(result))
