"""The references of a response (`retained-retrieval-audit.md` section 10, References)."""

from collections.abc import Set
from typing import Any

from arborist.retrieval_audit.findings import BlockedError, Doubt, Failure, Findings
from arborist.retrieval_audit.native_citation import Bound, NativeCitation
from arborist.retrieval_audit.strict_json import JsonObject, is_text, is_whole_number


def reference_ids(references: list[Any], at: str) -> frozenset[str]:
    """The ids of well-formed references. Raises BlockedError at the first that is malformed or repeats an id."""
    ids: set[str] = set()
    for index, reference in enumerate(references):
        identifier = _id(reference, f"{at}/{index}")
        if identifier in ids:
            raise BlockedError(Failure.REFERENCE_ID_DUPLICATE, f"{at}/{index}")
        ids.add(identifier)
    return frozenset(ids)


def _id(reference: Any, at: str) -> str:
    if not isinstance(reference, dict) or not isinstance(reference.get("sourceData"), dict | None):
        raise BlockedError(Failure.REFERENCE_INVALID, at)
    identifier = reference.get("id")
    if not is_text(identifier):
        raise BlockedError(Failure.REFERENCE_INVALID, at)
    if not is_whole_number(reference.get("activitySource")):
        raise BlockedError(Failure.REFERENCE_ACTIVITY_INVALID, at)
    return identifier


def bound_reference(
    reference: JsonObject, at: str, selected: Set[int], binding: NativeCitation, findings: Findings
) -> Bound:
    """What a well-formed reference shows of the original, cited or not; `selected` are the source's activities."""
    if reference["activitySource"] not in selected:
        findings.add(Doubt.REFERENCE_SOURCE_UNRESOLVED, at)
    if reference.get("type") != binding.kind.name:
        findings.add(Failure.REFERENCE_TYPE_MISMATCH, at)
        return Bound(path_matches=False, declared_value_matches=False)
    return binding.bound(reference, at, findings)
