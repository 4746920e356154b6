"""Jobs for the launchpad: what a person starts by hand, with the configuration it takes."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.names import CORPUS_SNAPSHOT, DOCUMENT_CHUNKS, FTS_INDEX, PROVIDENCE_LEDGER, SOURCE_DOCUMENTS
from assets.questions import answer_questions

READ_SOURCES = dg.define_asset_job(
    "read_sources",
    selection=dg.AssetSelection.assets(SOURCE_DOCUMENTS),
    description="Read sources again and sort their documents into shards.",
)
BUILD_SHARDS = dg.define_asset_job(
    "build_shards",
    selection=dg.AssetSelection.assets(DOCUMENT_CHUNKS, FTS_INDEX, CORPUS_SNAPSHOT),
    description="Chunk and index shards; questions are answered from the old ones until the new ones are whole.",
)
VERIFY_EVERYTHING = dg.define_asset_job(
    "verify_everything",
    selection=dg.AssetSelection.all_asset_checks(),
    description="Run every check there is, and build nothing.",
)
VERIFY_LEDGER = dg.define_asset_job(
    "verify_ledger",
    selection=dg.AssetSelection.checks_for_assets(PROVIDENCE_LEDGER),
    description="Recompute every record and event of the ledger, and replay the latest records.",
)
EVALUATE_RETRIEVAL = dg.define_asset_job(
    "evaluate_retrieval",
    selection=dg.AssetSelection.assets("golden_questions", "retrieval_evaluation"),
    description="Measure a retriever on a golden set (the partition) and hold it against its baseline.",
)
PROMOTE_BASELINE = dg.define_asset_job(
    "promote_baseline",
    selection=dg.AssetSelection.assets("evaluation_baseline"),
    description="Make a measured run, by its number, the baseline of its set, retriever and benchmark.",
)
PROMOTE_ANSWERS = dg.define_asset_job(
    "promote_answers",
    selection=dg.AssetSelection.assets("self_providence"),
    description="Make cooled STRICT answers sources, and retire those that have fallen.",
)


def jobs_over(assets: Sequence[dg.AssetsDefinition | dg.SourceAsset]) -> list[Any]:
    """The jobs whose assets are there: without golden sets there is nothing to evaluate."""
    names = {
        key.to_user_string() for asset in assets if isinstance(asset, dg.AssetsDefinition) for key in asset.keys
    }
    evaluation = [EVALUATE_RETRIEVAL, PROMOTE_BASELINE] if "retrieval_evaluation" in names else []
    return [
        answer_questions,
        READ_SOURCES,
        BUILD_SHARDS,
        PROMOTE_ANSWERS,
        VERIFY_LEDGER,
        VERIFY_EVERYTHING,
        *evaluation,
    ]
