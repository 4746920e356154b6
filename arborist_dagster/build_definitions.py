"""Assembling the code location from settings; tests build their own with other settings."""

import dagster as dg

from arborist.corpus.config import load_corpus_config
from arborist_dagster.alert_sensors import ALERT_SENSORS
from arborist_dagster.audit_sensors import AUDIT_SENSORS
from arborist_dagster.corpus_sensors import CORPUS_SENSORS
from arborist_dagster.jobs import jobs_over
from arborist_dagster.promotion_sensors import PROMOTION_SENSORS
from arborist_dagster.schedules import promote_hourly, verify_ledger_nightly
from arborist_dagster.settings import Settings
from assets.catalog import catalogued
from assets.corpus import corpus_assets
from assets.corpus_checks import CORPUS_CHECKS
from assets.evaluation import evaluation_assets
from assets.evaluation_checks import EVALUATION_CHECKS
from assets.ledger import LEDGER_CHECKS, providence_ledger
from assets.questions import question_sweep
from assets.retrieval_audit import RETRIEVAL_AUDIT_CHECKS, retained_retrieval_audit
from assets.self_providence import SELF_PROVIDENCE_CHECKS, self_providence
from resources.notifier import Notifier
from resources.workspace import WorkspaceResource


def build_definitions(settings: Settings) -> dg.Definitions:
    """All assets, checks, jobs and resources over one home. Raises ConfigError for a bad `corpus.toml`."""
    config = load_corpus_config(settings.config)
    evaluation = evaluation_assets(settings.config)
    assets = catalogued(
        [
            *corpus_assets(config),
            *evaluation,
            providence_ledger,
            question_sweep,
            self_providence,
            retained_retrieval_audit,
        ]
    )
    return dg.Definitions(
        assets=assets,
        asset_checks=[
            *CORPUS_CHECKS,
            *LEDGER_CHECKS,
            *SELF_PROVIDENCE_CHECKS,
            *(EVALUATION_CHECKS if evaluation else ()),
            *RETRIEVAL_AUDIT_CHECKS,
        ],
        jobs=jobs_over(assets),
        schedules=[promote_hourly, verify_ledger_nightly],
        sensors=[*CORPUS_SENSORS, *PROMOTION_SENSORS, *AUDIT_SENSORS, *ALERT_SENSORS],
        resources={
            "workspace": WorkspaceResource(home=str(settings.home), config=str(settings.config)),
            "notifier": Notifier(webhook=settings.webhook),
        },
        # A process a step costs 1.5 s where a step in process costs 0.07 s (`dagster.md`, B10).
        executor=dg.in_process_executor,
    )
