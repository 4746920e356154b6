"""`arborist providence` and `arborist inspect`: the records, and what each is bound to."""

import json
from typing import Any

import click

from arborist.answering.run_dag import RunDag
from arborist.cli.options import home_option, json_option, takes_workspace, unicode_text
from arborist.cli.self_providence import COMMANDS
from arborist.cli.text import echo_text
from arborist.clock import SystemClock
from arborist.errors import InputError, LedgerError
from arborist.home import Home
from arborist.providence.ledger import Ledger, RecordFilter
from arborist.providence.record import ProvidenceRecord
from arborist.providence.record_checks import UNREADABLE
from arborist.retrieval.plan import RetrievalPlan
from arborist.workspace import Workspace


@click.group()
def providence() -> None:
    """The providence records: every answer that was given, and what it stands on."""


for command in COMMANDS:
    providence.add_command(command)


@providence.command("list")
@click.option("--keyword", callback=unicode_text, help="Records whose retrieval used this keyword.")
@click.option(
    "--mode",
    type=click.Choice(["STRICT", "HYBRID", "UNGROUNDED", "fts5", "fts5+keywords"]),
    help="Records of this verdict or this retrieval mode.",
)
@click.option("--plan", callback=unicode_text, help="Records of this retrieval_plan_hash.")
@click.option("--stale-ranking-policy", is_flag=True, help="Records ranked by another policy than today's.")
@click.option("--state", type=click.Choice(["live", "failed", "stale", "quarantined"]), help="In this state.")
@click.option("--retired", is_flag=True, help="Retired records too.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
@json_option
@takes_workspace
def list_records(
    keyword: str | None,
    mode: str | None,
    plan: str | None,
    stale_ranking_policy: bool,
    state: str | None,
    retired: bool,
    limit: int,
    as_json: bool,
    workspace: Workspace,
) -> None:
    """Records, the latest first, chosen by the ledger's own columns."""
    is_verdict = mode is not None and mode.isupper()
    wanted = RecordFilter(
        keyword=keyword,
        audit_mode=mode if is_verdict else None,
        retrieval_mode=None if is_verdict else mode,
        plan=plan,
        stale_ranking_policy=workspace.config.policy.ranking.digest() if stale_ranking_policy else None,
        state=state,
        with_retired=retired,
    )
    with Ledger.open_readonly(workspace.home.root, workspace.clock) as ledger:
        records = list(ledger.records(wanted, limit))
    if as_json:
        click.echo(json.dumps([_record_json(record) for record in records], ensure_ascii=False, indent=2))
        return
    for record in records:
        echo_text(_record_line(record))
    if not records:
        click.echo("no records")


def _record_json(record: ProvidenceRecord) -> dict[str, Any]:
    try:
        return record.to_json()
    except UNREADABLE as error:
        raise LedgerError(
            f"record {record.record_id}, {record.cache_key[:16]}: it was changed and cannot be read "
            "(`arborist ledger fsck` says where)"
        ) from error


def _keywords(record: ProvidenceRecord) -> str:
    try:
        return ", ".join(json.loads(record.retrieval_keywords or "[]"))
    except UNREADABLE:
        return "CANNOT BE READ"


def _record_line(record: ProvidenceRecord) -> str:
    keywords = _keywords(record)
    state = "" if record.falsification_state == "live" else f"  {record.falsification_state}"
    retired = "  retired" if record.retired_at else ""
    hint = f"  (keywords: {keywords})" if keywords else ""
    told = f"{record.cache_key[:16]}  {record.created_at[:19]}  {record.audit_mode:<10} {record.question}"
    return told + hint + state + retired


@providence.command()
@click.argument("key")
@home_option
@json_option
def show(key: str, home: Any, as_json: bool) -> None:
    """One record, by its cache key or the first eight digits of it."""
    value_by_name = _record_json(_find(home, key))
    if as_json:
        click.echo(json.dumps(value_by_name, ensure_ascii=False, indent=2))
        return
    for name, value in value_by_name.items():
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
        echo_text(f"{name:<24} {'' if text is None else text}".rstrip())


@click.command()
@click.argument("key")
@home_option
@json_option
def inspect(key: str, home: Any, as_json: bool) -> None:
    """The run DAG of a record as a tree, with keywords and plan at a glance."""
    record = _find(home, key)
    dag = record.dag
    if as_json:
        value = _record_json(record) | {
            "run_dag": [node.canonical() for node in dag.nodes],
            "faults": [{"stage": fault.stage, "problem": fault.problem} for fault in dag.faults()],
        }
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return
    echo_text("\n".join(_inspection(record, dag)))


def _inspection(record: ProvidenceRecord, dag: RunDag) -> list[str]:
    lines = [
        f"question       {record.question}",
        f"verdict        {record.audit_mode}, {record.falsification_state}",
        f"keywords       {_keywords(record) or 'none'}",
        *_plan_lines(dag.payloads().get("retrieval_plan")),
    ]
    faults = {fault.stage: fault.problem for fault in dag.faults()}
    root = "recomputes" if dag.root == record.run_dag_root else "DOES NOT RECOMPUTE"
    lines += [f"run_dag_root   {record.run_dag_root}  {root}"]
    stages = [node.stage for node in dag.nodes]
    lines += [f"FAULT          {problem}" for stage, problem in faults.items() if stage not in stages]
    lines.append("")
    for depth, node in enumerate(dag.nodes):
        sound = f"  FAULT: {faults[node.stage]}" if node.stage in faults else ""
        lines.append(f"{'  ' * depth}└─ {node.stage}  {node.stage_hash[:16]}{sound}")
        lines += [f"{'  ' * depth}     {name} {value[:64]}" for name, value in node.commitment.items()]
    return lines


def _plan_lines(stored: Any) -> list[str]:
    if stored is None:
        return []
    try:
        plan = RetrievalPlan.from_canonical(stored)
    except InputError:
        return ["plan           CANNOT BE READ"]
    return [
        f"plan           {plan.retrieval_mode}, top_k {plan.top_k}, over_fetch {plan.over_fetch}, "
        f"max_context_chars {plan.max_context_chars}",
        f"shards         {', '.join(f'{item.shard}@{item.root[:8]}' for item in plan.shard_ids)}",
    ]


def _find(home: Any, key: str) -> ProvidenceRecord:
    with Ledger.open_readonly(Home(home).root, SystemClock()) as ledger:
        return ledger.find(key)
