"""Runs and pinned baselines in one SQLite file (`retrieval-evaluation.md`, section 5): counts, never rates."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arborist.clock import Clock, iso_time
from arborist.errors import InputError
from arborist.evaluation.bytestrings import tagged, text_bytes, untagged
from arborist.evaluation.comparison import BaselineState, baseline_state
from arborist.evaluation.errors import EvaluationStoreError, NotComparableError, PromotionError, ProvenanceError
from arborist.evaluation.fingerprint import Identity, is_fingerprint
from arborist.evaluation.metrics import MeanMetrics
from arborist.evaluation.privacy import PrivacyLevel, PrivacyPolicy, details_text, kept_classes, stored_json
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.regression import Tolerances, changes
from arborist.evaluation.run import Breakdown, EvaluationRun, Outcome, RunSummary, Tally

FILE_NAME = "evaluations.db"
SCHEMA_VERSION = 1
MAX_JSON_DEPTH = 8

# The fingerprint columns could be derived from `retrieval_provenance`: they are there to search by, and a row
# whose columns disagree with what is derived on reading counts as unknown.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    set_identifier TEXT NOT NULL,
    retriever_identifier TEXT NOT NULL,
    run_date INTEGER NOT NULL,
    retrieval_provenance TEXT NOT NULL,
    benchmark_fingerprint TEXT NOT NULL,
    variant_fingerprint TEXT NOT NULL,
    questions INTEGER NOT NULL,
    top1_hits INTEGER NOT NULL,
    top3_hits INTEGER NOT NULL,
    no_result_questions INTEGER NOT NULL,
    no_result_hits INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    shortfalls INTEGER NOT NULL,
    ranking_shortfalls INTEGER NOT NULL,
    metrics TEXT NOT NULL,
    outcomes TEXT NOT NULL,
    details TEXT NOT NULL,
    privacy TEXT NOT NULL,
    tolerances TEXT NOT NULL,
    baseline_run INTEGER,
    notes TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS runs_by_series ON runs (set_identifier, retriever_identifier, run_date);
CREATE INDEX IF NOT EXISTS runs_by_date ON runs (run_date);
CREATE TABLE IF NOT EXISTS breakdowns (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('form', 'hardClass')),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    questions INTEGER NOT NULL,
    top1_hits INTEGER NOT NULL,
    top3_hits INTEGER NOT NULL,
    PRIMARY KEY (run, kind, position)
) STRICT;
CREATE TABLE IF NOT EXISTS baselines (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES runs,
    promoted_at TEXT NOT NULL
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as the store gives it back; `details` is the text that its privacy level let be kept.

    `baseline_run` is the id of the baseline it was held against under `tolerances`, if there was one.
    """

    id: int
    summary: RunSummary
    details: str
    privacy: PrivacyLevel
    tolerances: Tolerances
    baseline_run: int | None
    notes: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run that was made the one to hold others against, and when (ISO 8601, UTC)."""

    run: StoredRun
    promoted_at: str


class EvaluationStore:
    """The file `evaluations.db` in a folder; made with its first run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def save(
        self,
        run: EvaluationRun,
        policy: PrivacyPolicy,
        tolerances: Tolerances,
        baseline_run: int | None = None,
        notes: str = "",
    ) -> StoredRun:
        """Keep the run, whole or not at all, as far as the policy allows, and give it back as kept."""
        values = _row(run, policy) | {
            "tolerances": stored_json(asdict(tolerances)),
            "baseline_run": baseline_run,
            "notes": notes,
        }
        columns = ", ".join(values)
        marks = ", ".join(f":{column}" for column in values)
        with self._opened() as connection, connection:
            cursor = connection.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", values)
            run_id = int(cursor.lastrowid or 0)
            connection.executemany(
                "INSERT INTO breakdowns VALUES (?, ?, ?, ?, ?, ?, ?)", _breakdown_rows(run_id, run, policy.level)
            )
        return self.run(run_id)

    def run(self, run_id: int) -> StoredRun:
        """Raises InputError for a run that is not there."""
        found = self._runs("WHERE id = ?", (run_id,))
        if not found:
            raise InputError(f"{self.path}: there is no run {run_id} (`arborist evaluations list` shows the runs)")
        return found[0]

    def latest(self, set_identifier: str, retriever_identifier: str) -> StoredRun | None:
        """The newest run of a set and retriever, by date and then by id."""
        runs = self._runs(
            "WHERE set_identifier = ? AND retriever_identifier = ? ORDER BY run_date DESC, id DESC LIMIT 1",
            (set_identifier, retriever_identifier),
        )
        return runs[0] if runs else None

    def recent(self, limit: int, set_identifier: str | None = None) -> list[StoredRun]:
        """Up to `limit` runs, newest first, of one set or of all; none for a limit below 1."""
        if limit < 1:
            return []
        return self._runs(
            "WHERE set_identifier = coalesce(?, set_identifier) ORDER BY run_date DESC, id DESC LIMIT ?",
            (set_identifier, limit),
        )

    def promote(self, run_id: int, clock: Clock) -> Baseline:
        """Pin a run as the baseline of its set, retriever and benchmark.

        Raises NotComparableError for a run of unknown provenance, and PromotionError for one that had errors
        or that, under its own tolerances, is a regression from the baseline it was held against or from the one
        now in force.
        """
        stored = self.run(run_id)
        self._refuse_failing(stored)
        promoted_at = iso_time(clock.now())
        with self._opened() as connection, connection:
            connection.execute("INSERT INTO baselines (run, promoted_at) VALUES (?, ?)", (run_id, promoted_at))
        return Baseline(stored, promoted_at)

    def _refuse_failing(self, stored: StoredRun) -> None:
        current = stored.summary
        if not current.identity.benchmark:
            raise NotComparableError(
                f"run {stored.id} has no known provenance: nothing could ever be compared with it"
            )
        if current.errors:
            raise PromotionError(f"run {stored.id} failed on {current.errors} questions and cannot be a baseline")
        held_against = None if stored.baseline_run is None else self.run(stored.baseline_run)
        for baseline in (held_against, self.baseline_for(current)):
            if baseline is not None:
                _refuse_regression(stored, baseline)

    def baseline_for(self, run: EvaluationRun | RunSummary) -> StoredRun | None:
        """The newest baseline of the run's set and retriever that has its benchmark.

        Where none has, the newest of the set and retriever, which the run then cannot be compared with.
        """
        pinned = [
            baseline.run
            for baseline in self._pinned(
                "WHERE set_identifier = ? AND retriever_identifier = ?",
                (run.set_identifier, run.retriever_identifier),
            )
        ]
        benchmark = run.identity.benchmark
        same = [stored for stored in pinned if stored.summary.identity.benchmark == benchmark]
        return next(iter(same or pinned), None)

    def baselines(self, set_identifier: str | None = None) -> list[Baseline]:
        """The baselines in force, newest first: one for each set, retriever and benchmark."""
        in_force: dict[tuple[str, str, str], Baseline] = {}
        for baseline in self._pinned("WHERE set_identifier = coalesce(?, set_identifier)", (set_identifier,)):
            summary = baseline.run.summary
            key = (summary.set_identifier, summary.retriever_identifier, summary.identity.benchmark)
            in_force.setdefault(key, baseline)
        return list(in_force.values())

    def _pinned(self, where: str, values: tuple[Any, ...]) -> list[Baseline]:
        if not self.path.exists():
            return []
        with self._opened() as connection:
            rows = connection.execute(
                "SELECT runs.*, promoted_at FROM baselines JOIN runs ON runs.id = baselines.run "
                f"{where} ORDER BY baselines.id DESC",
                values,
            ).fetchall()
            return [Baseline(self._stored_run(connection, row), str(row["promoted_at"])) for row in rows]

    def purge(self, before: int) -> int:
        """Delete runs dated strictly before the second `before`, and give their number.

        A run that is pinned as a baseline stays, without its details.
        """
        if not self.path.exists():
            return 0
        with self._opened() as connection, connection:
            pinned = "id IN (SELECT run FROM baselines)"
            connection.execute(f"UPDATE runs SET details = '' WHERE run_date < ? AND {pinned}", (before,))
            cursor = connection.execute(f"DELETE FROM runs WHERE run_date < ? AND NOT {pinned}", (before,))
            return cursor.rowcount

    def _runs(self, clauses: str, values: tuple[Any, ...]) -> list[StoredRun]:
        if not self.path.exists():
            return []
        with self._opened() as connection:
            rows = connection.execute(f"SELECT * FROM runs {clauses}", values).fetchall()
            return [self._stored_run(connection, row) for row in rows]

    def _stored_run(self, connection: sqlite3.Connection, row: sqlite3.Row) -> StoredRun:
        try:
            return _read_run(connection, row)
        except (ValueError, TypeError) as error:
            raise EvaluationStoreError(f"{self.path}: run {row['id']} is damaged (delete its row)") from error

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=30)
        except (OSError, sqlite3.Error) as error:
            raise EvaluationStoreError(f"{self.path}: cannot be opened (is the folder writable?)") from error
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            self._prepare(connection)
            yield connection
        except sqlite3.OperationalError as error:
            raise EvaluationStoreError(f"{self.path}: cannot be read or written (locked, or the disk?)") from error
        except sqlite3.DatabaseError as error:
            raise EvaluationStoreError(f"{self.path}: is not an evaluations database (move it away)") from error
        finally:
            connection.close()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
        elif version != SCHEMA_VERSION:
            raise EvaluationStoreError(
                f"{self.path}: has schema {version}, this version reads {SCHEMA_VERSION} (update, or move it away)"
            )


