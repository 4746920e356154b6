"""The table of `retained-retrieval-audit.md` section 16: a base bundle, one change, what the audit says of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from arborist.retrieval_audit import exit_code, verify_file
from tests.arborist.retrieval_audit.bundles import (
    START,
    Bundle,
    Change,
    at_time,
    blob_bundle,
    both,
    both_drop,
    content,
    drop,
    file_bundle,
    intents_request,
    messages_request,
    on_disk,
    padded,
    preview_blob_bundle,
    put,
    rows,
    synthesis_bundle,
    text,
    together,
)

F, B, S, P = file_bundle, blob_bundle, synthesis_bundle, preview_blob_bundle
MIB = 1_048_576
IDENTITY = "original-identity-not-in-native-citation"
BODY = "customer/response_body"
REFERENCE = f"{BODY}/references/0"
ACTIVITY = f"{BODY}/activity/0"
QUERY = "What are the installation steps?"


@dataclass(frozen=True)
class Row:
    """Each variant of the change gives the same outcome; `code` is among the findings, `absent` is not."""

    name: str
    base: Callable[[], Bundle]
    variants: tuple[Change, ...]
    blocks: bool
    code: str
    at: str | None = None
    absent: str | None = None


def unverified(
    name: str,
    base: Callable[[], Bundle],
    *variants: Change,
    code: str = IDENTITY,
    at: str | None = None,
    absent: str = "",
) -> Row:
    return Row(name, base, variants, False, code, at, absent or None)


def failed(
    name: str, base: Callable[[], Bundle], *variants: Change, code: str, at: str | None = None, absent: str = ""
) -> Row:
    return Row(name, base, variants, True, code, at, absent or None)


def nothing(_bundle: Bundle) -> None:
    """The base as it is."""


def nested(levels: int) -> Any:
    """Arrays inside arrays, `levels` of them."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def repeated_key(data: bytes) -> bytes:
    return data.replace(b'"path"', b'"path": "x", "path"', 1)


def linked(name: str) -> Change:
    """Put a link to the moved file in its place."""

    def edit(directory: Path) -> None:
        (directory / name).rename(directory / f"real-{name}")
        (directory / name).symlink_to(f"real-{name}")

    return on_disk(edit)


def moved_below(directory: Path) -> None:
    (directory / "ev").mkdir()
    (directory / "before.json").rename(directory / "ev" / "before.json")


def linked_outside(directory: Path) -> None:
    outside = directory.parent / "outside"
    outside.mkdir()
    (directory / "before.json").rename(outside / "before.json")
    (directory / "ev").symlink_to(outside)


def named(path: Any) -> Change:
    """Name another file as the snapshot before."""
    return put("audit/before", path)


def warned(*entries: Any) -> Change:
    """Replace the customer's activity by entries of the selected source, each with a warning."""
    activity = [
        {
            "type": "file",
            "id": index,
            "knowledgeSourceName": "manuals",
            "warning": f"{index} documents were dropped",
        }
        for index in range(60)
    ]
    return put(f"{BODY}/activity", [*activity, *entries])


def error_after_warnings() -> Change:
    return warned({"type": "file", "id": 60, "knowledgeSourceName": "manuals", "error": {"code": "Timeout"}})


def all_captured_at(moment: str) -> Change:
    return together(
        both("captured_at", moment),
        put("audit/customer/captured_at", moment),
        put("audit/unrelated/captured_at", moment),
    )


def declared(value: Any) -> Change:
    """An identity field, and what the reference's `sourceData` holds."""
    return together(put("audit/expected_source/identity_field", "original"), put(f"{REFERENCE}/sourceData", value))


def general_availability() -> Change:
    return together(
        put("audit/api_version", "2026-04-01"),
        both("api_version", "2026-04-01"),
        both_drop("knowledge_base/outputMode"),
        both_drop("knowledge_base/retrievalReasoningEffort"),
    )


def intents_for_both() -> Change:
    return together(
        put("audit/customer/request", intents_request(QUERY)),
        put("audit/unrelated/request", intents_request("What is the population of Neptune?")),
    )


