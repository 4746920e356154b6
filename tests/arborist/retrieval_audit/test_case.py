"""One response under audit: its counts, what ends the reading, and bodies as the service was seen to send."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arborist.retrieval_audit import verify_file
from tests.arborist.retrieval_audit.bundles import (
    Bundle,
    Change,
    both,
    both_drop,
    content,
    drop,
    file_bundle,
    messages_request,
    preview_blob_bundle,
    put,
    rows,
    synthesis_bundle,
    text,
    together,
)

BODY = "customer/response_body"


def audited(bundle: Bundle, directory: Path, *changes: Change) -> dict[str, Any]:
    together(*changes)(bundle)
    return verify_file(bundle.write(directory / "bundle"), now=bundle.now)


def test_the_cases_of_a_clean_file_bundle(tmp_path: Path) -> None:
    cases = audited(file_bundle(), tmp_path)["cases"]
    assert cases["customer"] == {
        "http_status": 200,
        "structural_status": "unverified",
        "response_blocks": 1,
        "extracts": 1,
        "references": 1,
        "used_citations": 1,
        "no_support_shape": False,
        "original_path_matches": 1,
        "declared_identity_value_matches": 0,
        "original_identity": "unverified",
        "original_identity_requirement": "fileId",
    }
    assert cases["unrelated"] == cases["customer"] | {
        "structural_status": "passed",
        "extracts": 0,
        "references": 0,
        "used_citations": 0,
        "no_support_shape": True,
        "original_path_matches": 0,
    }


def test_a_synthesis_has_no_extracts_and_no_shape_that_shows_abstention(tmp_path: Path) -> None:
    cases = audited(synthesis_bundle(), tmp_path)["cases"]
    assert cases["customer"]["extracts"] is None
    assert cases["customer"]["used_citations"] == 1
    assert cases["unrelated"]["no_support_shape"] == "semantic-review-required"


def test_missing_blocks_are_not_the_shape_of_no_support(tmp_path: Path) -> None:
    report = audited(file_bundle(), tmp_path, put("unrelated/response_body/response", []))
    assert report["cases"]["unrelated"]["no_support_shape"] is False


@pytest.mark.parametrize(
    "change",
    [
        rows("unrelated", {"ref_id": 0, "content": "x"}),
        put(
            "unrelated/response_body/references",
            [file_bundle().documents["customer"]["response_body"]["references"][0]],
        ),
    ],
)
def test_a_row_or_a_reference_alone_is_not_the_shape_of_no_support(change: Change, tmp_path: Path) -> None:
    assert audited(file_bundle(), tmp_path, change)["cases"]["unrelated"]["no_support_shape"] is False


def test_text_that_cannot_be_read_is_not_the_shape_of_no_support(tmp_path: Path) -> None:
    report = audited(file_bundle(), tmp_path, text("unrelated", "[}"))
    assert report["cases"]["unrelated"]["no_support_shape"] is False


def test_a_declared_value_is_counted_and_upgrades_nothing(tmp_path: Path) -> None:
    report = audited(
        file_bundle(),
        tmp_path,
        put("audit/expected_source/identity_field", "original"),
        put(f"{BODY}/references/0/sourceData", {"original": "file-123"}),
    )
    assert report["cases"]["customer"]["declared_identity_value_matches"] == 1
    assert report["cases"]["customer"]["original_identity"] == "unverified"
    assert report["structural_status"] == "unverified"


def test_a_problem_inside_one_case_leaves_the_other_to_be_read(tmp_path: Path) -> None:
    report = audited(
        file_bundle(), tmp_path, content("customer", lambda _: b"{"), put("unrelated/response_body/activity", [])
    )
    assert [entry["code"] for entry in report["findings"]] == ["json-invalid", "activity-missing"]
    assert list(report["cases"]) == ["unrelated"]


@pytest.mark.parametrize(
    "change", [put("customer/http_status", "200"), put("customer/status", None), drop("customer/http_status")]
)
def test_a_case_without_an_http_status_is_absent(change: Change, tmp_path: Path) -> None:
    assert list(audited(file_bundle(), tmp_path, change)["cases"]) == ["unrelated"]


@pytest.mark.parametrize("http_status", [100, 201, 206, 599])
def test_any_other_http_status_is_failed_and_shown(http_status: int, tmp_path: Path) -> None:
    report = audited(file_bundle(), tmp_path, put("customer/http_status", http_status))
    assert report["first_failure"] == {
        "code": "http-status-not-200",
        "at": "/customer/response/http_status",
        "status": "failed",
    }
    assert report["cases"]["customer"]["http_status"] == http_status


def test_the_body_of_a_refused_request_is_searched_for_its_error(tmp_path: Path) -> None:
    report = audited(
        file_bundle(),
        tmp_path,
        put("customer/http_status", 403),
        put(f"{BODY}/error", {"code": "Forbidden"}),
    )
    assert report["first_error"]["at"] == "/customer/response/response_body/error"
    assert report["cases"]["customer"]["http_status"] == 403


def test_an_error_is_located_behind_a_malformed_activity(tmp_path: Path) -> None:
    report = audited(
        file_bundle(), tmp_path, put(f"{BODY}/activity/0", "x"), put(f"{BODY}/activity/1/error", {"code": "x"})
    )
    assert report["first_error"]["at"] == "/customer/response/response_body/activity/1/error"
    assert {entry["code"] for entry in report["findings"]} == {"activity-error", "activity-invalid"}


def test_a_blocked_envelope_has_its_blocker_among_the_diagnostics(tmp_path: Path) -> None:
    report = audited(
        file_bundle(), tmp_path, put("customer/status", "blocked"), put("customer/first_blocker", {"code": "x"})
    )
    assert report["first_error"]["at"] == "/customer/response/first_blocker"
    assert report["error_count"] == 1


@pytest.mark.parametrize(
    "change",
    [
        put(f"{BODY}/response/0", "Run setup."),
        put(f"{BODY}/response/0/content", None),
        put(f"{BODY}/response/0/content/0", "Run setup."),
        put(f"{BODY}/response/0/content/0/text", ["Run setup."]),
        drop(f"{BODY}/response/0/content/0/text"),
    ],
)
def test_a_message_of_another_shape_is_named(change: Change, tmp_path: Path) -> None:
    assert audited(file_bundle(), tmp_path, change)["first_failure"]["code"] == "response-invalid"


@pytest.mark.parametrize("change", [put("customer", []), put("customer", "x")])
def test_an_envelope_is_an_object(change: Change, tmp_path: Path) -> None:
    assert audited(file_bundle(), tmp_path, change)["first_failure"]["code"] == "envelope-invalid"


@pytest.mark.parametrize("value", [7, "x", []])
def test_source_data_is_an_object_or_nothing(value: Any, tmp_path: Path) -> None:
    report = audited(file_bundle(), tmp_path, put(f"{BODY}/references/0/sourceData", value))
    assert report["first_failure"]["code"] == "reference-invalid"


def test_more_than_a_thousand_rows_in_all_blocks_are_refused(tmp_path: Path) -> None:
    many = [json.dumps([{"ref_id": f"{block}-{row}", "a": "x"} for row in range(501)]) for block in (0, 1)]
    report = audited(
        file_bundle(),
        tmp_path,
        text("customer", many[0]),
        put(f"{BODY}/response/0/content/-", {"type": "text", "text": many[1]}),
    )
    assert report["first_failure"]["code"] == "citation-count-exceeded"


def test_a_marker_inside_a_marker_is_malformed(tmp_path: Path) -> None:
    report = audited(synthesis_bundle(), tmp_path, text("customer", "Run [ref_id:0[ref_id:0]"))
    assert report["first_failure"]["code"] == "citation-marker-malformed"


def recorded(steps: list[str], sources: list[int], answer: str) -> Change:
    """A body as the service sent it in December 2025: several searches, all references to one blob."""
    activity = [
        {"type": kind, "id": index}
        | ({"knowledgeSourceName": "manuals", "count": 3} if kind == "azureBlob" else {})
        for index, kind in enumerate(steps)
    ]
    url = "https://acct.blob.example/docs/install%20guide.md"
    references = [
        {
            "type": "azureBlob",
            "id": str(index),
            "activitySource": source,
            "sourceData": None,
            "rerankerScore": 2.7,
            "blobUrl": url,
        }
        for index, source in enumerate(sources)
    ]
    body = {
        "response": [{"content": [{"type": "text", "text": answer}]}],
        "activity": activity,
        "references": references,
    }
    return put(BODY, body)


SEARCHES = ["modelQueryPlanning", *["azureBlob"] * 5, "modelQueryPlanning", *["azureBlob"] * 2, "agenticReasoning"]


def medium_blob_bundle() -> Bundle:
    bundle = preview_blob_bundle()
    both("knowledge_base/retrievalReasoningEffort", {"kind": "medium"})(bundle)
    both("knowledge_base/models", [{"kind": "azureOpenAI"}])(bundle)
    for name in ("customer", "unrelated"):
        case = bundle.documents["audit"][name]
        case["request"] = messages_request(case["query"])
    return bundle


def synthesized() -> Bundle:
    bundle = medium_blob_bundle()
    both("knowledge_base/outputMode", "answerSynthesis")(bundle)
    return bundle


@pytest.mark.parametrize(
    ("base", "change", "counts"),
    [
        pytest.param(
            medium_blob_bundle,
            recorded(SEARCHES, [1, 4, 5], json.dumps([{"ref_id": index, "content": "x"} for index in range(3)])),
            {"extracts": 3, "used_citations": 3},
            id="extracts with integer ids",
        ),
        pytest.param(
            synthesized,
            recorded([*SEARCHES, "modelAnswerSynthesis"], [1, 4, 5], "A [ref_id:1]. B [ref_id:1]. C [ref_id:1]."),
            {"extracts": None, "used_citations": 3},
            id="synthesis that cites one reference three times",
        ),
    ],
)
def test_bodies_in_the_recorded_shape_are_unverified(
    base: Callable[[], Bundle], change: Change, counts: dict[str, Any], tmp_path: Path
) -> None:
    report = audited(base(), tmp_path, change)
    customer = report["cases"]["customer"]
    assert report["structural_status"] == "unverified"
    assert customer["original_path_matches"] == customer["references"] == 3
    assert {name: customer[name] for name in counts} == counts


def test_a_recorded_synthesis_that_found_nothing_still_has_references(tmp_path: Path) -> None:
    bundle = synthesized()
    recorded([*SEARCHES, "modelAnswerSynthesis"], [3, 3, 3], "Nothing was found.")(bundle)
    bundle.documents["unrelated"] = bundle.documents["customer"]
    together(
        put("customer", json.loads(json.dumps(bundle.documents["customer"]))), text("customer", "A [ref_id:0].")
    )(bundle)
    report = audited(bundle, tmp_path)
    unrelated = report["cases"]["unrelated"]
    assert (report["structural_status"], unrelated["used_citations"], unrelated["references"]) == (
        "unverified",
        0,
        3,
    )


def test_rows_of_both_questions_are_told_apart(tmp_path: Path) -> None:
    report = audited(file_bundle(), tmp_path, rows("unrelated", {"ref_id": 0, "content": "x"}))
    assert [entry for entry in report["findings"] if entry["status"] == "failed"] == [
        {
            "code": "citation-unresolved",
            "at": "/unrelated/response/response_body/response/0/content/0/text/0",
            "status": "failed",
        },
        {
            "code": "unrelated-support-present",
            "at": "/unrelated/response/response_body/response",
            "status": "failed",
        },
    ]


def test_general_availability_needs_no_null_for_what_it_lacks(tmp_path: Path) -> None:
    report = audited(
        preview_blob_bundle(),
        tmp_path,
        put("audit/api_version", "2026-04-01"),
        both("api_version", "2026-04-01"),
        both_drop("knowledge_base/outputMode"),
        both_drop("knowledge_base/retrievalReasoningEffort"),
        both_drop("knowledge_source/azureBlobParameters/isADLSGen2"),
    )
    assert report["structural_status"] == "unverified"