def _refuse_regression(stored: StoredRun, baseline: StoredRun) -> None:
    old, new = baseline.summary, stored.summary
    if baseline_state(new.identity, old.identity) is not BaselineState.COMPARABLE:
        return
    dropped = [change for change in changes(old, new, stored.tolerances) if change.is_regression]
    if dropped:
        raise PromotionError(
            f"run {stored.id} is a regression from baseline {baseline.id} and cannot be a baseline: "
            + "; ".join(map(str, dropped))
        )


def _row(run: EvaluationRun, policy: PrivacyPolicy) -> dict[str, Any]:
    summary = run.summary()
    keeps_outcomes = policy.level is not PrivacyLevel.NONE
    return {
        "set_identifier": summary.set_identifier,
        "retriever_identifier": summary.retriever_identifier,
        "run_date": summary.run_date,
        "retrieval_provenance": provenance_text(summary.identity),
        "benchmark_fingerprint": summary.identity.benchmark,
        "variant_fingerprint": summary.identity.variant,
        "questions": summary.all.questions,
        "top1_hits": summary.all.top1_hits,
        "top3_hits": summary.all.top3_hits,
        "no_result_questions": summary.no_result.questions,
        "no_result_hits": summary.no_result.top1_hits,
        "errors": summary.errors,
        "shortfalls": summary.shortfalls,
        "ranking_shortfalls": summary.ranking_shortfalls,
        "metrics": stored_json(asdict(summary.metrics) if summary.metrics else None),
        "outcomes": stored_json([[o.top1_hit, o.top3_hit, o.ndcg] for o in summary.outcomes if keeps_outcomes]),
        "details": details_text(run.evaluations, policy),
        "privacy": policy.level.value,
    }


