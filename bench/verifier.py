"""The verifier's operating point on labelled claims, on claims made false, and the extractive model's abstention.

`python -m bench.verifier DATA` prints the tables, `--json` the same figures; DATA is the folder of public data.
"""

import argparse
import importlib.util
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from arborist.answering.findings import CONTRADICTIONS
from arborist.answering.model import STRICT, Claim
from arborist.answering.statement import statement_of
from arborist.answering.support import Source, best_support
from arborist.answering.verifier import Verifier
from bench.abstention import abstention_report
from bench.labelled_claims import LabelledClaim, attribution_claims, scifact_claims
from bench.perturbed_claims import perturbed_claims
from bench.verdict_digest import different_verdicts, verdict_digest

SEED = 20_261_130
FALSE_PASS_LIMIT = 0.024


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled row, what a method passed it as, and the score it ranks the row by (higher is better)."""

    row: LabelledClaim
    passed: bool
    score: float
    contradicted: bool = False


Method = Callable[[Sequence[LabelledClaim]], list[Judged]]


def by_verifier(rows: Sequence[LabelledClaim]) -> list[Judged]:
    """STRICT of the shipped policy; ranked by what its claims' best windows hold, STRICT first."""
    verifier = Verifier()
    judged = []
    for row in rows:
        verdict = verifier.verify(row.claims, row.evidence)
        contradicted = any(CONTRADICTIONS.intersection(claim.findings) for claim in verdict.claims)
        passed = verdict.audit_mode == STRICT
        judged.append(Judged(row, passed, float(passed) + _mean_coverage(verifier, row), contradicted))
    return judged


def _mean_coverage(verifier: Verifier, row: LabelledClaim) -> float:
    coverages = []
    for claim in row.claims:
        stated = statement_of(claim.text)
        supports = (best_support(stated, Source(item), verifier.policy).coverage for item in row.evidence)
        coverages.append(max(supports, default=0.0) if stated.keys else 0.0)
    return sum(coverages) / len(coverages) if coverages else 0.0


def by_word_overlap(rows: Sequence[LabelledClaim]) -> list[Judged]:
    """The share of the row's words found anywhere in its evidence.

    Passed at the threshold that passes most while false passes on the tuning half stay within the limit.
    """
    scores = []
    for row in rows:
        words = set(statement_of(row.text).keys)
        held = {key for item in row.evidence for key in statement_of(f"{item.title}\n{item.text}").keys}
        scores.append(len(words & held) / len(words) if words else 0.0)
    wrong = [
        score for row, score in zip(rows, scores, strict=True) if row.half == "tune" and row.label != "supported"
    ]
    threshold = next(
        (
            step / 100
            for step in range(101)
            if sum(score >= step / 100 for score in wrong) <= FALSE_PASS_LIMIT * len(wrong)
        ),
        1.01,
    )
    return [Judged(row, score >= threshold, score) for row, score in zip(rows, scores, strict=True)]


def by_grounded_check(rows: Sequence[LabelledClaim]) -> list[Judged]:
    """The PyPI package `grounded-check`, with its sentence check, at its own threshold."""
    from grounded import Kind, extract, verify
    from grounded.sources import Source as GroundedSource

    kinds = {Kind.QUOTE, Kind.NUMBER, Kind.CITATION, Kind.ENTITY, Kind.SENTENCE}
    judged = []
    for row in rows:
        sources = [GroundedSource(Path(item.uri), f"{item.title}\n{item.text}") for item in row.evidence] or [
            GroundedSource(Path("none"), "")
        ]
        result = verify(extract(row.text, kinds=kinds), sources)
        weak = sum(finding.is_failure for finding in result.heuristic)
        passed = result.passed and not weak
        judged.append(Judged(row, passed, result.rate - weak))
    return judged


def operating_point(judged: Sequence[Judged]) -> dict[str, Any]:
    """Counts and rates of passing: `false_pass_rate` over what is not supported, `coverage` over what is."""
    supported = [item for item in judged if item.row.label == "supported"]
    others = [item for item in judged if item.row.label != "supported"]
    contradicted = [item for item in judged if item.row.label == "contradicted"]
    true_passes = sum(item.passed for item in supported)
    false_passes = sum(item.passed for item in others)
    return {
        "rows": len(judged),
        "supported": len(supported),
        "true_passes": true_passes,
        "coverage": _share(true_passes, len(supported)),
        "not_supported": len(others),
        "false_passes": false_passes,
        "false_pass_rate": _share(false_passes, len(others)),
        "precision": _share(true_passes, true_passes + false_passes),
        "contradicted": len(contradicted),
        "contradicted_passed": sum(item.passed for item in contradicted),
        "contradicted_named": sum(item.contradicted for item in contradicted),
        "auc": area_under_curve([item.score for item in supported], [item.score for item in others]),
    }


