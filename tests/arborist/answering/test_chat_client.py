"""An endpoint's answers, good and bad, become a reply or an error in words for the user."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from arborist.answering.answer_form import ANSWER_SCHEMA
from arborist.answering.chat_client import ChatClient, ChatSettings
from arborist.answering.chat_reply import ChatReply
from arborist.answering.model import Message
from arborist.errors import ConfigError, ModelError
from tests.chat_endpoint import Answer, Endpoint, playing_endpoint

Ask = Callable[..., ChatReply]
Recordings = dict[str, Answer]
ASKED = (Message("system", "Answer."), Message("user", "What?"))


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def ask(endpoint: Endpoint, pauses: list[float]) -> Ask:
    """Ask the endpoint once, with settings given by name."""

    def asked(**settings: Any) -> ChatReply:
        chat = ChatSettings(name="m", base_url=endpoint.base_url, **{"timeout_seconds": 5, **settings})
        return ChatClient(chat, sleep=pauses.append).complete(ASKED, ANSWER_SCHEMA)

    return asked


def test_a_request_carries_model_messages_seed_and_temperature_zero(
    endpoint: Endpoint, recordings: Recordings, ask: Ask
) -> None:
    endpoint.plays(recordings["llama.cpp.chat"])
    ask(output="text", seed=7, max_output_tokens=99)
    assert endpoint.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Answer."}, {"role": "user", "content": "What?"}],
            "temperature": 0,
            "seed": 7,
            "max_tokens": 99,
        }
    ]


@pytest.mark.parametrize("identifier", ["llama.cpp.chat", "test_openai.test_valid_response#0"])
def test_a_recorded_answer_gives_its_text_and_usage(
    endpoint: Endpoint, recordings: Recordings, ask: Ask, identifier: str
) -> None:
    endpoint.plays(recordings[identifier])
    recorded = json.loads(recordings[identifier].body)
    reply = ask()
    assert reply.content == recorded["choices"][0]["message"]["content"]
    assert dict(reply.usage)["total_tokens"] == recorded["usage"]["total_tokens"]
    assert not reply.cut_off


def test_an_answer_that_ended_at_the_limit_is_cut_off(
    endpoint: Endpoint, recordings: Recordings, ask: Ask
) -> None:
    endpoint.plays(recordings["llama.cpp.chat_length"])
    assert ask().cut_off


def test_every_recorded_chat_exchange_gives_a_reply_or_a_model_error(
    endpoint: Endpoint, recordings: Recordings, ask: Ask
) -> None:
    chats = {key: answer for key, answer in recordings.items() if "chat" in answer.body or answer.status != 200}
    assert len(chats) > 50
    for answer in chats.values():
        streamed = any(value.startswith("text/event-stream") for _, value in answer.headers)
        endpoint.plays(answer)
        try:
            assert isinstance(ask(stream=streamed, max_retries=0), ChatReply)
        except ModelError as error:
            assert endpoint.base_url in str(error) or "the model" in str(error) or "the endpoint" in str(error)


@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        ("llama.cpp.chat_stream", "There are no two colours that are mutually exclusive."),
        ("test_openai.test_openai_moderation_stream#0", "Paris."),
    ],
)
def test_a_stream_is_joined_and_its_last_chunk_gives_the_usage(
    endpoint: Endpoint, recordings: Recordings, ask: Ask, identifier: str, text: str
) -> None:
    endpoint.plays(recordings[identifier])
    reply = ask(stream=True)
    assert reply.content == text
    assert dict(reply.usage)["total_tokens"] > 0
    assert endpoint.requests[0]["stream_options"] == {"include_usage": True}


def test_comment_lines_before_the_data_of_a_stream_are_passed_over(
    endpoint: Endpoint, recordings: Recordings, ask: Ask
) -> None:
    endpoint.plays(recordings["test_openrouter.test_openrouter_streaming_reasoning#0"])
    assert ask(stream=True).content


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("llama.cpp.bad_messages", "Expected 'messages' to be an array"),
        ("llama.cpp.context_exceeded", "exceeds the available context size"),
        ("llama.cpp.not_found", "look at name and base_url"),
        ("test_chat_completion_404#0", "does not exist"),
        ("test_openrouter.test_openrouter_errors_raised#0", "over its limit"),
        ("test_openai.test_text_response#0", "not JSON"),
        ("test_openai.test_invalid_response#0", "no choices"),
        ("test_openai.test_openai_tool_output#0", "called a tool"),
    ],
)
def test_a_recorded_failure_says_what_went_wrong(
    endpoint: Endpoint, recordings: Recordings, ask: Ask, identifier: str, words: str
) -> None:
    endpoint.plays(recordings[identifier])
    with pytest.raises(ModelError, match=words):
        ask(output="text")


def test_an_error_inside_a_stream_is_an_error(endpoint: Endpoint, recordings: Recordings, ask: Ask) -> None:
    endpoint.plays(recordings["test_openrouter.test_openrouter_stream_error#0"])
    with pytest.raises(ModelError, match="Token limit reached"):
        ask(stream=True)


def completion(**message: Any) -> str:
    finish_reason = message.pop("finish_reason", "stop")
    return json.dumps({"choices": [{"index": 0, "finish_reason": finish_reason, "message": message}]})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"choices": [', "not JSON"),
        ("[]", "not a chat completion"),
        ('{"choices": []}', "no choice in it"),
        ('{"choices": [{}]}', "without a message"),
        (completion(content=None, refusal="I will not."), "refused to answer: I will not"),
        (completion(content="", finish_reason="content_filter"), "content filter"),
        ('{"error": {"message": "overloaded"}}', "overloaded"),
    ],
)
def test_an_answer_that_is_none_is_an_error(endpoint: Endpoint, ask: Ask, body: str, words: str) -> None:
    endpoint.plays(Answer(body))
    with pytest.raises(ModelError, match=words):
        ask()


def test_a_refused_key_names_the_environment_variable(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.plays(Answer('{"error": {"message": "bad key"}}', status=401))
    with pytest.raises(ModelError, match=r"MY_KEY.*bad key"):
        ask(api_key_env="MY_KEY")


def test_a_stream_that_stops_halfway_is_an_error(endpoint: Endpoint, ask: Ask) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "It is"}, "finish_reason": None}]}
    endpoint.plays(Answer(f"data: {json.dumps(chunk)}\n\n", headers=(("content-type", "text/event-stream"),)))
    with pytest.raises(ModelError, match="before the answer was whole"):
        ask(stream=True)


def test_an_endpoint_that_does_not_answer_in_time_is_an_error(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.plays(Answer("", hang=True))
    with pytest.raises(ModelError, match=r"within 0\.1 seconds"):
        ask(timeout_seconds=0.1)
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_is_not_there_is_tried_again_and_then_an_error(pauses: list[float]) -> None:
    with playing_endpoint() as gone:
        base_url = gone.base_url
    chat = ChatClient(ChatSettings(name="m", base_url=base_url, max_retries=2), sleep=pauses.append)
    with pytest.raises(ModelError, match="cannot be reached"):
        chat.complete(ASKED, ANSWER_SCHEMA)
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_passing_failure_is_tried_again_after_ever_longer_pauses(
    endpoint: Endpoint, ask: Ask, pauses: list[float], status: int
) -> None:
    failed = Answer('{"error": "busy"}', status=status)
    endpoint.plays(failed, failed, failed, Answer(completion(content="Done.")))
    assert ask().content == "Done."
    assert pauses == [0.5, 1.0, 2.0]


def test_the_pause_that_an_endpoint_asks_for_is_kept_within_reason(
    endpoint: Endpoint, ask: Ask, pauses: list[float]
) -> None:
    asked_for = [Answer("{}", 429, (("retry-after", seconds),)) for seconds in ("7", "99999", "soon")]
    endpoint.plays(*asked_for, Answer(completion(content="Done.")))
    ask()
    assert pauses == [7.0, 30.0, 2.0]


@pytest.mark.parametrize("status", [400, 401, 404, 501])
def test_a_lasting_failure_is_not_tried_again(
    endpoint: Endpoint, ask: Ask, pauses: list[float], status: int
) -> None:
    endpoint.plays(Answer('{"error": {"message": "no"}}', status=status))
    with pytest.raises(ModelError):
        ask(output="text")
    assert pauses == []
    assert len(endpoint.requests) == 1


def test_an_endpoint_without_json_schemas_is_asked_for_text(endpoint: Endpoint, ask: Ask) -> None:
    refusal = Answer('{"error": {"message": "response_format is not supported"}}', status=400)
    endpoint.plays(refusal, Answer(completion(content="Done.")))
    assert ask(output="auto").content == "Done."
    assert "response_format" in endpoint.requests[0]
    assert "response_format" not in endpoint.requests[1]


def test_an_endpoint_that_names_the_output_limit_otherwise_gets_it_so(endpoint: Endpoint, ask: Ask) -> None:
    refusal = Answer('{"error": {"message": "Use max_completion_tokens instead"}}', status=400)
    endpoint.plays(refusal, Answer(completion(content="Done.")))
    ask(max_output_tokens=5)
    assert endpoint.requests[1]["max_completion_tokens"] == 5
    assert "max_tokens" not in endpoint.requests[1]


def test_a_prompt_beyond_the_budget_is_refused_before_it_is_sent(endpoint: Endpoint, ask: Ask) -> None:
    endpoint.plays(Answer(completion(content="Done.")))
    with pytest.raises(ModelError, match="--max-context-chars"):
        ask(max_prompt_tokens=2)
    assert endpoint.requests == []


def test_a_base_url_must_be_an_address_without_a_password() -> None:
    for base_url in ("", "localhost:8000", "ftp://host", "http://", "http://user:secret@host/v1"):
        with pytest.raises(ConfigError) as raised:
            ChatClient(ChatSettings(name="m", base_url=base_url))
        assert "secret" not in str(raised.value)
