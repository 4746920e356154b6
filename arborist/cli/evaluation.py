"""`arborist golden`, `evaluate`, `baseline` and `evaluations`: parse, call, print.

Results go to standard output, errors to standard error. Exit codes: 0, 1 for a regression, 2 for input that
cannot be used, 3 for runs that are not comparable.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from arborist.cli.options import config_option, home_option, json_option
from arborist.clock import SystemClock
from arborist.errors import ArboristError, InputError
from arborist.evaluation import golden_import, report
from arborist.evaluation.adapters import retriever_named
from arborist.evaluation.comparison import refuse_different
from arborist.evaluation.errors import GoldenSetError, ProvenanceError, RetrieverError
from arborist.evaluation.gate import comparison_of_runs, evaluate_against_baseline
from arborist.evaluation.golden import Form, GradedSet
from arborist.evaluation.golden_file import (
    golden_faults,
    golden_sets,
    read_golden,
    set_identifier,
    write_golden,
)
from arborist.evaluation.golden_import import Imported, ImportOptions
from arborist.evaluation.privacy import PrivacyLevel, StandardPolicy, retention_days
from arborist.evaluation.protocol import OVER_FETCH, TOP_K, ScoringProtocol
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.registry import named_retrievers
from arborist.evaluation.regression import Tolerances, parsed_tolerance
from arborist.evaluation.retriever import DeclaredRetriever, ProvenanceDeclaring, Retriever, RetrieverContext
from arborist.evaluation.store import EvaluationStore
from arborist.evaluation.trec import write_trec
from arborist.home import Home

SECONDS_PER_DAY = 86_400


class ToleranceType(click.ParamType[float]):
    """A number in 0..1, in the notation that `parsed_tolerance` takes."""

    name = "0..1"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        option = param.opts[0] if param else "tolerance"
        try:
            return parsed_tolerance(option, str(value))
        except ArboristError as error:
            raise click.UsageError(str(error), ctx) from error


golden_folder_option = click.option(
    "--golden",
    "golden_folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("golden"),
    help="Folder of golden sets that SET may name (default: ./golden).",
)


@click.group()
def golden() -> None:
    """Golden question sets: check and import."""


@golden.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def golden_check(ctx: click.Context, *, file: Path, as_json: bool) -> None:
    """Report every fault of a golden set FILE with its line."""
    faults = golden_faults(file)
    if as_json:
        listed = [{"line": fault.line, "problem": fault.problem, "code": fault.code} for fault in faults]
        click.echo(json.dumps({"file": str(file), "faults": listed}))
    else:
        for fault in faults:
            click.echo(f"{file}: {report.printable(str(fault))}", err=True)
    if faults:
        ctx.exit(GoldenSetError.exit_code)
    if not as_json:
        _print(_set_lines(read_golden(file)))


def _set_lines(graded: GradedSet) -> Iterator[str]:
    questions = graded.golden.questions
    forms = ", ".join(f"{sum(q.form is form for q in questions)} {form.value}" for form in Form)
    nothing = sum(question.expects_no_result for question in questions)
    yield f"{graded.golden.identifier}: {len(questions)} questions ({forms}; {nothing} expect no result)"
    classes = sorted({question.hard_class for question in questions if question.hard_class is not None})
    for name in classes:
        yield f"  {report.printable(name)}: {sum(question.hard_class == name for question in questions)}"


@golden.command("import")
@click.option("--beir", type=click.Path(path_type=Path), help="Folder with queries.jsonl and qrels/.")
@click.option("--trec", type=click.Path(path_type=Path), help="Folder with topics* and qrels*.")
@click.option("--squad", type=click.Path(path_type=Path), help="SQuAD JSON, or JSON Lines of its questions.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Golden set to write.")
@click.option("--form", type=click.Choice([form.value for form in Form]), default=Form.MATCH.value)
@click.option("--document-prefix", default="", help="Put before every document id.")
@click.option("--min-grade", type=click.IntRange(min=1), default=1, help="Lowest grade that makes a target.")
@click.option("--split", help="Which BEIR judgements to take (default: test, or the only ones).")
def golden_import_command(
    *,
    beir: Path | None,
    trec: Path | None,
    squad: Path | None,
    output: Path,
    form: str,
    document_prefix: str,
    min_grade: int,
    split: str | None,
) -> None:
    """Make a golden set of BEIR, TREC or SQuAD files."""
    options = ImportOptions(Form(form), document_prefix, min_grade, split)
    readers = ((beir, golden_import.beir_set), (trec, golden_import.trec_set), (squad, golden_import.squad_set))
    given = [(path, reader) for path, reader in readers if path is not None]
    if len(given) != 1:
        raise click.UsageError("give exactly one of --beir, --trec and --squad")
    path, reader = given[0]
    imported: Imported = reader(path, set_identifier(output), options)
    write_golden(output, imported.graded)
    click.echo(f"{output}: {len(imported.graded.golden.questions)} questions")
    for reason, count in imported.left_out.items():
        click.echo(f"left out {count}: {reason}")


@click.command()
@click.argument("golden_set", metavar="SET")
@click.option("--retriever", required=True, help="A registered name, module:function, or an http(s) URL.")
@click.option("--top-k", type=int, default=TOP_K, help="Distinct documents that count as found.")
@click.option("--over-fetch", type=int, default=OVER_FETCH, help="Raw results asked for, per document counted.")
@click.option("--keyword", "keywords", multiple=True, help="A word that widens every search; may be repeated.")
@click.option("--max-top1-drop", type=ToleranceType(), default="0.1")
@click.option("--max-top3-drop", type=ToleranceType(), default="0.1")
@click.option("--max-no-result-drop", type=ToleranceType(), default="0.1")
@click.option("--max-group-drop", type=ToleranceType(), help="Gate each form and hard class by itself too.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 for a regression, 3 for nothing to compare with.")
@click.option("--privacy", type=click.Choice([level.value for level in PrivacyLevel]), default="metadata")
@click.option("--notes", default="", help="Kept with the run.")
@click.option("--provenance", type=click.Path(path_type=Path), help="JSON labels for a retriever that has none.")
@click.option("--trec-files", type=click.Path(path_type=Path), help="Folder to write run.trec and qrels.trec to.")
@golden_folder_option
@home_option
@config_option
@json_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    *,
    golden_set: str,
    retriever: str,
    top_k: int,
    over_fetch: int,
    keywords: tuple[str, ...],
    max_top1_drop: float,
    max_top3_drop: float,
    max_no_result_drop: float,
    max_group_drop: float | None,
    fail_on_regression: bool,
    privacy: str,
    notes: str,
    provenance: Path | None,
    trec_files: Path | None,
    golden_folder: Path,
    home: Path,
    config: Path,
    as_json: bool,
) -> None:
    """Measure a retriever on a golden SET (a file, or an identifier) and hold it against its baseline."""
    graded = _found_set(golden_set, golden_folder)
    evaluation = evaluate_against_baseline(
        graded,
        _found_retriever(retriever, RetrieverContext(home, keywords, config), provenance),
        _store(home),
        SystemClock(),
        protocol=ScoringProtocol(top_k, over_fetch),
        tolerances=Tolerances(max_top1_drop, max_top3_drop, max_no_result_drop, max_group_drop),
        policy=StandardPolicy(PrivacyLevel(privacy)),
        notes=notes,
    )
    if trec_files is not None:
        write_trec(trec_files, graded, evaluation.run)
    _print(report.evaluation_json(evaluation) if as_json else report.evaluation_lines(evaluation))
    warning = report.warning_line(evaluation)
    if warning:
        click.echo(f"warning: {warning}", err=True)
    if fail_on_regression:
        ctx.exit(evaluation.exit_code)


@click.group()
def baseline() -> None:
    """The runs that others are held against."""


@baseline.command("promote")
@click.argument("run_id", type=int)
@home_option
def baseline_promote(*, run_id: int, home: Path) -> None:
    """Make a run the baseline of its set, retriever and benchmark."""
    pinned = _store(home).promote(run_id, SystemClock())
    summary = pinned.run.summary
    click.echo(f"run {run_id} is the baseline of {summary.set_identifier} by {summary.retriever_identifier}")


@baseline.command("show")
@click.argument("golden_set", metavar="[SET]", required=False)
@golden_folder_option
@home_option
@json_option
def baseline_show(*, golden_set: str | None, golden_folder: Path, home: Path, as_json: bool) -> None:
    """Show the baselines in force, of one SET or of all."""
    identifier = None if golden_set is None else _set_identifier(golden_set, golden_folder)
    baselines = _store(home).baselines(identifier)
    if as_json:
        _print([report.baseline_json(pinned) for pinned in baselines])
    else:
        _print(
            report.runs_table([pinned.run for pinned in baselines])
            if baselines
            else iter(["no baseline is pinned"])
        )


@click.group()
def evaluations() -> None:
    """The runs that were kept."""


@evaluations.command("list")
@click.option("--set", "golden_set", help="Only runs of this set's identifier.")
@click.option("--limit", type=int, default=20, help="How many of the newest.")
@home_option
@json_option
def evaluations_list(*, golden_set: str | None, limit: int, home: Path, as_json: bool) -> None:
    """List runs, newest first."""
    runs = _store(home).recent(limit, golden_set)
    if as_json:
        _print([report.run_json(stored) for stored in runs])
    else:
        _print(report.runs_table(runs) if runs else iter(["no runs"]))


@evaluations.command("compare")
@click.argument("first", type=int)
@click.argument("second", type=int)
@home_option
@json_option
def evaluations_compare(*, first: int, second: int, home: Path, as_json: bool) -> None:
    """Hold run SECOND against run FIRST; exits 3 and names the differing fields where that has no meaning."""
    compared = comparison_of_runs(_store(home), first, second)
    _print(report.comparison_json(compared) if as_json else report.comparison_lines(compared))
    refuse_different(compared.differences)


@evaluations.command("purge")
@click.option("--older-than", "days", type=int, help="Days to keep (30 where this is not a positive number).")
@home_option
def evaluations_purge(*, days: int | None, home: Path) -> None:
    """Delete old runs; pinned baselines stay, without their details."""
    before = int(SystemClock().now()) - retention_days(days) * SECONDS_PER_DAY
    click.echo(f"deleted {_store(home).purge(before)} runs")


def _store(home: Path) -> EvaluationStore:
    return EvaluationStore(Home(home).evaluations_folder)


def _found_set(name: str, folder: Path) -> GradedSet:
    path = Path(name)
    if path.is_file():
        return read_golden(path)
    registry = golden_sets(folder)
    graded = registry.find(name)
    if graded is None:
        known = ", ".join(registry.identifiers()) or "none"
        raise InputError(f"Unknown golden question set {name}: no such file, and {folder} has: {known}")
    return graded


def _set_identifier(name: str, folder: Path) -> str:
    return _found_set(name, folder).golden.identifier if Path(name).is_file() else name


def _found_retriever(name: str, context: RetrieverContext, provenance: Path | None) -> Retriever:
    # A function named `module:function` may be in the folder that the user works in.
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    retriever = retriever_named(name, named_retrievers(), context)
    if provenance is None:
        return retriever
    if isinstance(retriever, ProvenanceDeclaring):
        raise RetrieverError(f"{name} declares its own provenance: leave --provenance out")
    return DeclaredRetriever(retriever, _declared(provenance))


def _declared(path: Path) -> RetrievalProvenance:
    try:
        value = json.loads(path.read_text("utf-8"))
        return RetrievalProvenance.from_json(value if isinstance(value, dict) else {})
    except ProvenanceError as error:
        raise InputError.at(path, "", str(error)) from error
    except (OSError, ValueError) as error:
        raise InputError.at(
            path, "", "is not a readable JSON file", "corpusRevision and the other labels"
        ) from error


def _print(output: dict[str, Any] | list[Any] | Iterator[str]) -> None:
    """Values as one line of JSON, lines as they are."""
    for line in output if isinstance(output, Iterator) else [json.dumps(output)]:
        click.echo(line)
