"""Talking to an OpenAI-compatible chat endpoint: settings, retries, and errors in words for the user."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from arborist.answering.chat_reply import ChatReply, error_message, reply_of_body, reply_of_events
from arborist.answering.model import Message
from arborist.errors import ConfigError, ModelError

if TYPE_CHECKING:
    import openai

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
# A token is hardly ever shorter than this many characters of English, so the estimate errs on the safe side.
_CHARACTERS_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Where the model is and how it decodes.

    `output` is `json_schema`, `text`, or `auto`: JSON where the endpoint takes a schema, else text. With `stream`
    the answer is read as it is written, which keeps slow endpoints within the timeout. `max_prompt_tokens` refuses
    a prompt that by a cautious estimate is longer; 0 leaves that to the endpoint.
    """

    name: str
    base_url: str
    api_key_env: str = "OPENAI_API_KEY"
    timeout_seconds: float = 60
    max_retries: int = 3
    seed: int = 0
    max_output_tokens: int = 1024
    max_prompt_tokens: int = 0
    output: Literal["auto", "json_schema", "text"] = "auto"
    stream: bool = False

    def identity(self) -> tuple[tuple[str, Any], ...]:
        """What shapes an answer, as JSON values: endpoint, seed and decoding; never the key or the retries."""
        return (
            ("base_url", self.base_url),
            ("max_output_tokens", self.max_output_tokens),
            ("output", self.output),
            ("seed", self.seed),
            ("temperature", 0),
        )


class ChatClient:
    """One endpoint and one model. `sleep` waits between retries, in seconds."""

    def __init__(self, settings: ChatSettings, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raises ConfigError for a base URL that is none, or that carries a password."""
        _check_base_url(settings.base_url)
        self.settings = settings
        self._sleep = sleep
        self._limit_name = "max_tokens"
        self._takes_schema = settings.output != "text"

    def complete(self, messages: Sequence[Message], schema: dict[str, Any]) -> ChatReply:
        """The reply to `messages`, held to the JSON schema where that is wanted and the endpoint can.

        Raises ModelError: unreachable, refused, timed out, not a chat completion, prompt too long.
        """
        self._refuse_long(messages)
        attempt = 0
        while True:
            try:
                return self._send(self._request(messages, schema))
            except self._openai.APIStatusError as error:
                if self._conceded(error):
                    continue
                pause = self._pause(error, attempt)
                if pause is None:
                    raise self._failure(error) from error
            except self._openai.APITimeoutError as error:
                raise ModelError(
                    f"{self._where} did not answer within {self.settings.timeout_seconds:g} seconds "
                    "(raise timeout_seconds in [model])"
                ) from error
            except self._openai.APIConnectionError as error:
                if attempt >= self.settings.max_retries:
                    raise ModelError(
                        f"{self._where} cannot be reached: is it running, is base_url right?"
                    ) from error
                pause = _backoff(attempt)
            except self._openai.APIError as error:
                said = error_message(error.body) or error_message(error.message) or "no reason given"
                raise ModelError(f"{self._where} broke off its answer: {said}") from error
            self._sleep(pause)
            attempt += 1

    @property
    def _where(self) -> str:
        return f"the endpoint {self.settings.base_url} of model {self.settings.name!r}"

    @cached_property
    def _openai(self) -> Any:
        # The package takes a third of a second to import, which only those who use an endpoint should pay.
        import openai

        return openai

    @cached_property
    def _client(self) -> "openai.OpenAI":
        client: openai.OpenAI = self._openai.OpenAI(
            base_url=self.settings.base_url,
            # Local servers want no key, and the client wants one.
            api_key=os.environ.get(self.settings.api_key_env) or "none",
            timeout=self.settings.timeout_seconds,
            max_retries=0,
        )
        return client

    def _refuse_long(self, messages: Sequence[Message]) -> None:
        limit = self.settings.max_prompt_tokens
        tokens = sum(len(message.content) for message in messages) // _CHARACTERS_PER_TOKEN
        if limit and tokens > limit:
            raise ModelError(
                f"the prompt is about {tokens} tokens and max_prompt_tokens is {limit}: "
                "lower --max-context-chars or --top-k"
            )

    def _request(self, messages: Sequence[Message], schema: dict[str, Any]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.settings.name,
            "messages": [message.canonical() for message in messages],
            "temperature": 0,
            "seed": self.settings.seed,
            self._limit_name: self.settings.max_output_tokens,
        }
        if self._takes_schema:
            form = {"name": "answer", "strict": True, "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": form}
        if self.settings.stream:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        return request

    def _send(self, request: dict[str, Any]) -> ChatReply:
        completions = self._client.chat.completions
        if not self.settings.stream:
            return reply_of_body(completions.with_raw_response.create(**request).text)
        return reply_of_events(self._events(completions.create(**request)))

    def _events(self, stream: Any) -> Iterator[dict[str, Any]]:
        try:
            for chunk in stream:
                yield chunk.model_dump()
        except (ValueError, AttributeError) as error:
            raise ModelError(f"{self._where} sent a stream that is not server-sent JSON events") from error

    def _conceded(self, error: "openai.APIStatusError") -> bool:
        """Whether a 400 names a parameter that can be sent in another way; then it is, from now on."""
        said = error_message(error.body).lower()
        if error.status_code not in (400, 422):
            return False
        if "max_completion_tokens" in said and self._limit_name == "max_tokens":
            self._limit_name = "max_completion_tokens"
            return True
        about_schema = any(word in said for word in ("response_format", "json_schema", "schema", "grammar"))
        if about_schema and self._takes_schema and self.settings.output == "auto":
            self._takes_schema = False
            return True
        return False

    def _pause(self, error: "openai.APIStatusError", attempt: int) -> float | None:
        """Seconds to wait before the next try, or None where trying again cannot help."""
        status = error.status_code
        passing = status in (408, 409, 429) or (status >= 500 and status != 501)
        if not passing or attempt >= self.settings.max_retries:
            return None
        return _retry_after(error.response.headers.get("retry-after")) or _backoff(attempt)

    def _failure(self, error: "openai.APIStatusError") -> ModelError:
        said = error_message(error.body)
        return ModelError(f"{self._where} {self._reason(error.status_code)}" + (f": {said}" if said else ""))

    def _reason(self, status: int) -> str:
        if status in (401, 403):
            return f"refused the key (status {status}; set the environment variable {self.settings.api_key_env})"
        if status == 404:
            return "does not know the model or the address (status 404; look at name and base_url in [model])"
        if status == 429:
            return "is over its limit (status 429; wait, or raise max_retries in [model])"
        if status >= 500:
            return f"failed (status {status})"
        return f"refused the request (status {status})"


def _check_base_url(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(f"base_url {base_url!r} is not an http or https address")
    if parts.username or parts.password:
        raise ConfigError("base_url holds a user name or password: put the key into an environment variable")


def _backoff(attempt: int) -> float:
    return float(min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE))


def _retry_after(header: str | None) -> float:
    """The seconds a server asks for, at most `_LONGEST_PAUSE`; 0 where it asks for none that can be read."""
    try:
        seconds = float(header or 0)
    except ValueError:
        return 0.0
    return min(seconds, _LONGEST_PAUSE) if seconds > 0 else 0.0
