"""What of a run's questions and documents is kept, and in which form (`retrieval-evaluation.md`, 5.3)."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from arborist.evaluation.bytestrings import is_utf8, tagged, text_bytes
from arborist.evaluation.run import Breakdown, QuestionEvaluation, Tally

MASK = "***"
DEFAULT_RETENTION_DAYS = 30

# Shapes of e-mail addresses and of the keys that services issue; a key of another shape is not recognized.
_SECRETS = re.compile(
    r"""
      (?<=[?&;])[\w.-]*(?:key|token|secret|password|passwd|pwd|signature|sig|auth|credential)[\w.-]*=[^\s&\#;"']+
    | \bbearer\s+[A-Za-z0-9._~+/-]+=*
    | \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*
    | [A-Za-z0-9._%+'-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(?:u007f|.)")


class PrivacyLevel(StrEnum):
    """From strict to loose; `metadata` unless something else is set."""

    NONE = "none"
    METADATA = "metadata"
    REDACTED = "redacted"
    FULL = "full"

    @classmethod
    def named(cls, text: str | None) -> "PrivacyLevel":
        """The level called `text`; `metadata` for anything else."""
        return cls(text) if text in {level.value for level in cls} else cls.METADATA


class PrivacyPolicy(Protocol):
    """A level, and a filter that may replace content or drop it (None); None stays None."""

    @property
    def level(self) -> PrivacyLevel: ...

    def filter_content(self, content: bytes | None) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class StandardPolicy:
    """What each level does by itself: drop everything, mask secrets and addresses, or keep every byte."""

    level: PrivacyLevel = PrivacyLevel.METADATA

    def filter_content(self, content: bytes | None) -> bytes | None:
        if content is None or self.level in (PrivacyLevel.NONE, PrivacyLevel.METADATA):
            return None
        return content if self.level is PrivacyLevel.FULL else masked(content)


def masked(content: bytes) -> bytes:
    """`content` in UTF-8 with secrets and e-mail addresses replaced by `***`."""
    return _SECRETS.sub(MASK, content.decode("utf-8", "replace")).encode("utf-8")


def retention_days(days: int | None) -> int:
    """Days that runs are kept: `days` where it is a positive number, else 30, never none at all."""
    return days if days is not None and days > 0 else DEFAULT_RETENTION_DAYS


def details_text(evaluations: Iterable[QuestionEvaluation], policy: PrivacyPolicy) -> str:
    """The JSON list of question records that the policy lets be kept; empty where it drops them.

    At `full` every byte is kept: what is not UTF-8 goes through the filter and is tagged, then the whole text
    goes through it. At `redacted` each text goes through it by itself, so that the list stays whole.
    """
    if policy.level in (PrivacyLevel.NONE, PrivacyLevel.METADATA):
        return ""
    text = stored_json([_record(evaluation, policy) for evaluation in evaluations])
    if policy.level is PrivacyLevel.REDACTED:
        return text
    kept = policy.filter_content(text.encode("ascii"))
    return "" if kept is None else kept.decode("utf-8", "replace")


def _record(evaluation: QuestionEvaluation, policy: PrivacyPolicy) -> dict[str, Any]:
    hard_class = evaluation.hard_class
    record: dict[str, Any] = {
        "questionId": _kept(evaluation.question_id, policy),
        "form": evaluation.form.value,
        "hardClass": None if hard_class is None else _kept(hard_class, policy),
        "top1Hit": evaluation.top1_hit,
        "top3Hit": evaluation.top3_hit,
        "retrievedDocumentIds": [_kept(document_id, policy) for document_id in evaluation.retrieved_document_ids],
        "latencyMs": evaluation.latency_ms,
    }
    return record if evaluation.error is None else record | {"error": _kept(evaluation.error, policy)}


def _kept(text: str, policy: PrivacyPolicy) -> Any:
    data = text_bytes(text)
    if policy.level is PrivacyLevel.REDACTED:
        scrubbed = policy.filter_content(data.decode("utf-8", "replace").encode("utf-8"))
        return None if scrubbed is None else scrubbed.decode("utf-8", "replace")
    if is_utf8(data):
        return text
    # The filter sees the original bytes: a tag's Base64 would hide from it what it must scrub.
    kept = policy.filter_content(data)
    return None if kept is None else tagged(kept)


def stored_json(value: Any) -> str:
    """JSON in ASCII without blanks, `/` as `\\/` and 0x7f raw: byte for byte what other implementations store."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("/", "\\/")
    return _ESCAPED.sub(lambda match: "\x7f" if match[0] == "\\u007f" else match[0], text)


def kept_classes(breakdown: Breakdown, level: PrivacyLevel) -> Breakdown:
    """The tallies by hard class that may be kept: none at `none`, names masked below `full`."""
    if level is PrivacyLevel.NONE:
        return ()
    kept: dict[str, Tally] = {}
    for name, tally in breakdown:
        key = name if level is PrivacyLevel.FULL else masked(text_bytes(name)).decode("utf-8")
        before = kept.get(key, Tally())
        kept[key] = Tally(
            before.questions + tally.questions,
            before.top1_hits + tally.top1_hits,
            before.top3_hits + tally.top3_hits,
        )
    return tuple(kept.items())