def block(**members: Any) -> Change:
    """Append a content block to the customer's first message."""
    return put(f"{BODY}/response/0/content/-", members)


ROW = {"ref_id": 0, "content": "Run setup."}
UNRELATED_REFERENCE = {
    "type": "file",
    "id": "0",
    "activitySource": 0,
    "sourceData": None,
    "docName": "manuals/install.md",
}

BASELINES_AND_INPUT = [
    unverified("T001", F, nothing, at="/customer/response/response_body/references/0"),
    unverified("T002", B, nothing),
    unverified(
        "T003", S, nothing, code="unrelated-abstention-unproven", at="/unrelated/response/response_body/response"
    ),
    unverified("T004", P, nothing),
    unverified("T005", P, both("knowledge_source/azureBlobParameters/isADLSGen2", True)),
    unverified(
        "T006",
        S,
        together(both("knowledge_base/retrievalReasoningEffort/kind", "minimal"), intents_for_both()),
        code="unrelated-abstention-unproven",
    ),
    unverified(
        "T007",
        S,
        both("knowledge_base/retrievalReasoningEffort/kind", "medium"),
        code="unrelated-abstention-unproven",
    ),
    failed("T008", F, content("audit", lambda _: b'{"schema_version":'), code="json-invalid", at="/input"),
    failed("T009", F, content("audit", repeated_key), code="json-duplicate-key", at="/input"),
    failed("T010", F, content("audit", lambda data: b"\xef\xbb\xbf" + data), code="json-invalid", at="/input"),
    failed(
        "T011",
        F,
        content("audit", lambda data: data.replace(b"manuals", b"\xff", 1)),
        code="text-not-utf8",
        at="/input",
    ),
    unverified("T012", F, padded("audit", MIB)),
    failed("T013", F, padded("audit", MIB + 1), code="file-too-large", at="/input"),
    failed("T014", F, content("audit", lambda _: b"[]"), code="input-not-object", at="/input"),
    failed("T015", F, linked("audit.json"), code="path-link", at="/input"),
    failed("T016", F, on_disk(lambda d: (d / "audit.json").unlink()), code="file-missing", at="/input"),
    failed("T017", F, put("audit/notes", "x"), code="input-field-unknown", at="/input"),
    failed(
        "T018", F, put("audit/customer/expected_answer", "x"), code="input-field-unknown", at="/input/customer"
    ),
    failed("T019", F, drop("audit/after"), code="input-field-missing", at="/input/after"),
    failed(
        "T020",
        F,
        put("audit/schema_version", "1.1"),
        put("audit/schema_version", 1.0),
        code="schema-version-unsupported",
    ),
    failed("T021", F, put("audit/api_version", "2025-11-01-preview"), code="api-version-unsupported"),
    failed("T022", F, put("audit/source_kind", "searchIndex"), code="source-kind-unsupported"),
    failed("T023", F, put("audit/endpoint", "  "), code="input-field-invalid", at="/input/endpoint"),
    failed(
        "T024",
        F,
        drop("audit/expected_source/file_id"),
        code="input-field-missing",
        at="/input/expected_source/file_id",
    ),
    failed(
        "T025", F, put("audit/expected_source/etag", "x"), code="input-field-unknown", at="/input/expected_source"
    ),
    failed(
        "T026",
        F,
        put("audit/expected_source/identity_field", "docKey"),
        put("audit/expected_source/identity_field", "DOCKEY"),
        put("audit/expected_source/identity_field", "citationUrl"),
        put("audit/expected_source/identity_field", "uid"),
        code="identity-field-forbidden",
    ),
    failed("T027", F, put("audit/expected_source/identity_field", "id"), code="identity-field-forbidden"),
    failed("T028", F, put("audit/customer/approved", False), code="question-not-approved"),
    failed("T029", F, put("audit/customer/approved", 1), code="question-not-approved"),
    failed(
        "T030",
        F,
        put("audit/customer/basis", "unrelated"),
        code="question-basis-invalid",
        at="/input/customer/basis",
    ),
    failed(
        "T031",
        F,
        put("audit/unrelated/basis", "content"),
        code="question-basis-invalid",
        at="/input/unrelated/basis",
    ),
    unverified("T032", F, put("audit/customer/basis", "title")),
    failed(
        "T033",
        F,
        together(put("audit/unrelated/query", QUERY), put("audit/unrelated/request", intents_request(QUERY))),
        code="questions-not-distinct",
    ),
]

