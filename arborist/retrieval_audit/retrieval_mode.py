"""How the base was set to retrieve, and the one request that fits (`retained-retrieval-audit.md` section 8)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from arborist.retrieval_audit.audit_input import BLOB, GENERAL_AVAILABILITY, AuditInput, Question
from arborist.retrieval_audit.findings import BlockedError, Failure
from arborist.retrieval_audit.snapshots import Snapshot
from arborist.retrieval_audit.strict_json import JsonObject, same_json


class Output(StrEnum):
    """What the service returns as text: rows of extracts, or a written answer."""

    EXTRACTS = "extractiveData"
    SYNTHESIS = "answerSynthesis"


class Effort(StrEnum):
    """How much reasoning goes into a retrieval."""

    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"


@dataclass(frozen=True, slots=True)
class RetrievalMode:
    """Output and effort."""

    output: Output
    effort: Effort

    def exact_request(self, query: str) -> JsonObject:
        """The only request body that overrides nothing."""
        if self.effort is Effort.MINIMAL:
            return {"intents": [{"type": "semantic", "search": query}]}
        return {"messages": [{"role": "user", "content": [{"type": "text", "text": query}]}]}


def retrieval_mode(asked: AuditInput, before: Snapshot) -> RetrievalMode:
    """The mode that the API version fixes or the knowledge base sets. Raises BlockedError if unsupported."""
    if asked.api_version == GENERAL_AVAILABILITY:
        return _fixed_mode(asked, before)
    base, at = before.knowledge_base, f"{before.at}/knowledge_base"
    effort: Any = base.get("retrievalReasoningEffort")
    output: Any = base.get("outputMode")
    try:
        mode = RetrievalMode(Output(output), Effort(effort["kind"]))
    except (ValueError, KeyError, TypeError):
        raise BlockedError(Failure.MODE_UNSUPPORTED, at) from None
    needs_model = mode.output is Output.SYNTHESIS or mode.effort is not Effort.MINIMAL
    models = base.get("models")
    if needs_model and not (isinstance(models, list) and models):
        raise BlockedError(Failure.MODELS_MISSING, f"{at}/models")
    return mode


def _fixed_mode(asked: AuditInput, before: Snapshot) -> RetrievalMode:
    if asked.source_kind is not BLOB:
        raise BlockedError(Failure.GA_SOURCE_UNSUPPORTED, "/input/source_kind")
    hierarchical = before.knowledge_source[BLOB.parameters].get("isADLSGen2")
    if hierarchical is not None and hierarchical is not False:
        raise BlockedError(Failure.GA_SOURCE_UNSUPPORTED, f"{before.at}/knowledge_source")
    if before.knowledge_base.keys() & {"outputMode", "retrievalReasoningEffort"}:
        raise BlockedError(Failure.GA_FIELDS_UNEXPECTED, f"{before.at}/knowledge_base")
    return RetrievalMode(Output.EXTRACTS, Effort.MINIMAL)


def check_request(question: Question, mode: RetrievalMode) -> None:
    """Hold the request, whole, against the one body of the mode. Raises BlockedError `request-not-exact`."""
    if not same_json(question.request, mode.exact_request(question.query)):
        raise BlockedError(Failure.REQUEST_NOT_EXACT, f"/input/{question.role.name}/request")
