"""Retrieval quality: golden questions, measured runs, and the baselines they are held against."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from assets.evaluation_config import BaselineConfig, EvaluationConfig
from assets.names import FTS_INDEX, GOLDEN_QUESTIONS, RETRIEVAL_EVALUATION
from assets.versions import inputs_seen, materialized
from resources.workspace import WorkspaceResource


def golden_files(config: Path) -> dict[str, Path]:
    """The golden sets beside `corpus.toml`: `golden/NAME.jsonl` by NAME."""
    return {path.stem: path for path in sorted((config.parent / "golden").glob("*.jsonl"))}


def evaluation_assets(config: Path) -> list[dg.AssetsDefinition]:
    """The three assets over the golden sets beside `config`; none where there is no golden set."""
    names = list(golden_files(config))
    if not names:
        return []
    sets = dg.StaticPartitionsDefinition(names)
    return [_golden_questions(sets), _retrieval_evaluation(sets), _evaluation_baseline(sets)]


def _golden_questions(sets: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=sets,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def golden_questions(
        context: dg.AssetExecutionContext, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """Questions with the documents that answer them, from `golden/NAME.jsonl`; checked in full."""
        from assets.evaluation_reports import golden_report

        files = golden_files(workspace.workspace.config.path)
        reports = [golden_report(files[name]) for name in context.partition_keys]
        yield from materialized(context, reports, {"sets": len(reports)}, {})

    return golden_questions


def _retrieval_evaluation(sets: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        partitions_def=sets,
        deps=[GOLDEN_QUESTIONS, dg.AssetDep(FTS_INDEX, partition_mapping=dg.AllPartitionMapping())],
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def retrieval_evaluation(
        context: dg.AssetExecutionContext, config: EvaluationConfig, workspace: WorkspaceResource
    ) -> Iterator[dg.MaterializeResult]:
        """A retriever measured on a golden set, held against its pinned baseline where that means something.

        Which retriever, and how far it may fall behind, is the configuration of the run. The figures are those of
        the last run; `rates_over_time` has those before it.
        """
        from assets.evaluation_reports import evaluation_report

        opened = workspace.workspace
        files = golden_files(opened.config.path)
        seen = inputs_seen(context.instance, [GOLDEN_QUESTIONS, FTS_INDEX])
        reports = [evaluation_report(files[name], config, opened) for name in context.partition_keys]
        yield from materialized(context, reports, {"sets": len(reports)}, seen)

    return retrieval_evaluation


def _evaluation_baseline(sets: dg.StaticPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(partitions_def=sets, deps=[RETRIEVAL_EVALUATION])
    def evaluation_baseline(
        context: dg.AssetExecutionContext, config: BaselineConfig, workspace: WorkspaceResource
    ) -> dg.MaterializeResult:
        """The runs that others are held against. Materializing this pins the run that is named, if one is."""
        from assets.evaluation_reports import baseline_result

        opened = workspace.workspace
        return baseline_result(golden_files(opened.config.path)[context.partition_key], config, opened)

    return evaluation_baseline
