"""The commands of the evaluation: rows C1 to C16 of `retrieval-evaluation.md`, 7.6.

Exit codes are this project's: 2 for input that cannot be used and 3 for nothing to compare with, where the
contract's source knew only 1.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arborist.cli.main import main

QUESTIONS = [
    {"identifier": "office.test", "name": "Office"},
    {
        "id": "office",
        "question": "Where is the office?",
        "form": "match",
        "expectedDocumentIds": ["doc-a"],
        "hardClass": "normal",
    },
    {"id": "hours", "question": "When are you open?", "form": "gap", "expectedDocumentIds": ["doc-b"]},
]
SEARCH = """
import json, pathlib
def find(question, limit):
    with open(pathlib.Path(__file__).with_name("asked.txt"), "a") as asked:
        asked.write(question + "\\n")
    ranking = json.loads(pathlib.Path(__file__).with_name("rankings.json").read_text())[question]
    if ranking == "raise":
        raise OSError("secret")
    return ranking
"""
RIGHT = {"Where is the office?": ["doc-a"], "When are you open?": ["doc-b"]}
HALF = RIGHT | {"When are you open?": ["doc-x"]}
LABELS = {
    "corpusRevision": "corpus-v1",
    "modelRevision": "embed-v1",
    "chunkingIdentity": "chunk-v1",
    "pipelineIdentity": "hybrid-v1",
}


@dataclass(frozen=True)
class Result:
    """How a command ended and what it said."""

    exit_code: int
    stdout: str
    stderr: str


class Office:
    """A folder with a golden set, a retriever that reads its answers from a file, and labels for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "golden").mkdir()
        (folder / "golden" / "office.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), "utf-8")
        (folder / "office_cli_search.py").write_text(SEARCH, "utf-8")
        self.declare({})

    def declare(self, changes: dict[str, Any]) -> None:
        (self.folder / "labels.json").write_text(json.dumps(LABELS | changes), "utf-8")

    def evaluate(self, rankings: dict[str, Any], *options: str, declared: bool = True) -> Result:
        (self.folder / "rankings.json").write_text(json.dumps(rankings), "utf-8")
        labels = ["--provenance", "labels.json"] if declared else []
        return self.run("evaluate", "office.test", "--retriever", "office_cli_search:find", *labels, *options)

    def evaluate_strictly(self, rankings: dict[str, Any], *options: str, declared: bool = True) -> Result:
        return self.evaluate(rankings, "--fail-on-regression", *options, declared=declared)

    def run(self, *arguments: str) -> Result:
        """What `arborist` with these arguments prints and exits with, called as the console script is."""
        stdout, stderr = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patched,
            redirect_stdout(stdout),
            redirect_stderr(stderr),
            pytest.raises(SystemExit) as left,
        ):
            patched.setattr(sys, "argv", ["arborist", *arguments])
            main()
        assert isinstance(left.value.code, int)
        return Result(left.value.code, stdout.getvalue(), stderr.getvalue())

    def promote(self, run_id: int = 1) -> Result:
        return self.run("baseline", "promote", str(run_id))

    def questions_asked(self) -> int:
        asked = self.folder / "asked.txt"
        return len(asked.read_text("utf-8").splitlines()) if asked.exists() else 0

    def kept(self) -> int:
        return len(json.loads(self.run("evaluations", "list", "--json").stdout))


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARBORIST_HOME", str(tmp_path / "var"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "office_cli_search", raising=False)
    return Office(tmp_path)


def test_an_unknown_set_is_told_with_the_known_ones(office: Office) -> None:
    """C1"""
    result = office.run("evaluate", "other.test", "--retriever", "office_cli_search:find")
    assert result.exit_code == 2
    assert "Unknown golden question set other.test" in result.stderr
    assert "office.test" in result.stderr
    assert result.stdout == ""