def _breakdown_rows(run_id: int, run: EvaluationRun, level: PrivacyLevel) -> Iterator[tuple[Any, ...]]:
    summary = run.summary()
    for kind, breakdown in (("form", summary.by_form), ("hardClass", kept_classes(summary.by_hard_class, level))):
        for position, (name, tally) in enumerate(breakdown):
            stored_name = stored_json(tagged(text_bytes(name)))
            yield run_id, kind, position, stored_name, tally.questions, tally.top1_hits, tally.top3_hits


def provenance_text(identity: Identity) -> str:
    """The five declared labels, where declared, then the labels fingerprint and the scoring version, as JSON."""
    declared = identity.provenance.to_json() if identity.provenance else {}
    return stored_json(
        declared | {"labelsFingerprint": identity.labels, "scoringVersion": identity.scoring_version}
    )


def read_identity(provenance: str, benchmark: str, variant: str) -> Identity:
    """The identity a row holds; without provenance where any part of it is broken or disagrees. Never raises."""
    value = _json_object(provenance)
    labels, scoring = value.get("labelsFingerprint"), value.get("scoringVersion")
    if not is_fingerprint(labels) or not isinstance(scoring, str) or not scoring:
        return Identity("", "", None)
    try:
        identity = Identity(str(labels), scoring, RetrievalProvenance.from_json(value))
    except ProvenanceError:
        return Identity(str(labels), scoring, None)
    agrees = (identity.benchmark, identity.variant) == (benchmark, variant)
    return identity if agrees else Identity(str(labels), scoring, None)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and _depth(value) <= MAX_JSON_DEPTH else {}


def _depth(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0)


def _read_run(connection: sqlite3.Connection, row: sqlite3.Row) -> StoredRun:
    breakdowns = connection.execute(
        "SELECT kind, name, questions, top1_hits, top3_hits FROM breakdowns WHERE run = ? ORDER BY position",
        (row["id"],),
    ).fetchall()
    metrics = json.loads(row["metrics"])
    no_result_hits = int(row["no_result_hits"])
    summary = RunSummary(
        set_identifier=row["set_identifier"],
        retriever_identifier=row["retriever_identifier"],
        run_date=row["run_date"],
        identity=read_identity(
            row["retrieval_provenance"], row["benchmark_fingerprint"], row["variant_fingerprint"]
        ),
        all=Tally(row["questions"], row["top1_hits"], row["top3_hits"]),
        no_result=Tally(row["no_result_questions"], no_result_hits, no_result_hits),
        by_form=_breakdown(breakdowns, "form"),
        by_hard_class=_breakdown(breakdowns, "hardClass"),
        errors=row["errors"],
        shortfalls=row["shortfalls"],
        ranking_shortfalls=row["ranking_shortfalls"],
        metrics=MeanMetrics(**metrics) if metrics else None,
        outcomes=tuple(Outcome(*outcome) for outcome in json.loads(row["outcomes"])),
    )
    return StoredRun(
        id=row["id"],
        summary=summary,
        details=row["details"],
        privacy=PrivacyLevel.named(row["privacy"]),
        tolerances=Tolerances(**json.loads(row["tolerances"])),
        baseline_run=row["baseline_run"],
        notes=row["notes"],
    )


def _breakdown(rows: list[sqlite3.Row], kind: str) -> Breakdown:
    return tuple(
        (untagged(json.loads(row["name"])), Tally(row["questions"], row["top1_hits"], row["top3_hits"]))
        for row in rows
        if row["kind"] == kind
    )