def area_under_curve(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """The chance that one of `higher` is ranked above one of `lower`, ties counted half."""
    if not higher or not lower:
        return None
    counts = Counter(lower)
    ordered = sorted(counts.items())
    total = 0.0
    for score in higher:
        total += sum(count for value, count in ordered if value < score) + 0.5 * counts[score]
    return total / (len(higher) * len(lower))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def labelled_report(rows: Sequence[LabelledClaim], methods: dict[str, Method]) -> dict[str, Any]:
    """The operating point of each method on the tuning half, the reported half, all rows, and each kind of row."""
    report: dict[str, Any] = {}
    for name, method in methods.items():
        judged = method(rows)
        parts = {
            "tune": [item for item in judged if item.row.half == "tune"],
            "report": [item for item in judged if item.row.half == "report"],
            "all": judged,
        }
        parts |= {
            f"all {kind}": [item for item in judged if item.row.kind == kind]
            for kind in sorted({row.kind for row in rows})
        }
        report[name] = {part: operating_point(items) for part, items in parts.items()}
    return report


def perturbation_report(data: Path) -> dict[str, Any]:
    """By kind of alteration: how many, the share that lost STRICT, the share of unaltered twins that kept it."""
    verifier = Verifier()
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for item in perturbed_claims(data / "squad2_wiki", SEED):
        twin = verifier.verify([Claim(item.twin, (item.twin_citation,))], item.evidence)
        altered = verifier.verify([Claim(item.altered, (item.citation,))], item.evidence)
        for kind in (item.kind, "all"):
            counts[kind] += 1
            kept[kind] += twin.audit_mode == STRICT
            lost[kind] += altered.audit_mode != STRICT
    return {
        kind: {"claims": count, "lost_strict": lost[kind] / count, "twins_kept_strict": kept[kind] / count}
        for kind, count in counts.items()
    }


def repeatability_report(rows: Sequence[LabelledClaim], runs: int = 1_000) -> dict[str, Any]:
    """One digest over all verdicts, to compare between interpreters, and how many verdicts `runs` of one gave."""
    return {
        "verdicts_sha256": verdict_digest(rows),
        "runs": runs,
        "different_verdicts": different_verdicts(rows[0], runs),
    }


def speed_report(rows: Sequence[LabelledClaim]) -> dict[str, Any]:
    """Claims a second of one core, by its own time and by the clock on the wall."""
    verifier = Verifier()
    claims = sum(len(row.claims) for row in rows)
    own, wall = time.process_time(), time.perf_counter()
    for row in rows:
        verifier.verify(row.claims, row.evidence)
    return {
        "claims": claims,
        "claims_per_cpu_second": claims / (time.process_time() - own),
        "claims_per_second": claims / (time.perf_counter() - wall),
    }


def verifier_report(data: Path) -> dict[str, Any]:
    """Every figure of the bench."""
    methods: dict[str, Method] = {"verifier": by_verifier, "word overlap": by_word_overlap}
    if importlib.util.find_spec("grounded") is not None:
        methods["grounded-check"] = by_grounded_check
    attribution = list(attribution_claims(data))
    scifact = list(scifact_claims(data))
    return {
        "policy": Verifier().canonical(),
        "attribution": labelled_report(attribution, methods),
        "scifact": labelled_report(scifact, methods),
        "both": labelled_report([*attribution, *scifact], {"verifier": by_verifier}),
        "perturbations": perturbation_report(data),
        "abstention": abstention_report(data / "squad2_wiki"),
        "repeatability": repeatability_report([*attribution, *scifact]),
        "speed": speed_report(attribution),
    }


def print_tables(report: dict[str, Any], console: Console) -> None:
    """The report for a reader."""
    for name in ("attribution", "scifact", "both"):
        console.print(_labelled_table(name, report[name]))
    console.print(_plain_table("claims made false", "kind", report["perturbations"]))
    for half in ("tune", "report", "all"):
        ways = {way: counts for way, counts in report["abstention"][half].items() if isinstance(counts, dict)}
        console.print(_plain_table(f"squad2_wiki, {half}", "way to decide", ways))
        console.print(
            f"answers that hold the gold text: {report['abstention'][half]['answers_with_gold_text']:.3f}"
        )
    console.print(_plain_table("one core", "", {"verifier": report["speed"]}))
    console.print(_plain_table("repeatability", "", {"verifier": report["repeatability"]}))


def _labelled_table(name: str, report: dict[str, Any]) -> Table:
    rows = {f"{method}, {part}": point for method, parts in report.items() for part, point in parts.items()}
    return _plain_table(name, "method, rows", rows)


def _plain_table(title: str, first: str, rows: dict[str, dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    columns = list(next(iter(rows.values())))
    for column in (first, *columns):
        table.add_column(column.replace("_", " "), justify="left" if column == first else "right")
    for row, values in rows.items():
        table.add_row(row, *(_cell(values[column]) for column in columns))
    return table


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "-" if value is None else str(value)


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds attribution, scifact and squad2_wiki")
    parser.add_argument("--json", action="store_true", help="print the figures for machines")
    parsed = parser.parse_args(None if arguments is None else list(arguments))
    report = verifier_report(parsed.data)
    if parsed.json:
        print(json.dumps(report, indent=2, sort_keys=True))
    else:
        print_tables(report, Console(width=200))


if __name__ == "__main__":
    main()
