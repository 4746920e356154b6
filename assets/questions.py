"""Questions asked as a job: the sweep that measures what retrieval keywords gain."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from arborist.answering.ask import open_asker
from arborist.answering.sweep import BARE, MODES, WITH_KEYWORDS, read_questions, sweep, write_sweep
from arborist.providence.ledger import Ledger
from assets.tables import column_schema, markdown_table
from resources.workspace import WorkspaceResource

GROUP = "providence"

SWEEP_SCHEMA = column_schema(
    {
        "question": ("text", "The question as it was asked"),
        "retrieval_keywords": ("list of text", "The keywords it was asked with; empty where it was asked bare"),
        "audit_mode": ("text", "The verdict on the answer"),
        "cache_hit": ("boolean", "Whether the answer came from the cache"),
        "cache_key": ("text", "The record of the answer"),
        "run_dag_root": ("text", "Root over everything that had a part in this run"),
        "retrieval_plan_hash": ("text", "Identity of how it was searched"),
    }
)


class SweepConfig(dg.Config):  # type: ignore[misc]
    """Which questions are swept."""

    questions: str = Field(
        description=(
            "A JSON Lines file; each line holds `question` and `retrieval_keywords`, a list of one or more. "
            "A relative path is meant from the folder of corpus.toml."
        )
    )
    model: str | None = Field(default=None, description="Another model than corpus.toml names, or `extractive`.")


@dg.asset(
    deps=["corpus_snapshot"],
    group_name=GROUP,
    kinds={"python", "parquet"},
    metadata={"dagster/column_schema": SWEEP_SCHEMA},
)
def question_sweep(config: SweepConfig, workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Each question asked bare and with its keywords; every answer is recorded in the ledger."""
    opened = workspace.workspace
    questions = Path(opened.config.path.parent, config.questions)
    wanted = read_questions(questions)
    with Ledger.open(opened.home.root, opened.clock) as ledger:
        result = sweep(wanted, open_asker(opened, ledger, config.model))
    path = opened.home.sweep_file(questions.stem)
    write_sweep(result, path)
    bare, hinted = result.counts(BARE), result.counts(WITH_KEYWORDS)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(result.rows),
            "questions": result.questions,
            "lift": result.lift,
            "strict_bare": bare["STRICT"],
            "strict_with_keywords": hinted["STRICT"],
            "verdicts": markdown_table(
                ("verdict", "bare", "with keywords"), [(mode, bare[mode], hinted[mode]) for mode in MODES]
            ),
            "rows": markdown_table(
                ("verdict", "retrieval_keywords", "question"),
                [(row.audit_mode, ", ".join(row.retrieval_keywords), row.question) for row in result.rows],
            ),
            "file": dg.MetadataValue.path(path),
        }
    )
