"""The steps that the service says it took (`retained-retrieval-audit.md` section 10, Activity)."""

from typing import Any

from arborist.retrieval_audit.audit_input import SourceKind
from arborist.retrieval_audit.envelope import note_error, note_warning
from arborist.retrieval_audit.findings import BlockedError, Doubt, Failure, Findings
from arborist.retrieval_audit.strict_json import JsonObject, is_whole_number

# Activity types that read a knowledge source (`retained-retrieval-audit.md` section 14).
SOURCE_TYPES = (
    "searchIndex",
    "azureBlob",
    "indexedSharePoint",
    "indexedOneLake",
    "web",
    "remoteSharePoint",
    "workIQ",
    "fabricDataAgent",
    "fabricOntology",
    "mcpServer",
    "file",
    "indexedSql",
)

_NAME = "knowledgeSourceName"


def selected_activities(
    activity: list[Any], at: str, source_name: str, kind: SourceKind, findings: Findings
) -> frozenset[int]:
    """Ids of the activities that read the selected source; notes diagnostics and activities of other sources.

    Raises BlockedError for an entry that is no object or has no id of its own.
    """
    # All diagnostics first, so that a malformed entry does not hide the error of a later one.
    for index, entry in enumerate(activity):
        if isinstance(entry, dict):
            note_error(entry, f"{at}/{index}", findings)
            note_warning(entry, f"{at}/{index}", findings)
    ids: set[int] = set()
    selected: set[int] = set()
    for index, entry in enumerate(activity):
        identifier = _id(entry, f"{at}/{index}")
        if identifier in ids:
            raise BlockedError(Failure.ACTIVITY_ID_INVALID, f"{at}/{index}/id")
        ids.add(identifier)
        if entry.get(_NAME) == source_name and entry.get("type") == kind.name:
            selected.add(identifier)
        elif _is_foreign(entry, kind):
            findings.add(Failure.FOREIGN_SOURCE_ACTIVITY, f"{at}/{index}")
    _note_absence(activity, selected, at, findings)
    return frozenset(selected)


def _id(entry: Any, at: str) -> int:
    if not isinstance(entry, dict):
        raise BlockedError(Failure.ACTIVITY_INVALID, at)
    identifier = entry.get("id")
    if not is_whole_number(identifier) or identifier < 0:
        raise BlockedError(Failure.ACTIVITY_ID_INVALID, f"{at}/id")
    return identifier


def _is_foreign(entry: JsonObject, kind: SourceKind) -> bool:
    """Whether an entry that is not the selected source's names a source, or is of another source's type."""
    activity_type = entry.get("type")
    return _NAME in entry or (activity_type in SOURCE_TYPES and activity_type != kind.name)


def _note_absence(activity: list[Any], selected: set[int], at: str, findings: Findings) -> None:
    if not activity:
        findings.add(Doubt.ACTIVITY_MISSING, at)
    elif not selected:
        findings.add(Doubt.SOURCE_ACTIVITY_MISSING, at)