FILES = [
    failed("T034", F, named("https://x.test/before.json"), code="path-uri-or-network", at="/input/before"),
    failed("T035", F, named("file:///bundle/before.json"), code="path-uri-or-network", at="/input/before"),
    failed("T036", F, named("C:\\b\\before.json"), code="path-uri-or-network", at="/input/before"),
    failed("T037", F, named("C:before.json"), code="path-uri-or-network", at="/input/before"),
    failed("T038", F, named("\\\\srv\\share\\before.json"), code="path-uri-or-network", at="/input/before"),
    failed(
        "T039",
        F,
        named("//srv/share/before.json"),
        named("\\/srv/share/before.json"),
        code="path-uri-or-network",
        at="/input/before",
    ),
    failed("T040", F, named("  https://x.test/b.json"), code="path-uri-or-network", at="/input/before"),
    failed("T041", F, named("/etc/hostname"), code="path-outside-bundle", at="/input/before"),
    failed("T042", F, named("../before.json"), code="path-outside-bundle", at="/input/before"),
    failed("T043", F, named("sub/../before.json"), code="path-outside-bundle", at="/input/before"),
    failed("T044", F, named("sub\\before.json"), code="path-outside-bundle", at="/input/before"),
    failed("T045", F, named(""), named(7), named(None), named([]), code="path-invalid", at="/input/before"),
    failed("T046", F, named("be\0fore.json"), code="path-invalid", at="/input/before"),
    unverified("T047", F, together(named("ev/before.json"), on_disk(moved_below))),
    failed("T048", F, linked("before.json"), code="path-link", at="/input/before"),
    failed(
        "T049",
        F,
        together(named("ev/before.json"), on_disk(linked_outside)),
        code="path-link",
        at="/input/before",
    ),
    failed(
        "T050",
        F,
        together(named("ev"), on_disk(lambda d: (d / "ev").mkdir())),
        code="file-not-regular",
        at="/before",
    ),
    failed("T051", F, put("audit/customer/response", "no.json"), code="file-missing", at="/customer/response"),
    unverified("T052", F, both("knowledge_base/extra", nested(46))),
    failed("T053", F, both("knowledge_base/extra", nested(47)), code="json-too-deep", at="/before"),
    unverified("T054", F, both("knowledge_base/extra", [0] * 1_000)),
    failed("T055", F, both("knowledge_base/extra", [0] * 1_001), code="json-array-too-long", at="/before"),
    failed("T056", F, put("before/knowledge_base/extra", float("nan")), code="json-number-invalid", at="/before"),
    failed(
        "T057",
        F,
        content("before", lambda data: data.replace(b'"chunks": 1', b'"chunks": 1e999')),
        code="json-number-invalid",
        at="/before",
    ),
    failed("T058", F, padded("before", MIB + 1), code="file-too-large", at="/before"),
    unverified("T059", F, padded("customer", 2 * MIB)),
    failed("T060", F, padded("customer", 5 * MIB + 1), code="file-too-large", at="/customer/response"),
    failed(
        "T061",
        F,
        content("customer", lambda data: data[: len(data) // 2]),
        code="json-invalid",
        at="/customer/response",
    ),
]

SNAPSHOTS = [
    failed("T062", F, put("before/note", "x"), code="snapshot-field-unknown", at="/before"),
    failed("T063", F, drop("before/original"), code="snapshot-invalid", at="/before"),
    failed(
        "T064",
        F,
        put("after/endpoint", "https://svc.search.example/"),
        code="snapshot-target-mismatch",
        at="/after",
    ),
    failed("T065", F, put("before/api_version", "2026-04-01"), code="snapshot-target-mismatch", at="/before"),
    failed(
        "T066",
        F,
        put("before/knowledge_source/kind", "azureBlob"),
        code="snapshot-resource-mismatch",
        at="/before",
    ),
    failed(
        "T067",
        F,
        drop("before/knowledge_base/@odata.etag"),
        code="snapshot-definition-incomplete",
        at="/before/knowledge_base",
    ),
    failed(
        "T068",
        F,
        drop("before/knowledge_source/fileParameters/ingestionParameters"),
        code="snapshot-definition-incomplete",
        at="/before/knowledge_source",
    ),
    failed(
        "T069",
        B,
        drop("before/knowledge_source/azureBlobParameters/containerName"),
        code="snapshot-definition-incomplete",
        at="/before/knowledge_source",
    ),
    failed(
        "T070", F, both("knowledge_base/knowledgeSources/-", {"name": "other"}), code="snapshot-source-selection"
    ),
    failed(
        "T071",
        F,
        both("knowledge_base/knowledgeSources", [{"name": "manuals", "enableImageServing": None}]),
        code="snapshot-source-selection",
    ),
    failed(
        "T072",
        F,
        put("after/knowledge_base/@odata.etag", '"0x9"'),
        code="snapshot-changed",
        at="/after/knowledge_base",
    ),
    failed("T073", F, put("after/original/fileSizeBytes", 9), code="snapshot-changed", at="/after/original"),
    failed(
        "T074",
        F,
        put("after/knowledge_source/fileParameters/ingestionParameters/chunks", True),
        code="snapshot-changed",
        at="/after/knowledge_source",
    ),
    failed(
        "T075",
        S,
        put("after/knowledge_base/models/0/azureOpenAIParameters", {}),
        code="snapshot-changed",
        at="/after/knowledge_base",
    ),
    failed("T076", F, both("original/fileName", "manuals/Install.md"), code="original-record-mismatch"),
    failed("T077", F, both("original/fileId", "file-124"), code="original-record-mismatch"),
    failed("T078", F, both("original/errorMessage", "no"), code="original-record-unsuccessful"),
    failed("T079", F, both_drop("original/errorMessage"), code="original-record-unsuccessful"),
    failed("T080", F, both("original/lastUpdatedAt", "2026-09-14T12:00:01Z"), code="original-newer-than-snapshot"),
    failed("T081", B, both("original/etag", '"0x0"'), code="original-record-mismatch"),
]

TIMES_AND_MODES = [
    failed(
        "T082",
        F,
        put("before/captured_at", "2026-09-14T12:00:00"),
        code="timestamp-invalid",
        at="/before/captured_at",
    ),
    failed("T083", F, put("before/captured_at", "2026-09-14"), code="timestamp-invalid", at="/before/captured_at"),
    unverified("T084", F, put("before/captured_at", "2026-09-14T12:00:00.1234567Z")),
    unverified("T085", F, put("before/captured_at", "2026-09-14T14:00:00+02:00")),
    failed("T086", F, put("before/captured_at", "2026-09-14T12:04:00Z"), code="time-order-invalid"),
    failed("T087", F, put("after/captured_at", "2026-09-14T12:05:01Z"), code="time-order-invalid"),
    unverified("T088", F, at_time(START + timedelta(hours=1))),
    failed("T089", F, at_time(START + timedelta(hours=1, microseconds=1)), code="evidence-stale"),
    failed(
        "T090",
        F,
        put("audit/customer/captured_at", "2026-09-14T11:59:59Z"),
        code="response-outside-window",
        at="/input/customer/captured_at",
    ),
    failed(
        "T091",
        F,
        put("audit/unrelated/captured_at", "2026-09-14T12:03:01Z"),
        code="response-outside-window",
        at="/input/unrelated/captured_at",
    ),
    unverified("T092", F, all_captured_at("2026-09-14T12:05:00Z")),
    failed(
        "T093",
        B,
        both("knowledge_base/outputMode", None),
        both("knowledge_base/outputMode", "extractiveData"),
        code="ga-fields-unexpected",
    ),
    failed(
        "T094",
        B,
        both("knowledge_source/azureBlobParameters/isADLSGen2", True),
        both("knowledge_source/azureBlobParameters/isADLSGen2", 0),
        code="ga-source-unsupported",
    ),
    failed("T095", F, general_availability(), code="ga-source-unsupported"),
    failed("T096", F, both("knowledge_base/outputMode", None), code="mode-unsupported"),
    failed("T097", F, both("knowledge_base/retrievalReasoningEffort/kind", "auto"), code="mode-unsupported"),
    failed("T098", F, both("knowledge_base/retrievalReasoningEffort", None), code="mode-unsupported"),
    failed("T099", S, both("knowledge_base/models", []), code="models-missing"),
    unverified("T100", F, both("knowledge_base/models", [])),
    failed(
        "T101",
        F,
        put("audit/customer/request/knowledgeSourceParams", []),
        code="request-not-exact",
        at="/input/customer/request",
    ),
    failed(
        "T102",
        F,
        put("audit/customer/request/retrievalReasoningEffort", {"kind": "minimal"}),
        code="request-not-exact",
    ),
    failed("T103", F, put("audit/customer/request/intents/0/search", QUERY + " "), code="request-not-exact"),
    failed("T104", F, put("audit/customer/request", messages_request(QUERY)), code="request-not-exact"),
    failed("T105", S, put("audit/customer/request", intents_request(QUERY)), code="request-not-exact"),
    failed(
        "T106",
        S,
        put("audit/customer/request/messages/-", {"role": "assistant", "content": []}),
        code="request-not-exact",
    ),
    failed(
        "T107",
        F,
        put("audit/customer/request/intents/-", {"type": "semantic", "search": QUERY}),
        code="request-not-exact",
    ),
]

ENVELOPES = [
    unverified("T108", F, together(drop("customer/status"), drop("customer/operation"))),
    failed("T109", F, put("customer/status", "completed"), code="envelope-status-unsupported"),
    failed("T110", F, put("customer/status", None), code="envelope-status-unsupported"),
    failed("T111", F, put("customer/operation", "get-knowledge-base"), code="envelope-operation-unsupported"),
    failed(
        "T112",
        F,
        together(put("customer/status", "blocked"), put("customer/first_blocker", {"code": "denied"})),
        code="envelope-blocked",
        at="/customer/response/first_blocker",
    ),
    failed(
        "T113",
        F,
        together(put("customer/status", "blocked"), put("customer/first_blocker", {})),
        code="envelope-blocked",
    ),
    failed("T114", F, put("customer/status", "blocked"), code="envelope-blocker-invalid"),
    failed(
        "T115",
        F,
        together(put("customer/status", "blocked"), put("customer/first_blocker", "x")),
        code="envelope-blocker-invalid",
    ),
    failed(
        "T116",
        F,
        put("customer/first_blocker", {}),
        put("customer/first_blocker", None),
        code="envelope-blocker-unexpected",
    ),
    failed("T117", F, put("customer/http_status", 206), code="http-status-not-200"),
    failed(
        "T118",
        F,
        together(put("customer/http_status", 429), put("customer/response_body", {"error": {"code": "429"}})),
        code="http-status-not-200",
    ),
    failed(
        "T119",
        F,
        put("customer/http_status", "200"),
        put("customer/http_status", True),
        put("customer/http_status", 99),
        put("customer/http_status", 600),
        put("customer/http_status", 200.0),
        drop("customer/http_status"),
        code="http-status-invalid",
    ),
    failed("T120", F, drop("customer/response_body"), put("customer/response_body", []), code="body-missing"),
    failed(
        "T121",
        F,
        lambda bundle: bundle.documents.update(customer=bundle.documents["customer"]["response_body"]),
        code="http-status-invalid",
    ),
]

ACTIVITIES = [
    failed(
        "T122",
        F,
        put(f"{ACTIVITY}/error", {}),
        code="activity-error",
        at="/customer/response/response_body/activity/0/error",
    ),
    failed(
        "T123",
        F,
        put("unrelated/response_body/activity/1/error", {"code": "x"}),
        code="activity-error",
        at="/unrelated/response/response_body/activity/1/error",
    ),
    unverified(
        "T124",
        F,
        together(put(f"{ACTIVITY}/error", None), put(f"{ACTIVITY}/warning", None)),
        absent="activity-warning",
    ),
    unverified("T125", F, put(f"{ACTIVITY}/warning", ""), absent="activity-warning"),
    unverified(
        "T126",
        F,
        put(f"{ACTIVITY}/warning", "6 additional documents were dropped"),
        put(f"{ACTIVITY}/warning", " "),
        code="activity-warning",
        at="/customer/response/response_body/activity/0/warning",
    ),
    failed(
        "T127",
        F,
        *(put(f"{ACTIVITY}/warning", value) for value in ([], {}, 0, False)),
        code="diagnostic-type-invalid",
    ),
    failed(
        "T128",
        F,
        *(put(f"{ACTIVITY}/error", value) for value in ("", False, [])),
        code="diagnostic-type-invalid",
    ),
    failed(
        "T129",
        F,
        put(f"{BODY}/error", {"code": "x"}),
        code="activity-error",
        at="/customer/response/response_body/error",
    ),
    failed("T130", F, drop(f"{BODY}/activity"), put(f"{BODY}/activity", {}), code="body-array-missing"),
    unverified("T131", F, put("unrelated/response_body/activity", []), code="activity-missing"),
    unverified("T132", F, drop("unrelated/response_body/activity/0"), code="source-activity-missing"),
    failed("T133", F, put(f"{ACTIVITY}/knowledgeSourceName", "other"), code="foreign-source-activity"),
    failed("T134", F, put(f"{ACTIVITY}/type", "searchIndex"), code="foreign-source-activity"),
    failed("T135", F, put(f"{BODY}/activity/-", {"type": "web", "id": 2}), code="foreign-source-activity"),
    failed(
        "T136",
        F,
        *(put(f"{ACTIVITY}/id", value) for value in ("0", True, -1, "Sanitized")),
        code="activity-id-invalid",
    ),
    failed("T137", F, put(f"{BODY}/activity/1/id", 0), code="activity-id-invalid"),
]

REFERENCES = [
    failed("T138", F, put(f"{BODY}/references/-", UNRELATED_REFERENCE), code="reference-id-duplicate"),
    failed("T139", F, put(f"{REFERENCE}/id", 0), code="reference-invalid"),
    failed(
        "T140",
        F,
        put(f"{REFERENCE}/activitySource", "0"),
        put(f"{REFERENCE}/activitySource", True),
        drop(f"{REFERENCE}/activitySource"),
        code="reference-activity-invalid",
    ),
    unverified("T141", F, put(f"{REFERENCE}/activitySource", 9), code="reference-source-unresolved"),
    unverified("T142", F, put(f"{REFERENCE}/activitySource", 1), code="reference-source-unresolved"),
    failed("T143", F, put(f"{REFERENCE}/type", "searchIndex"), code="reference-type-mismatch", absent=IDENTITY),
    failed("T144", F, put(f"{REFERENCE}/docName", "manuals/other.md"), code="original-path-mismatch"),
    failed(
        "T145",
        F,
        together(
            drop(f"{REFERENCE}/docName"),
            put(f"{REFERENCE}/docKey", "manuals/install.md"),
            put(f"{REFERENCE}/citationUrl", "manuals/install.md"),
        ),
        code="original-path-mismatch",
    ),
    failed(
        "T146",
        B,
        put(f"{REFERENCE}/blobUrl", "https://acct.blob.example/docs/install guide.md"),
        code="original-path-mismatch",
    ),
    failed("T147", B, drop(f"{REFERENCE}/blobUrl"), code="original-path-mismatch"),
    failed(
        "T148",
        F,
        put(f"{BODY}/references/-", UNRELATED_REFERENCE | {"id": "1", "docName": "manuals/other.md"}),
        code="original-path-mismatch",
        at="/customer/response/response_body/references/1",
    ),
    failed("T149", F, drop(f"{BODY}/references"), code="body-array-missing"),
    unverified("T150", F, put(f"{REFERENCE}/sourceData", {"id": "file-123"})),
    unverified(
        "T151",
        F,
        declared({"original": "file-123"}),
        code="declared-identity-unproven",
        absent="declared-identity-missing",
    ),
    unverified("T152", F, declared(None), declared({"original": None}), code="declared-identity-missing"),
    unverified("T153", F, declared({"other": "file-123"}), code="declared-identity-missing"),
    failed(
        "T154",
        F,
        declared({"original": "file-124"}),
        declared({"original": ["file-123"]}),
        declared({"original": ""}),
        code="declared-identity-mismatch",
    ),
    unverified("T155", B, declared({"original": '"0x8DE"'})),
]

ANSWERS = [
    unverified("T156", F, rows("customer", ROW | {"ref_id": "0"})),
    unverified("T157", F, rows("customer", ROW)),
    failed(
        "T158",
        F,
        *(rows("customer", ROW | {"ref_id": value}) for value in (0.0, True, None, -1)),
        rows("customer", {"content": "Run setup."}),
        code="extract-row-invalid",
    ),
    failed("T159", F, rows("customer", {"ref_id": 0}), code="extract-payload-missing"),
    failed("T160", F, rows("customer", {"ref_id": 0, "content": " ", "b": ""}), code="extract-payload-missing"),
    failed("T161", F, rows("customer", "Run setup."), code="extract-row-invalid"),
    failed("T162", F, text("customer", json.dumps(ROW)), code="extract-text-invalid"),
    failed(
        "T163",
        F,
        text("customer", "Run setup."),
        code="json-invalid",
        at="/customer/response/response_body/response/0/content/0/text",
    ),
    failed("T164", F, text("customer", '[{"ref_id": 0, "a": "x", "a": "y"}]'), code="json-duplicate-key"),
    failed("T165", F, text("customer", " \n"), code="response-content-blank"),
    failed(
        "T166",
        F,
        rows("customer", *({"ref_id": index, "a": "x"} for index in range(1_001))),
        code="json-array-too-long",
    ),
    failed("T167", F, rows("customer", ROW | {"ref_id": 7}), code="citation-unresolved"),
    failed("T168", F, block(type="text", text=json.dumps([ROW])), code="extract-id-duplicate"),
    failed(
        "T169",
        F,
        block(type="text", text="[{"),
        code="json-invalid",
        at="/customer/response/response_body/response/0/content/1/text",
    ),
    failed("T170", F, block(type="image", image={"url": "x"}), code="response-content-unsupported"),
    failed(
        "T171", F, together(rows("customer"), put(f"{BODY}/references", [])), code="customer-grounding-missing"
    ),
    failed("T172", F, put(f"{BODY}/response", []), code="customer-grounding-missing"),
    failed("T173", F, drop(f"{BODY}/response"), code="body-array-missing"),
    failed("T174", S, text("customer", "Run setup [ref_id:7]."), code="citation-unresolved"),
    failed("T175", S, text("customer", "Run setup [ref_id:]."), code="citation-marker-malformed"),
    failed("T176", S, text("customer", "Run setup [ref_id:0"), code="citation-marker-malformed"),
    failed(
        "T177",
        S,
        text("customer", "Run setup [ref_id:\n0]"),
        text("customer", "Run setup [ref_id:0\r]"),
        code="citation-marker-malformed",
    ),
    failed("T178", S, text("customer", "Run setup [ref_id: 0]"), code="citation-unresolved"),
    unverified(
        "T179",
        S,
        text("customer", "Run [ref_id:0] the [ref_id:0] setup [ref_id:0]"),
        absent="extract-id-duplicate",
    ),
    failed("T180", S, text("customer", "Run setup."), code="customer-grounding-missing"),
    failed("T181", S, text("customer", "[ref_id:0]" * 1_001), code="citation-count-exceeded"),
    failed("T182", S, rows("customer", ROW), code="customer-grounding-missing"),
    failed(
        "T183",
        F,
        together(rows("unrelated", ROW), put("unrelated/response_body/references", [UNRELATED_REFERENCE])),
        code="unrelated-support-present",
    ),
    failed(
        "T184",
        F,
        put("unrelated/response_body/references", [UNRELATED_REFERENCE]),
        code="unrelated-support-present",
    ),
    unverified("T185", F, put("unrelated/response_body/response", []), code="response-payload-missing"),
    unverified(
        "T186",
        S,
        together(
            text("unrelated", "About 12 [ref_id:0]."),
            put("unrelated/response_body/references", [UNRELATED_REFERENCE]),
        ),
        code="unrelated-citations-need-review",
    ),
    unverified("T187", S, text("unrelated", "I don't know"), code="unrelated-abstention-unproven"),
    unverified("T188", S, text("unrelated", "It is 4 million."), code="unrelated-abstention-unproven"),
    unverified(
        "T189",
        S,
        put("unrelated/response_body/references", [UNRELATED_REFERENCE]),
        code="unrelated-abstention-unproven",
        absent="unrelated-citations-need-review",
    ),
    unverified("T190", F, warned(), code="activity-warning"),
]

TABLE = [
    *BASELINES_AND_INPUT,
    *FILES,
    *SNAPSHOTS,
    *TIMES_AND_MODES,
    *ENVELOPES,
    *ACTIVITIES,
    *REFERENCES,
    *ANSWERS,
]


def variants() -> list[Any]:
    return [
        pytest.param(row, change, id=f"{row.name}-{index}" if index else row.name)
        for row in TABLE
        for index, change in enumerate(row.variants)
    ]


def audited(bundle: Bundle, directory: Path) -> dict[str, Any]:
    return verify_file(bundle.write(directory), now=bundle.now)


@pytest.mark.parametrize(("row", "change"), variants())
def test_a_change_of_a_base_bundle_has_the_outcome_of_the_table(row: Row, change: Change, tmp_path: Path) -> None:
    bundle = row.base()
    change(bundle)
    report = audited(bundle, tmp_path / "bundle")
    found = {(finding["code"], finding["at"]) for finding in report["findings"]}
    codes = {code for code, _ in found}
    assert row.code in codes
    assert row.at is None or (row.code, row.at) in found
    assert row.absent not in codes
    assert report["structural_status"] == ("failed" if row.blocks else "unverified")
    assert report["status"] == ("blocked" if row.blocks else "review-required")
    assert exit_code(report) == (2 if row.blocks else 0)
    assert report["overall_pass"] is False


def test_the_table_has_every_row_but_the_last() -> None:
    assert [row.name for row in TABLE] == [f"T{number:03d}" for number in range(1, 191)]


def test_t191_an_error_beyond_both_caps_still_decides(tmp_path: Path) -> None:
    bundle = file_bundle()
    error_after_warnings()(bundle)
    report = audited(bundle, tmp_path / "bundle")
    at = "/customer/response/response_body/activity/60/error"
    assert report["structural_status"] == "failed"
    assert exit_code(report) == 2
    assert report["first_failure"] == {"code": "activity-error", "at": at, "status": "failed"}
    assert report["first_error"]["at"] == at
    assert at not in [entry["at"] for entry in report["findings"] + report["diagnostics"]]
    assert (len(report["findings"]), len(report["diagnostics"])) == (40, 20)
    assert (report["finding_count"], report["diagnostic_count"]) == (62, 61)
    assert (report["failed_count"], report["unverified_count"]) == (1, 61)
    assert (report["error_count"], report["warning_count"]) == (1, 60)


def test_t190_totals_go_beyond_the_caps(tmp_path: Path) -> None:
    bundle = file_bundle()
    warned()(bundle)
    report = audited(bundle, tmp_path / "bundle")
    assert (len(report["findings"]), len(report["diagnostics"])) == (40, 20)
    assert (report["finding_count"], report["diagnostic_count"]) == (61, 60)
    assert report["first_failure"] is None
    assert report["first_error"] is None