def test_an_unknown_retriever_is_told(office: Office) -> None:
    """C2"""
    result = office.run("evaluate", "office.test", "--retriever", "nothing")
    assert result.exit_code == 2
    assert "Unknown retriever nothing" in result.stderr


def test_a_perfect_first_run_prints_its_figures_and_is_kept(office: Office) -> None:
    """C3 and C4"""
    result = office.evaluate(RIGHT)
    assert result.exit_code == 0
    for line in (
        "Top-1 hit rate: 100.0% (2/2)",
        "Top-3 hit rate: 100.0% (2/2)",
        "By form",
        "By hard class",
        "  corpusRevision: corpus-v1",
        "  executionRevision: unknown",
        "Baseline state: baseline",
    ):
        assert line in result.stdout.splitlines()
    listed = json.loads(office.run("evaluations", "list", "--json").stdout)
    assert [(run["retriever"], run["set"]) for run in listed] == [("office_cli_search:find", "office.test")]


def test_a_known_first_run_passes_the_strict_gate(office: Office) -> None:
    """C13"""
    assert office.evaluate_strictly(RIGHT).exit_code == 0


def test_a_regression_warns_and_fails_only_the_strict_gate(office: Office) -> None:
    """C5 and C6"""
    office.evaluate(RIGHT)
    office.promote()
    result = office.evaluate(HALF)
    assert result.exit_code == 0
    assert "Retrieval regression detected: top-1 2/2 -> 1/2" in result.stdout
    assert "warning: Retrieval regression detected" in result.stderr
    assert office.evaluate_strictly(HALF).exit_code == 1
    assert office.evaluate_strictly(HALF).exit_code == 1


@pytest.mark.parametrize(("text", "exit_code"), [("0", 1), ("-0.0", 1), ("0.5", 0), ("5e-1", 0), ("1", 0)])
def test_a_drop_equal_to_the_tolerance_passes(office: Office, text: str, exit_code: int) -> None:
    """C7 and C16"""
    office.evaluate(RIGHT)
    office.promote()
    before = office.questions_asked(), office.kept()
    result = office.evaluate_strictly(HALF, f"--max-top1-drop={text}", f"--max-top3-drop={text}")
    assert result.exit_code == exit_code
    assert (office.questions_asked() - before[0], office.kept() - before[1]) == (2, 1)


def test_without_provenance_nothing_is_compared(office: Office) -> None:
    """C8"""
    strict = office.evaluate_strictly(RIGHT, declared=False)
    assert strict.exit_code == 3
    assert "Baseline state: unknown" in strict.stdout
    assert "No regression" not in strict.stdout
    assert "warning: nothing was compared" in strict.stderr
    assert office.evaluate(RIGHT, declared=False).exit_code == 0
    assert office.kept() == 2
    assert office.promote().exit_code == 3


def test_another_corpus_is_a_mismatch(office: Office) -> None:
    """C10"""
    office.evaluate(RIGHT)
    office.promote()
    office.declare({"corpusRevision": "corpus-v2"})
    result = office.evaluate_strictly(RIGHT)
    assert result.exit_code == 3
    assert "Baseline state: mismatch" in result.stdout
    assert "corpusRevision: corpus-v1 -> corpus-v2" in result.stdout
    assert office.kept() == 2


def test_a_changed_treatment_is_named_and_compared(office: Office) -> None:
    """C11 and C12"""
    office.evaluate(RIGHT)
    office.promote()
    office.declare({"executionRevision": "commit-b"})
    same = office.evaluate_strictly(RIGHT)
    assert same.exit_code == 0
    assert "Treatment changed:" not in same.stdout
    assert "No regression:" in same.stdout
    office.declare({"modelRevision": "embed-v2", "chunkingIdentity": "chunk-v2", "pipelineIdentity": "hybrid-v2"})
    worse = office.evaluate_strictly(HALF)
    assert worse.exit_code == 1
    assert "Baseline state: comparable" in worse.stdout
    assert "Treatment changed: modelRevision: embed-v1 -> embed-v2; chunkingIdentity" in worse.stdout
    assert "Retrieval regression detected" in worse.stdout


