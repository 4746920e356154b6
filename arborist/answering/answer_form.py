"""The two forms a language model answers in, JSON by a schema or text with `[E#]`, read into one."""

import json
import re
from typing import Any

from arborist.answering.abstention import ABSTENTION_PREFIX, abstention_text, is_abstention
from arborist.answering.chat_reply import ChatReply, excerpt
from arborist.answering.claims import MARKER, defused
from arborist.answering.model import ModelAnswer

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "one sentence, without evidence ids in it"},
                    "evidence": {
                        "type": "array",
                        "items": {"type": "integer"},
                        "description": "numbers of the evidence that states it: 1 for E1",
                    },
                },
                "required": ["text", "evidence"],
                "additionalProperties": False,
            },
        },
        "missing": {"type": "string", "description": "what the evidence lacks, when there are no claims"},
    },
    "required": ["claims", "missing"],
    "additionalProperties": False,
}

_FENCE = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)


def answer_of(reply: ChatReply) -> ModelAnswer:
    """The answer in a reply, whichever form it has.

    What cannot be read is an abstention that says so: it is recorded as UNGROUNDED and never guessed at.
    """
    content = _FENCE.sub(r"\1", reply.content)
    if not content:
        return _unreadable("the model answered with nothing", reply)
    if content.startswith(("{", "[{", "```")):
        return _from_json(content, reply)
    return _from_text(content, reply)


def _from_text(content: str, reply: ChatReply) -> ModelAnswer:
    if ABSTENTION_PREFIX in content:
        # Claims beside an abstention contradict it, so none of them is taken.
        return ModelAnswer(
            content if is_abstention(content) else abstention_text("the model both answered and abstained."),
            abstained=True,
            usage=reply.usage,
        )
    if reply.cut_off:
        whole = _up_to_last_citation(content)
        if not whole:
            return _unreadable("the model's answer was cut off before its first citation", reply)
        content = whole
    return ModelAnswer(content, usage=reply.usage)


def _up_to_last_citation(content: str) -> str:
    ends = [marker.end() for marker in MARKER.finditer(content)]
    return content[: ends[-1]] if ends else ""


def _from_json(content: str, reply: ChatReply) -> ModelAnswer:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        reason = "was cut off" if reply.cut_off else "is not valid JSON"
        return _unreadable(f"the model's answer {reason}", reply)
    lines = _claim_lines(value)
    if lines is None:
        return _unreadable("the model's JSON is not in the form it was asked for", reply)
    if not lines:
        return ModelAnswer(abstention_text(_missing(value)), abstained=True, usage=reply.usage)
    return ModelAnswer("\n".join(lines), usage=reply.usage)


def _claim_lines(value: object) -> list[str] | None:
    """A line for each claim with its citations, or None where the value breaks the schema."""
    claims = value.get("claims") if isinstance(value, dict) else None
    if not isinstance(claims, list):
        return None
    lines = [_claim_line(claim) for claim in claims]
    return None if None in lines else [line for line in lines if line]


def _claim_line(claim: object) -> str | None:
    if not isinstance(claim, dict) or set(claim) - {"text", "evidence"}:
        return None
    text, evidence = claim.get("text"), claim.get("evidence")
    if not isinstance(text, str) or not text.strip() or not isinstance(evidence, list):
        return None
    if not all(type(number) is int and 0 < number < 1_000_000 for number in evidence):
        return None
    cited = ", ".join(f"E{number}" for number in evidence)
    return " ".join(defused(text).split()) + (f" [{cited}]" if cited else "")


def _missing(value: dict[str, Any]) -> str:
    missing = value.get("missing")
    return excerpt(missing) if isinstance(missing, str) and missing.strip() else "the model did not say what."


def _unreadable(reason: str, reply: ChatReply) -> ModelAnswer:
    said = f": {excerpt(defused(reply.content))}" if reply.content else "."
    return ModelAnswer(abstention_text(reason + said), abstained=True, usage=reply.usage)
