"""`arborist ask`: one question, its answer, and what it stands on."""

import json
from typing import Any

import click

from arborist.answering.ask import Reply, open_asker
from arborist.cli.options import json_option, takes_workspace
from arborist.cli.text import echo_text, warn_of_missing_shards
from arborist.providence.ledger import Ledger
from arborist.retrieval.plan import Filters
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace


@click.command()
@click.argument("question")
@click.option(
    "-k", "--keyword", "keywords", multiple=True, help="A hint for the search; never part of the question."
)
@click.option("--top-k", type=click.IntRange(min=1), help="How many chunks are wanted.")
@click.option("--over-fetch", type=click.IntRange(min=1), help="How many candidates each source offers.")
@click.option("--max-context-chars", type=click.IntRange(min=1), help="How much text is put before the model.")
@click.option("--source", "sources", multiple=True, help="Search this source only; may be given again.")
@click.option("--source-type", "source_types", multiple=True, help="Search sources of this kind only.")
@click.option("--model", help="`extractive`, or a model at the endpoint configured in corpus.toml.")
@click.option("--burn", is_flag=True, help="Retire the recorded answer, if there is one, and ask anew.")
@json_option
@takes_workspace
def ask(
    question: str,
    keywords: tuple[str, ...],
    top_k: int | None,
    over_fetch: int | None,
    max_context_chars: int | None,
    sources: tuple[str, ...],
    source_types: tuple[str, ...],
    model: str | None,
    burn: bool,
    as_json: bool,
    workspace: Workspace,
) -> None:
    """Answer QUESTION from the corpus, with evidence, and record how the answer came about."""
    query = Query(question, keywords, top_k, over_fetch, max_context_chars, Filters(sources, source_types))
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        asker = open_asker(workspace, ledger, model)
        reply = asker.ask_anew(query) if burn else asker.ask(query)
    warn_of_missing_shards(workspace.corpus)
    if as_json:
        click.echo(json.dumps(reply.to_json(), ensure_ascii=False, indent=2))
    else:
        echo_text(reply_text(reply))


def reply_text(reply: Reply) -> str:
    """The reply for people: answer, verdict, evidence, and the digests that lead back to it."""
    value = reply.to_json()
    lines = [value["answer"], "", f"verdict        {value['audit_mode']}{_note(reply)}"]
    lines += [f"  {claim['state']:<12} {claim['text']}{_findings(claim)}" for claim in value["claims"]]
    lines += ["", "evidence"]
    lines += [_evidence_line(source) for source in value["sources"] if source["evidence"]] or ["  none"]
    names = ("cache_key", "run_dag_root", "record_run_dag_root", "retrieval_plan_hash", "context_root")
    shown = [name for name in names if name != "record_run_dag_root" or reply.cache_hit]
    return "\n".join([*lines, "", *(f"{name:<20} {value[name]}" for name in shown)])


def _note(reply: Reply) -> str:
    if reply.refusal:
        return f"  (refused: {reply.refusal})"
    return "  (from the cache)" if reply.cache_hit else ""


def _findings(claim: dict[str, Any]) -> str:
    return f"  [{', '.join(claim['findings'])}]" if claim["findings"] else ""


def _evidence_line(source: dict[str, Any]) -> str:
    mark = "*" if source["cited"] else " "
    return f" {mark}[E{source['evidence']}] {source['title']}  {source['uri']}  chunk {source['chunk_index']}"