def test_a_changed_target_is_another_benchmark(office: Office) -> None:
    """C14"""
    office.evaluate(RIGHT)
    office.promote()
    changed = [*QUESTIONS[:2], QUESTIONS[2] | {"expectedDocumentIds": ["doc-c"]}]
    (office.folder / "golden" / "office.jsonl").write_text("\n".join(map(json.dumps, changed)), "utf-8")
    result = office.evaluate_strictly(HALF)
    assert result.exit_code == 3
    assert "labels: v1:" in result.stdout
    assert "egression" not in result.stdout
    assert office.kept() == 2


@pytest.mark.parametrize("option", ["--max-top1-drop", "--max-top3-drop", "--max-no-result-drop"])
@pytest.mark.parametrize("text", ["-0.0001", "1.0001", "1e309", "NAN", "INF", "-INF", "word", ""])
def test_an_invalid_tolerance_stops_before_the_first_question(office: Office, option: str, text: str) -> None:
    """C15"""
    result = office.evaluate(RIGHT, f"{option}={text}")
    assert result.exit_code == 2
    assert option in result.stderr
    assert "0..1" in result.stderr
    assert (office.questions_asked(), office.kept()) == (0, 0)


def test_a_retriever_that_fails_on_everything_exits_2_and_keeps_nothing(office: Office) -> None:
    result = office.evaluate(dict.fromkeys(RIGHT, "raise"))
    assert result.exit_code == 2
    assert "it raised OSError" in result.stderr
    assert "secret" not in result.stdout + result.stderr
    assert office.kept() == 0


def test_a_failed_question_is_a_miss_and_fails_the_strict_gate(office: Office) -> None:
    result = office.evaluate_strictly(RIGHT | {"When are you open?": "raise"})
    assert result.exit_code == 1
    assert "Errors: 1 questions" in result.stdout
    assert "ERROR it raised OSError" in result.stdout
    assert office.promote().exit_code == 1


def test_json_says_the_same_to_machines(office: Office) -> None:
    office.evaluate(RIGHT)
    office.promote()
    result = office.evaluate_strictly(HALF, "--json", "--notes", "after lunch")
    said = json.loads(result.stdout)
    assert (said["state"], said["regressed"], said["exitCode"], said["notes"]) == (
        "comparable",
        True,
        1,
        "after lunch",
    )
    assert said["all"] == {"questions": 2, "top1Hits": 1, "top3Hits": 1}
    assert said["provenance"]["labelsFingerprint"].startswith("v1:")
    assert said["tests"]["top1"] == {"lost": 1, "gained": 0, "p": 1.0}
    top1 = said["changes"][0]
    assert (top1["figure"], top1["baselineHits"], top1["currentHits"], top1["regressed"]) == ("top-1", 2, 1, True)


def test_details_are_kept_on_demand_only(office: Office) -> None:
    office.evaluate(RIGHT, "--privacy", "metadata")
    database = office.folder / "var" / "evaluations" / "evaluations.db"
    assert b"doc-a" not in database.read_bytes()
    office.evaluate(RIGHT, "--privacy", "full")
    assert b"doc-a" in database.read_bytes()


def test_baselines_are_shown_once_promoted(office: Office) -> None:
    assert office.run("baseline", "show").stdout == "no baseline is pinned\n"
    office.evaluate(RIGHT)
    assert office.promote().stdout == "run 1 is the baseline of office.test by office_cli_search:find\n"
    assert "top-1 2/2" in office.run("baseline", "show", "office.test").stdout
    shown = json.loads(office.run("baseline", "show", "golden/office.jsonl", "--json").stdout)
    assert [(entry["runId"], "promotedAt" in entry) for entry in shown] == [(1, True)]
    missing = office.promote(9)
    assert missing.exit_code == 2
    assert "there is no run 9" in missing.stderr


