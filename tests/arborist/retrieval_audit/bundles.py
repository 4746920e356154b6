"""Bundles to audit: the three base bundles of `retained-retrieval-audit.md` section 16, and changes to them."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 9, 14, 12, 0, 0, tzinfo=UTC)
FILES = ("audit", "before", "after", "customer", "unrelated")


@dataclass
class Bundle:
    """Five documents, or bytes in their place, to be written as `<name>.json`; and the time of the audit."""

    documents: dict[str, Any]
    now: datetime
    contents: dict[str, bytes] = field(default_factory=dict)
    after_writing: list[Callable[[Path], None]] = field(default_factory=list)

    def content(self, name: str) -> bytes:
        """The bytes of one file."""
        if name in self.contents:
            return self.contents[name]
        return json.dumps(self.documents[name]).encode()

    def write(self, directory: Path) -> Path:
        """Write the files; the path of the input among them."""
        directory.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (directory / f"{name}.json").write_bytes(self.content(name))
        for change in self.after_writing:
            change(directory)
        return directory / "audit.json"


Change = Callable[[Bundle], None]


def file_bundle(prefix: str = "", start: datetime = START) -> Bundle:
    """Base F: File, preview, minimal, extractive. `prefix` begins every string that is free to choose."""
    customer, unrelated = (
        f"{prefix}What are the installation steps?",
        f"{prefix}What is the population of Neptune?",
    )
    snapshot = _file_snapshot(prefix, start)
    documents = {
        "audit": {
            "schema_version": "1.0",
            "endpoint": f"{prefix}https://svc.search.example",
            "api_version": "2026-08-01-preview",
            "knowledge_base_name": f"{prefix}manuals-kb",
            "source_name": f"{prefix}manuals",
            "source_kind": "file",
            "expected_source": {"path": f"{prefix}manuals/install.md", "file_id": f"{prefix}file-123"},
            "before": "before.json",
            "after": "after.json",
            "customer": _case("customer", customer, "content", start + timedelta(minutes=1)),
            "unrelated": _case("unrelated", unrelated, "unrelated", start + timedelta(minutes=2)),
        },
        "before": snapshot,
        "after": copy.deepcopy(snapshot) | {"captured_at": _iso(start + timedelta(minutes=3))},
        "customer": _envelope(prefix, [{"ref_id": 0, "content": f"{prefix}Run setup."}], [_reference(prefix)]),
        "unrelated": _envelope(prefix, [], []),
    }
    return Bundle(documents, start + timedelta(minutes=5))


def blob_bundle(prefix: str = "", start: datetime = START) -> Bundle:
    """Base B: Blob, general availability."""
    bundle = preview_blob_bundle(prefix, start)
    for change in (
        put("audit/api_version", "2026-04-01"),
        both("api_version", "2026-04-01"),
        both_drop("knowledge_base/outputMode"),
        both_drop("knowledge_base/retrievalReasoningEffort"),
    ):
        change(bundle)
    return bundle


def preview_blob_bundle(prefix: str = "", start: datetime = START) -> Bundle:
    """Base F with a Blob source."""
    bundle = file_bundle(prefix, start)
    url, etag = f"{prefix}https://acct.blob.example/docs/install%20guide.md", f'{prefix}"0x8DE"'
    changes = [
        put("audit/source_kind", "azureBlob"),
        put("audit/expected_source", {"path": url, "etag": etag}),
        both("knowledge_source/kind", "azureBlob"),
        both_drop("knowledge_source/fileParameters"),
        both(
            "knowledge_source/azureBlobParameters",
            {"containerName": f"{prefix}docs", "isADLSGen2": False, "ingestionParameters": {}},
        ),
        both("original", {"url": url, "etag": etag}),
        put("customer/response_body/references/0/type", "azureBlob"),
        put("customer/response_body/references/0/blobUrl", url),
        drop("customer/response_body/references/0/docName"),
        put("customer/response_body/activity/0/type", "azureBlob"),
        put("unrelated/response_body/activity/0/type", "azureBlob"),
    ]
    for change in changes:
        change(bundle)
    return bundle


def synthesis_bundle(prefix: str = "", start: datetime = START) -> Bundle:
    """Base S: File, preview, low, synthesis."""
    bundle = file_bundle(prefix, start)
    for name in ("customer", "unrelated"):
        query = bundle.documents["audit"][name]["query"]
        bundle.documents["audit"][name]["request"] = messages_request(query)
    model = {"kind": "azureOpenAI", "azureOpenAIParameters": {"modelName": f"{prefix}gpt"}}
    changes = [
        both("knowledge_base/outputMode", "answerSynthesis"),
        both("knowledge_base/retrievalReasoningEffort", {"kind": "low"}),
        both("knowledge_base/models", [model]),
        text("customer", f"{prefix}Run setup [ref_id:{prefix}0]."),
        text("unrelated", f"{prefix}I cannot tell from these manuals."),
    ]
    for change in changes:
        change(bundle)
    return bundle


def messages_request(query: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": query}]}]}


def intents_request(query: str) -> dict[str, Any]:
    return {"intents": [{"type": "semantic", "search": query}]}


def _case(name: str, query: str, basis: str, captured_at: datetime) -> dict[str, Any]:
    return {
        "query": query,
        "approved": True,
        "basis": basis,
        "request": intents_request(query),
        "response": f"{name}.json",
        "captured_at": _iso(captured_at),
    }


def _file_snapshot(prefix: str, start: datetime) -> dict[str, Any]:
    return {
        "captured_at": _iso(start),
        "endpoint": f"{prefix}https://svc.search.example",
        "api_version": "2026-08-01-preview",
        "knowledge_base": {
            "name": f"{prefix}manuals-kb",
            "@odata.etag": f'{prefix}"0x1"',
            "description": f"{prefix}All manuals",
            "knowledgeSources": [{"name": f"{prefix}manuals"}],
            "models": [],
            "outputMode": "extractiveData",
            "retrievalReasoningEffort": {"kind": "minimal"},
        },
        "knowledge_source": {
            "name": f"{prefix}manuals",
            "kind": "file",
            "@odata.etag": f'{prefix}"0x2"',
            "fileParameters": {"ingestionParameters": {"chunks": 1}},
        },
        "original": {
            "fileName": f"{prefix}manuals/install.md",
            "fileId": f"{prefix}file-123",
            "lastUpdatedAt": "2026-09-01T08:00:00.1234567Z",
            "errorMessage": None,
        },
    }


def _reference(prefix: str) -> dict[str, Any]:
    return {
        "type": "file",
        "id": f"{prefix}0",
        "activitySource": 0,
        "sourceData": None,
        "docName": f"{prefix}manuals/install.md",
    }


def _envelope(prefix: str, rows: list[Any], references: list[Any]) -> dict[str, Any]:
    for row in rows:
        row["ref_id"] = f"{prefix}{row['ref_id']}" if prefix else row["ref_id"]
    return {
        "status": "response-received",
        "operation": "retrieve",
        "http_status": 200,
        "request_id": f"{prefix}7f3a",
        "response_body": {
            "response": [{"content": [{"type": "text", "text": json.dumps(rows)}]}],
            "activity": [
                {"type": "file", "id": 0, "knowledgeSourceName": f"{prefix}manuals", "count": len(rows)},
                {"type": "agenticReasoning", "id": 1},
            ],
            "references": references,
        },
    }


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _parent(bundle: Bundle, path: str) -> tuple[Any, Any]:
    """The holder of the last component of `document/key/0/key`, and that component as key or index."""
    *steps, last = path.split("/")
    holder: Any = bundle.documents
    for step in steps:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    return holder, int(last) if isinstance(holder, list) else last


def put(path: str, value: Any) -> Change:
    """Set one member, or append where the path ends in `/-`."""

    def change(bundle: Bundle) -> None:
        if path.endswith("/-"):
            holder, key = _parent(bundle, path[:-2])
            holder[key].append(copy.deepcopy(value))
        else:
            holder, key = _parent(bundle, path)
            holder[key] = copy.deepcopy(value)

    return change


def drop(path: str) -> Change:
    """Remove one member."""

    def change(bundle: Bundle) -> None:
        holder, key = _parent(bundle, path)
        del holder[key]

    return change


def both(path: str, value: Any) -> Change:
    """Set one member of both snapshots."""
    return together(put(f"before/{path}", value), put(f"after/{path}", value))


def both_drop(path: str) -> Change:
    """Remove one member of both snapshots."""
    return together(drop(f"before/{path}"), drop(f"after/{path}"))


def text(name: str, content: str) -> Change:
    """Set the only text block of a response."""
    return put(f"{name}/response_body/response/0/content/0/text", content)


def rows(name: str, *extracts: Any) -> Change:
    """Set the only text block of a response to JSON rows."""
    return text(name, json.dumps(list(extracts)))


def content(name: str, edit: Callable[[bytes], bytes]) -> Change:
    """Edit the bytes of one file."""

    def change(bundle: Bundle) -> None:
        bundle.contents[name] = edit(bundle.content(name))

    return change


def padded(name: str, size: int) -> Change:
    """Make a file as large as `size` bytes with blanks at its end."""
    return content(name, lambda data: data.ljust(size))


def on_disk(edit: Callable[[Path], None]) -> Change:
    """Change the directory once the files are written."""
    return lambda bundle: bundle.after_writing.append(edit)


def at_time(moment: datetime) -> Change:
    """Audit at another time."""

    def change(bundle: Bundle) -> None:
        bundle.now = moment

    return change


def together(*changes: Change) -> Change:
    """Several changes as one."""

    def change(bundle: Bundle) -> None:
        for one in changes:
            one(bundle)

    return change
