"""What a user does in the Dagster UI on the first days, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.dagster_project import roots
from tests.ui.browsed import BrowsedProject

pytestmark = pytest.mark.ui

CHUNKING = '{ assetNodeOrError(assetKey: {path: ["document_chunks"]}) { ... on AssetNode { opVersion } } }'


def _chunking_version(ui: BrowsedProject) -> str:
    """The code version of `document_chunks` that the UI knows of; empty while it knows of none."""
    return str(ui.served.query(CHUNKING)["assetNodeOrError"].get("opVersion", ""))


def test_materialize_everything_on_a_fresh_instance(ui: BrowsedProject) -> None:
    page = ui.open("/asset-groups")
    page.get_by_role("button", name="Materialize all").click()
    backfill = ui.launched_backfill(page.get_by_role("dialog").get_by_role("button", name="Launch backfill"))
    assert ui.served.await_backfill(backfill) == "COMPLETED_SUCCESS"
    assert set(roots(ui.project.corpus)) == {"docs-000", "docs-001", "trees-000"}
    assert ui.project.unsynced() == {}
    ui.open("/runs")
    expect(page.get_by_text("Success").first).to_be_visible()
    ui.shot("1-everything-materialized")


def test_launch_an_evaluation_with_changed_config(ui: BrowsedProject) -> None:
    page = ui.open("/locations/arborist/jobs/evaluate_retrieval/playground")
    # The launchpad fills itself with defaults, and forgets what was chosen before it has.
    expect(page.get_by_text("No errors")).to_be_visible()
    page.get_by_placeholder("Partition").click()
    page.get_by_text("rooms", exact=True).last.click()
    editor = page.locator(".CodeMirror").first
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(
        "ops:\n  retrieval_evaluation:\n    config:\n      retriever: fts5+keywords\n      keywords: [mirror]\n"
        "      notes: with a keyword\n"
    )
    expect(page.get_by_text("No errors")).to_be_visible()
    ui.shot("2-launchpad")
    page.get_by_role("button", name="Launch Run").click()
    assert ui.served.await_run(ui.launched_run()) == "SUCCESS"
    ui.open("/assets/retrieval_evaluation")
    expect(page.get_by_text("fts5+keywords").first).to_be_visible()
    expect(page.get_by_text("top1_rate", exact=True).first).to_be_visible()
    ui.shot("2-evaluation")
    page.get_by_role("button", name="Plots").click()
    expect(page.get_by_text("Loading plots")).to_have_count(0)
    ui.shot("2-evaluation-plots")


def test_lineage_reads_from_left_to_right(ui: BrowsedProject) -> None:
    page = ui.open("/locations/arborist/asset-groups/corpus")
    places = []
    for name in ("source_documents", "document_chunks", "fts_index", "corpus_snapshot"):
        node = page.get_by_text(name, exact=True).last
        expect(node).to_be_visible()
        box = node.bounding_box()
        assert box is not None
        places.append(box["x"])
    assert places == sorted(set(places))
    ui.shot("3-lineage-of-the-corpus")
    ui.open("/assets/retrieval_evaluation?view=lineage&lineageScope=upstream")
    expect(page.get_by_text("golden_questions", exact=True).last).to_be_visible()
    ui.shot("3-lineage-of-an-evaluation")


def test_open_a_failing_check_and_read_what_to_do(ui: BrowsedProject) -> None:
    ui.project.configure({"docs": 2, "trees": 1}, max_characters=40)
    page = ui.open("/locations/arborist/asset-groups/corpus")
    old = _chunking_version(ui)
    page.get_by_role("button", name="Reload definitions").click()
    ui.served.until(lambda: _chunking_version(ui) not in {"", old})
    ui.open("/assets/fts_index?view=checks&checkDetail=shards_current")
    page.get_by_text("Execute", exact=True).first.click()
    expect(page.get_by_text("3 of 3 shards are behind")).to_be_visible()
    expect(page.get_by_role("table").get_by_text("docs-001").first).to_be_visible()
    ui.shot("4-failing-check")


def test_backfill_after_a_chunking_bump(ui: BrowsedProject) -> None:
    before = roots(ui.project.corpus)
    page = ui.open("/assets/document_chunks?view=partitions&partition=docs-000")
    expect(page.get_by_text(re.compile("Unsynced"))).to_be_visible()
    ui.shot("5-unsynced-partition")
    ui.open("/assets/fts_index?view=lineage&lineageScope=upstream&lineageDepth=1")
    page.get_by_role("button", name="Materialize all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Launch runs to materialize 2 assets")).to_be_visible()
    dialog.get_by_text("All", exact=True).click()
    expect(dialog.get_by_text("3 partitions")).to_be_visible()
    ui.shot("5-backfill-dialog")
    backfill = ui.launched_backfill(dialog.get_by_role("button", name="Launch backfill"))
    assert ui.served.await_backfill(backfill) == "COMPLETED_SUCCESS"
    after = roots(ui.project.corpus)
    assert after.keys() == before.keys()
    assert all(after[shard] != before[shard] for shard in before)
    assert [status.shard for status in ui.project.corpus.status() if status.behind] == []
    ui.open("/assets/document_chunks?view=partitions&partition=docs-000")
    ui.shot("5-rebuilt-partition")