def test_equal_benchmarks_are_compared_and_others_refused_with_the_field(office: Office) -> None:
    office.evaluate(RIGHT)
    office.evaluate(HALF)
    office.declare({"corpusRevision": "corpus-v2"})
    office.evaluate(RIGHT)
    compared = office.run("evaluations", "compare", "1", "2")
    assert compared.exit_code == 0
    assert "top-1 2/2 -> 1/2 (-50.0 points)" in compared.stdout
    assert "McNemar p = 1.0000" in compared.stdout
    refused = office.run("evaluations", "compare", "1", "3", "--json")
    assert refused.exit_code == 3
    assert "Error: not comparable: corpusRevision: corpus-v1 -> corpus-v2" in refused.stderr
    said = json.loads(refused.stdout)
    assert said["differences"] == [{"field": "corpusRevision", "baseline": "corpus-v1", "current": "corpus-v2"}]
    assert said["changes"] == []


def test_another_top_k_is_another_scoring(office: Office) -> None:
    office.evaluate(RIGHT)
    office.promote()
    result = office.evaluate_strictly(RIGHT, "--top-k", "5")
    assert result.exit_code == 3
    assert "scoringVersion: distinct-documents-top1-top3-no-result-v1 -> " in result.stdout
    assert "Top-5 hit rate: 100.0% (2/2)" in result.stdout
    assert office.evaluate(RIGHT, "--top-k", "0").exit_code == 2


def test_trec_files_are_written_on_demand(office: Office) -> None:
    office.evaluate(RIGHT, "--trec-files", "out")
    written = (office.folder / "out" / "run.trec").read_text("utf-8").splitlines()
    assert written[0] == "office Q0 doc-a 1 1 office_cli_search:find"


def test_old_runs_are_purged(office: Office) -> None:
    office.evaluate(RIGHT)
    assert office.run("evaluations", "purge", "--older-than", "0").stdout == "deleted 0 runs\n"
    assert office.kept() == 1


def test_labels_that_are_not_allowed_are_refused_with_their_file(office: Office) -> None:
    office.declare({"modelRevision": "http://user:word@host"})
    result = office.evaluate(RIGHT)
    assert result.exit_code == 2
    assert "labels.json: modelRevision is not a label" in result.stderr
    assert "word@" not in result.stdout + result.stderr


def test_checking_a_golden_set_lists_every_fault_or_what_it_holds(office: Office) -> None:
    good = office.run("golden", "check", "golden/office.jsonl")
    assert good.exit_code == 0
    assert good.stdout.startswith("office.test: 2 questions (1 match, 1 gap; 0 expect no result)")
    Path("bad.jsonl").write_text('{"id": ""}\n{"id": "a", "question": "Q", "form": "x"}\n', "utf-8")
    bad = office.run("golden", "check", "bad.jsonl")
    assert bad.exit_code == 2
    assert bad.stdout == ""
    assert "bad.jsonl: line 1: the question id is empty" in bad.stderr
    assert "bad.jsonl: line 2: form is 'x'" in bad.stderr
    as_json = office.run("golden", "check", "bad.jsonl", "--json")
    assert as_json.exit_code == 2
    assert {fault["line"] for fault in json.loads(as_json.stdout)["faults"]} == {1, 2}


def test_a_golden_set_is_imported_and_passes_its_check(office: Office) -> None:
    Path("q.jsonl").write_text('{"qid": "a", "question": "Q?", "doc_id": "d", "answerable": true}\n', "utf-8")
    made = office.run(
        "golden", "import", "--squad", "q.jsonl", "-o", "new/my-set.jsonl", "--document-prefix", "wiki/"
    )
    assert made.exit_code == 0
    assert office.run("golden", "check", "new/my-set.jsonl").stdout.startswith("my_set: 1 questions")
    none = office.run("golden", "import", "-o", "x.jsonl")
    assert none.exit_code == 2
    assert "exactly one" in none.stderr
