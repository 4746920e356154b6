"""What an OpenAI-compatible chat endpoint sent back, read strictly whatever its provider makes of the format."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arborist.errors import ModelError

_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
_REASONING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The text of the first choice, why it ended (`stop`, `length`, ...), and the tokens it took."""

    content: str
    finish_reason: str
    usage: tuple[tuple[str, int], ...] = ()

    @property
    def cut_off(self) -> bool:
        return self.finish_reason == "length"


def reply_of_body(body: str) -> ChatReply:
    """The reply in a response body. Raises ModelError for anything but a chat completion with text in it."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the endpoint's answer is not JSON: {excerpt(body)}") from error
    if not isinstance(value, dict):
        raise ModelError(f"the endpoint's answer is not a chat completion: {excerpt(body)}")
    _refuse_error(value)
    choice = _first_choice(value)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ModelError("the endpoint's answer has a choice without a message")
    finish_reason = _text(choice.get("finish_reason"))
    _refuse_refusal(message, finish_reason)
    return ChatReply(_content(_text(message.get("content"))), finish_reason, _usage(value))


def reply_of_events(events: Iterable[Mapping[str, Any]]) -> ChatReply:
    """The reply in a stream of chunks: text joined, usage from whichever chunk carries it.

    Raises ModelError for an error inside the stream, a refusal, or a stream that ends without a finish reason.
    """
    content: list[str] = []
    refusal: list[str] = []
    finish_reason = ""
    usage: tuple[tuple[str, int], ...] = ()
    for event in events:
        _refuse_error(event)
        usage = _usage(event) or usage
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            continue
        delta = choices[0].get("delta")
        if isinstance(delta, dict):
            content.append(_text(delta.get("content")))
            refusal.append(_text(delta.get("refusal")))
        finish_reason = _text(choices[0].get("finish_reason")) or finish_reason
    if not finish_reason:
        raise ModelError("the endpoint's stream ended before the answer was whole")
    _refuse_refusal({"refusal": "".join(refusal), "content": "".join(content)}, finish_reason)
    return ChatReply(_content("".join(content)), finish_reason, usage)


def error_message(body: object) -> str:
    """The message in an error body, whichever of the known forms it has; empty when there is none."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return excerpt(message) if isinstance(message, str) else ""
    return excerpt(body) if isinstance(body, str) else ""


def excerpt(text: str, length: int = 200) -> str:
    """The beginning of a foreign text on one line, without control characters, for an error."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _first_choice(value: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = value.get("choices")
    if not isinstance(choices, list):
        raise ModelError("the endpoint's answer is JSON but no chat completion: it has no choices")
    if not choices or not isinstance(choices[0], dict):
        raise ModelError("the endpoint's answer has no choice in it")
    return choices[0]


def _refuse_error(value: Mapping[str, Any]) -> None:
    if value.get("error"):
        said = error_message({"error": value["error"]}) or "no reason given"
        raise ModelError(f"the endpoint reported an error inside its answer: {said}")


def _refuse_refusal(message: Mapping[str, Any], finish_reason: str) -> None:
    refusal = _text(message.get("refusal"))
    if refusal:
        raise ModelError(f"the model refused to answer: {excerpt(refusal)}")
    if finish_reason == "content_filter":
        raise ModelError("the endpoint's content filter withheld the answer")
    if not _text(message.get("content")) and finish_reason in ("tool_calls", "function_call"):
        raise ModelError("the model called a tool instead of answering: use a model that answers in text")


def _content(text: str) -> str:
    """The answer without the reasoning that some models put before it in the same text."""
    return _REASONING.sub("", text).strip()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _usage(value: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    usage = value.get("usage")
    if not isinstance(usage, dict):
        return ()
    counts = ((name, usage.get(name)) for name in _USAGE)
    return tuple((name, count) for name, count in counts if type(count) is int and 0 <= count < 2**53)
