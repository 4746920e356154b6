"""Questions asked as a job: from the launchpad or a file, and the sweep that measures what keywords gain."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg
from pydantic import Field

from arborist.errors import InputError
from assets.names import CORPUS_SNAPSHOT, PROVIDENCE_LEDGER
from assets.tables import markdown_table, rounded
from resources.workspace import WorkspaceResource

if TYPE_CHECKING:
    from arborist.answering.sweep import SweepQuestion


class SweepConfig(dg.Config):
    """Which questions are swept."""

    questions: str = Field(
        default="",
        description=(
            "A JSON Lines file; each line holds `question` and `retrieval_keywords`, a list of one or more. "
            "A relative path is meant from the folder of corpus.toml. Without a file nothing is asked."
        ),
    )
    model: str | None = Field(default=None, description="Another model than corpus.toml names, or `extractive`.")


class QuestionsConfig(dg.Config):
    """What is asked, and how it is searched and answered; a limit that is left out is the policy's."""

    question: str = Field(default="", description="The question; or leave it empty and name a file.")
    keywords: list[str] = Field(
        default=[], description="Hints for the search of `question`; never part of the question itself."
    )
    file: str = Field(
        default="",
        description=(
            "A JSON Lines file; each line holds `question` and may hold `retrieval_keywords`, a list. "
            "A relative path is meant from the folder of corpus.toml."
        ),
    )
    cached: Literal["use", "ask_anew"] = Field(
        default="use",
        description="Whether a recorded answer is given again, or retired while the question is asked anew.",
    )
    model: str | None = Field(default=None, description="Another model than corpus.toml names, or `extractive`.")
    top_k: int | None = Field(default=None, ge=1, description="How many chunks are wanted.")
    over_fetch: int | None = Field(default=None, ge=1, description="How many candidates each shard offers.")
    max_context_chars: int | None = Field(default=None, ge=1, description="How much text the model is shown.")


@dg.op(tags={"kind": "sqlite"})
def answers(
    context: dg.OpExecutionContext, config: QuestionsConfig, workspace: WorkspaceResource
) -> dg.Output[list[str]]:
    """Answers each question and records it in the ledger; gives the cache keys of the records."""
    from arborist.answering.ask import open_asker
    from arborist.answering.sweep import MODES
    from arborist.providence.ledger import Ledger
    from arborist.retrieval.retrieve import Query

    opened = workspace.workspace
    asked = _questions(config, opened.config.path.parent)
    replies, started = [], opened.clock.now()
    with Ledger.open(opened.home.root, opened.clock) as ledger:
        asker = open_asker(opened, ledger, config.model)
        ask = asker.ask if config.cached == "use" else asker.ask_anew
        for question in asked:
            query = Query(
                question.question,
                question.retrieval_keywords,
                config.top_k,
                config.over_fetch,
                config.max_context_chars,
            )
            replies.append(ask(query))
            context.log.info(f"{replies[-1].audit_mode}: {question.question}")
        events, head = ledger.head()
    metadata: dict[str, Any] = {
        "answers": len(replies),
        **{mode.lower(): sum(reply.audit_mode == mode for reply in replies) for mode in MODES},
        "answer_table": markdown_table(
            ("verdict", "question", "answer", "cache key"),
            [
                (reply.audit_mode, reply.record.question, reply.record.answer, reply.record.cache_key)
                for reply in replies
            ],
        ),
        "seconds": rounded(opened.clock.now() - started),
        "events": events,
        "head": head,
    }
    context.log_event(
        dg.AssetObservation(PROVIDENCE_LEDGER, metadata=metadata, tags={"dagster/data_version": head})
    )
    return dg.Output([reply.record.cache_key for reply in replies], metadata=metadata)


def _questions(config: QuestionsConfig, folder: Path) -> list["SweepQuestion"]:
    from arborist.answering.sweep import SweepQuestion, read_questions

    if bool(config.question.strip()) == bool(config.file):
        raise InputError("launchpad: config of `answers`: give either `question` or `file`")
    if config.question:
        return [SweepQuestion(config.question, tuple(config.keywords))]
    if config.keywords:
        raise InputError("launchpad: config of `answers`: `keywords` goes with `question`; a file has its own")
    return read_questions(Path(folder, config.file), least_keywords=0)


@dg.job(description="Answer a question, or the questions of a file, and record the answers in the ledger.")
def answer_questions() -> None:
    answers()


@dg.asset(deps=[CORPUS_SNAPSHOT])
def question_sweep(config: SweepConfig, workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Each question asked bare and with its keywords; every answer is recorded in the ledger."""
    from arborist.answering.ask import open_asker
    from arborist.answering.sweep import BARE, MODES, WITH_KEYWORDS, read_questions, sweep, write_sweep
    from arborist.providence.ledger import Ledger

    if not config.questions:
        # A backfill of everything has no config, and holds an asset without a materialization for failed.
        return dg.MaterializeResult(metadata={"questions": 0})
    opened = workspace.workspace
    questions = Path(opened.config.path.parent, config.questions)
    wanted, started = read_questions(questions), opened.clock.now()
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
            "strict_rate_bare": bare["STRICT"] / max(result.questions, 1),
            "strict_rate_with_keywords": hinted["STRICT"] / max(result.questions, 1),
            "seconds": rounded(opened.clock.now() - started),
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
