"""Jobs for the launchpad: what a person starts by hand, with the configuration it takes."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

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
    return [PROMOTE_ANSWERS, *evaluation]
