"""`arborist corpus status` and `arborist search`: what there is, and what a search brings up."""

import json
from typing import Any

import click

from arborist.cli.options import json_option, takes_workspace
from arborist.cli.text import echo_text, warn_of_missing_shards
from arborist.corpus.store import ShardStatus
from arborist.retrieval.plan import Filters, RetrievedSource
from arborist.retrieval.retrieve import Query, filtered, plan_for, retrieved
from arborist.workspace import Workspace


@click.group()
def corpus() -> None:
    """The corpus: its shards and whether they are current."""


@corpus.command()
@json_option
@takes_workspace
def status(as_json: bool, workspace: Workspace) -> None:
    """Each shard: how much it holds, its root, and whether it is behind its documents or the chunking."""
    shards = workspace.corpus.status()
    stale = workspace.corpus.stale_sources()
    if as_json:
        value = {"shards": [_status_json(item) for item in shards], "sources_changed": stale}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return
    for item in shards:
        meta = item.published
        counts = f"{meta.documents:>7} documents {meta.chunks:>8} chunks  {meta.shard_root[:16]}" if meta else ""
        state = item.behind or ("cold (`arborist providence rehydrate`)" if item.cold else "current")
        click.echo(f"{item.shard:<24} {state:<28} {counts}".rstrip())
    if stale:
        click.echo(f"changed since they were read: {', '.join(stale)} (run `arborist build`)")


def _status_json(item: ShardStatus) -> dict[str, Any]:
    meta = item.published
    return {
        "shard": item.shard,
        "source": item.source,
        "current": not item.behind,
        "behind": item.behind,
        "cold": item.cold,
        "documents": meta.documents if meta else None,
        "chunks": meta.chunks if meta else None,
        "shard_root": meta.shard_root if meta else None,
        "chunking_version": meta.chunking_version if meta else None,
        "index_version": meta.index_version if meta else None,
    }


@click.command()
@click.argument("question")
@click.option("-k", "--keyword", "keywords", multiple=True, help="A hint for the search.")
@click.option("--top-k", type=click.IntRange(min=1), help="How many chunks are wanted.")
@click.option("--over-fetch", type=click.IntRange(min=1), help="How many candidates each source offers.")
@click.option("--source", "sources", multiple=True, help="Search this source only; may be given again.")
@click.option("--source-type", "source_types", multiple=True, help="Search sources of this kind only.")
@json_option
@takes_workspace
def search(
    question: str,
    keywords: tuple[str, ...],
    top_k: int | None,
    over_fetch: int | None,
    sources: tuple[str, ...],
    source_types: tuple[str, ...],
    as_json: bool,
    workspace: Workspace,
) -> None:
    """Show what QUESTION would bring up. Nothing is answered and nothing recorded."""
    query = Query(question, keywords, top_k, over_fetch, filters=Filters(sources, source_types))
    policy = workspace.config.policy
    warn_of_missing_shards(workspace.corpus)
    with workspace.corpus.opened() as opened:
        shards = filtered(opened, query.filters)
        plan = plan_for(query, shards, policy.retrieval, policy.ranking)
        found = retrieved(plan, query.question, shards, policy.ranking)
    if as_json:
        value = {
            "question_hash": plan.question_hash,
            "retrieval_plan_hash": plan.digest(),
            "retrieval_plan": plan.canonical(),
            "sources": [
                source.summary() | {"uri": source.uri, "title": source.title, "text": source.text}
                for source in found
            ],
        }
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return
    for rank, source in enumerate(found, start=1):
        echo_text(_result_line(rank, source))
    if not found:
        click.echo("nothing found")


def _result_line(rank: int, source: RetrievedSource) -> str:
    text = " ".join(source.text.split())[:160]
    place = f"{source.title}  {source.uri}  chunk {source.chunk_index}"
    return f"{rank:>2}. {source.score:8.3f}  {place}\n    {text}"
