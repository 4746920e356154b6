"""The audit of our own retrieval: a bundle as written proves every hit, and a change to it is told by its code."""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from arborist.providence.document_root_binding import ProofFailure
from arborist.providence.record import snapshot_root
from arborist.providence.retrieval_audit import is_record_bundle, verify_bundle_file, verify_record_bundle
from arborist.providence.retrieval_bundle import (
    FILES,
    bundle_folder,
    write_retrieval_bundle,
)
from arborist.retrieval_audit.findings import Failure
from tests.arborist.providence.answers import AnswersHome
from tests.arborist.retrieval_audit.bundles import file_bundle
from tests.corpora import WHEN_ALDER

Change = Callable[[Any], object]

OTHER_DIGEST = "0" * 64


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a STRICT answer; it is copied, never changed."""
    folder = tmp_path_factory.mktemp("home")
    with AnswersHome.opened(folder) as home:
        record = home.ask(WHEN_ALDER).record
        assert record.audit_mode == "STRICT"
        return write_retrieval_bundle(home.workspace, record, folder / "bundle").parent


@pytest.fixture
def bundle(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "bundle"))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[AnswersHome]:
    with AnswersHome.opened(tmp_path) as opened:
        yield opened


def tamper(bundle: Path, file: str, change: Change) -> None:
    path = bundle / f"{file}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def audited(bundle: Path) -> dict[str, Any]:
    return verify_bundle_file(bundle / "audit.json")


def put(*steps: str | int, value: Any) -> Change:
    """Set the member that the steps lead to."""

    def change(document: Any) -> None:
        for step in steps[:-1]:
            document = document[step]
        document[steps[-1]] = value

    return change


def test_a_bundle_as_written_leaves_nothing_open_but_what_no_audit_can_show(bundle: Path) -> None:
    report = audited(bundle)
    assert report["findings"] == []
    assert (report["structural_status"], report["status"]) == ("passed", "review-required")
    assert report["overall_pass"] is False
    assert "answer-faithfulness" in report["unverified"]
    assert report["before_after_snapshot_equal"] is True
    assert sorted(report["evidence"]) == ["after", "before", "customer", "input", "unrelated"]


def test_identity_is_proven_for_every_hit_and_nothing_is_found_for_the_control_question(bundle: Path) -> None:
    cases = audited(bundle)["cases"]
    customer = cases["customer"]
    assert customer["original_identity"] == "passed"
    assert customer["proven_hits"] == customer["hits"] > 1
    assert customer["used_citations"] == 1
    assert cases["unrelated"] == {"hits": 0, "no_support_shape": True, "structural_status": "passed"}


TAMPERINGS: dict[str, tuple[str, Change, str]] = {
    "another key": ("audit", put("cache_key", value=OTHER_DIGEST), ProofFailure.CACHE_KEY_MISMATCH),
    "another run": ("audit", put("run_dag_root", value=OTHER_DIGEST), ProofFailure.RUN_ROOT_MISMATCH),
    "another verdict": (
        "customer",
        put("run_dag", "nodes", -1, "payload", "audit_mode", value="HYBRID"),
        ProofFailure.RUN_ROOT_MISMATCH,
    ),
    "a wider plan": ("customer", put("plan", "top_k", value=9), ProofFailure.PLAN_DIGEST_MISMATCH),
    "a better score": (
        "customer",
        put("result", "sources_summary", 0, "score", value="99.0"),
        ProofFailure.RESULT_DIGEST_MISMATCH,
    ),
    "another context": (
        "customer",
        put("result", "context_root", value=OTHER_DIGEST),
        ProofFailure.RESULT_DIGEST_MISMATCH,
    ),
    "another text": ("customer", put("hits", 0, "text", value="x"), ProofFailure.INCLUSION_PROOF_INVALID),
    "another place": ("customer", put("hits", 0, "chunk_index", value=5), ProofFailure.INCLUSION_PROOF_INVALID),
    "a broken path": ("customer", put("hits", 0, "inclusion", value=[]), ProofFailure.INCLUSION_PROOF_INVALID),
    "an unknown document": (
        "customer",
        put("hits", 0, "document_root", value=OTHER_DIGEST),
        ProofFailure.INCLUSION_PROOF_INVALID,
    ),
    "another uri": (
        "customer",
        put("documents", 0, "header", "uri", value="bridges/else"),
        ProofFailure.INCLUSION_PROOF_INVALID,
    ),
    "an unknown shard": (
        "customer",
        put("documents", 0, "shard", value="land-999"),
        ProofFailure.DOCUMENT_ROOT_NOT_IN_SNAPSHOT,
    ),
    "another place in the shard": (
        "customer",
        put("documents", 0, "index", value=99),
        ProofFailure.DOCUMENT_ROOT_NOT_IN_SNAPSHOT,
    ),
    "no proofs": ("customer", put("documents", value=[]), ProofFailure.INCLUSION_PROOF_INVALID),
    "a lost hit": ("customer", lambda it: it["hits"].pop(), Failure.RESPONSE_INVALID),
    "a lost member": ("customer", lambda it: it.pop("plan"), Failure.RESPONSE_INVALID),
    "no object": ("customer", put("plan", value=[]), Failure.RESPONSE_INVALID),
    "a number that no digest takes": ("customer", put("plan", "top_k", value=2**60), Failure.RESPONSE_INVALID),
    "answered before": (
        "customer",
        put("captured_at", value="2001-01-01T00:00:00Z"),
        Failure.RESPONSE_OUTSIDE_WINDOW,
    ),
    "no time": ("unrelated", put("captured_at", value="yesterday"), Failure.TIMESTAMP_INVALID),
    "an easier control": ("unrelated", put("question", value="regatta"), Failure.QUESTION_BASIS_INVALID),
    "a narrower control": ("unrelated", put("plan", "over_fetch", value=1), Failure.REQUEST_NOT_EXACT),
    "support for the control": (
        "unrelated",
        put("result", "sources_summary", value=[{"document_root": OTHER_DIGEST, "leaf_hash": OTHER_DIGEST}]),
        Failure.UNRELATED_SUPPORT_PRESENT,
    ),
    "a context for the control": (
        "unrelated",
        put("result", "context_root", value=OTHER_DIGEST),
        ProofFailure.RESULT_DIGEST_MISMATCH,
    ),
    "another index": ("after", put("index_versions", value=["fts4"]), Failure.SNAPSHOT_CHANGED),
    "another ranking": ("after", put("ranking_policy_hash", value=OTHER_DIGEST), Failure.SNAPSHOT_CHANGED),
    "a root that does not follow": ("before", put("snapshot_root", value=OTHER_DIGEST), Failure.SNAPSHOT_INVALID),
    "after before before": ("after", put("captured_at", value="2001-01-01T00:00:00Z"), Failure.TIME_ORDER_INVALID),
    "a snapshot to come": ("after", put("captured_at", value="2999-01-01T00:00:00Z"), Failure.TIME_ORDER_INVALID),
    "a path out": ("audit", put("before", value="../before.json"), Failure.PATH_OUTSIDE_BUNDLE),
    "one file twice": ("audit", put("after", value="before.json"), Failure.PATH_REPEATED),
    "a member too many": ("audit", put("approved", value=True), Failure.INPUT_FIELD_UNKNOWN),
    "a member too few": ("audit", lambda it: it.pop("after"), Failure.INPUT_FIELD_MISSING),
    "a key that is none": ("audit", put("cache_key", value="key"), Failure.INPUT_FIELD_INVALID),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_changed_bundle_is_blocked_by_the_code_of_the_change(bundle: Path, name: str) -> None:
    file, change, code = TAMPERINGS[name]
    tamper(bundle, file, change)
    report = audited(bundle)
    assert (report["status"], report["structural_status"]) == ("blocked", "failed")
    assert code in [finding["code"] for finding in report["findings"]]
    assert report["overall_pass"] is False


def test_every_code_of_a_proof_is_reached_by_tampering() -> None:
    assert set(ProofFailure) <= {code for _, _, code in TAMPERINGS.values()}


def test_a_proof_that_fails_takes_identity_with_it(bundle: Path) -> None:
    tamper(bundle, "customer", put("documents", 0, "header", "uri", value="bridges/else"))
    customer = audited(bundle)["cases"]["customer"]
    assert customer["original_identity"] == "failed"
    assert customer["proven_hits"] < customer["hits"]


def test_snapshots_of_other_shards_are_not_the_plans(bundle: Path) -> None:
    """Even where they are equal to each other, and their root follows."""
    for name in ("before", "after"):
        shards = json.loads((bundle / f"{name}.json").read_text(encoding="utf-8"))["shards"][:1]
        tamper(bundle, name, put("shards", value=shards))
        tamper(bundle, name, put("snapshot_root", value=snapshot_root(shards)))
    codes = [finding["code"] for finding in audited(bundle)["findings"]]
    assert Failure.SNAPSHOT_TARGET_MISMATCH in codes
    assert ProofFailure.DOCUMENT_ROOT_NOT_IN_SNAPSHOT in codes


def places(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every member of a document."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, member in members:
        yield (*steps, step)
        yield from places(member, (*steps, step))


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_change_anywhere_but_to_a_time_is_blocked_and_never_an_accident(
    bundle: Path, data: st.DataObject
) -> None:
    file = data.draw(st.sampled_from(FILES))
    kept = (bundle / file).read_bytes()
    document = json.loads(kept)
    steps = data.draw(st.sampled_from([way for way in places(document) if way[-1] != "captured_at"]))
    value = data.draw(st.sampled_from([None, True, -1, 2**60, 0.5, "", "x", OTHER_DIGEST, [], {}, [[]], "\ud800"]))
    held = document
    for step in steps:
        held = held[step]
    assume(held != value)
    put(*steps, value=value)(document)
    (bundle / file).write_text(json.dumps(document), encoding="utf-8")
    report = verify_record_bundle(json.loads((bundle / "audit.json").read_text()), bundle)
    (bundle / file).write_bytes(kept)
    assert report["status"] == "blocked", steps
    assert Failure.INTERNAL_ERROR not in [finding["code"] for finding in report["findings"]], steps


def test_a_citation_of_what_was_not_found_is_unresolved(bundle: Path) -> None:
    tamper(bundle, "customer", put("run_dag", "nodes", -2, "payload", "claims", 0, "citations", value=[99]))
    assert Failure.CITATION_UNRESOLVED in [finding["code"] for finding in audited(bundle)["findings"]]


@pytest.mark.parametrize("file", sorted(set(FILES) - {"audit.json"}))
def test_a_missing_file_or_one_that_is_no_json_is_a_finding(bundle: Path, file: str) -> None:
    document = json.loads((bundle / "audit.json").read_text(encoding="utf-8"))
    (bundle / file).write_text("{", encoding="utf-8")
    broken = verify_record_bundle(document, bundle)
    (bundle / file).unlink()
    missing = verify_record_bundle(document, bundle)
    assert broken["first_failure"]["code"] == Failure.JSON_INVALID
    assert missing["first_failure"]["code"] == Failure.FILE_MISSING


def test_the_report_holds_nothing_of_question_answer_or_evidence(bundle: Path) -> None:
    for name in TAMPERINGS:
        file, change, _ = TAMPERINGS[name]
        tampered = Path(shutil.copytree(bundle, bundle.parent / name.replace(" ", "-")))
        tamper(tampered, file, change)
        told = json.dumps([audited(bundle), audited(tampered)])
        for word in ("Alder", "1932", "bridges/", "Lowfield", "regatta", "yesterday"):
            assert word not in told


def test_a_root_does_not_age(bundle: Path) -> None:
    document = json.loads((bundle / "audit.json").read_text(encoding="utf-8"))
    report = verify_record_bundle(document, bundle, now=datetime(2999, 1, 1, tzinfo=UTC))
    assert report["structural_status"] == "passed"


def test_the_kind_of_a_bundle_decides_who_audits_it(bundle: Path, tmp_path: Path) -> None:
    hosted = file_bundle().write(tmp_path / "hosted")
    assert is_record_bundle(bundle / "audit.json") and not is_record_bundle(hosted)
    assert audited(bundle)["outcome"] == "record-retrieval-audit"
    assert verify_bundle_file(hosted)["outcome"] == "retained-retrieval-audit"
    assert verify_bundle_file(tmp_path / "nowhere.json")["first_failure"]["code"] == Failure.FILE_MISSING


def test_an_answer_without_evidence_is_blocked_for_want_of_grounding(home: AnswersHome) -> None:
    record = home.ask("Who won the regatta?").record
    assert record.audit_mode == "UNGROUNDED"
    report = verify_bundle_file(
        write_retrieval_bundle(home.workspace, record, bundle_folder(home.workspace, record))
    )
    assert [finding["code"] for finding in report["findings"]] == [Failure.CUSTOMER_GROUNDING_MISSING]
