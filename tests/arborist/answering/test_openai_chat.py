"""The model behind an endpoint answers in the `[E#]` form and is identified by what shapes its answers."""

import json

import pytest

from arborist.answering.claims import claims_of
from arborist.answering.openai_chat import OpenAIChatModel
from arborist.answering.prompt import messages_for
from arborist.answering.verifier import Verifier
from arborist.corpus.config import ModelConfig
from tests.chat_endpoint import Answer, Endpoint
from tests.evidence import evidence

EVIDENCE = [evidence(1, "The bridge opened on 19 March 1932.")]
MESSAGES = messages_for("When did the bridge open?", EVIDENCE)


def config(endpoint: Endpoint, **changes: object) -> ModelConfig:
    return ModelConfig(**{"kind": "openai", "name": "m", "base_url": endpoint.base_url, **changes})  # type: ignore[arg-type]


def saying(content: str) -> Answer:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return Answer(json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "total_tokens": 9}}))


@pytest.mark.parametrize(
    "content",
    [
        "The bridge opened on 19 March 1932. [E1]",
        '{"claims": [{"text": "The bridge opened on 19 March 1932.", "evidence": [1]}], "missing": ""}',
    ],
)
def test_both_forms_give_the_same_claims(endpoint: Endpoint, content: str) -> None:
    endpoint.plays(saying(content))
    answer = OpenAIChatModel.configured(config(endpoint)).answer("When?", EVIDENCE, MESSAGES)
    assert claims_of(answer.text) == claims_of("The bridge opened on 19 March 1932. [E1]")
    assert dict(answer.usage) == {"prompt_tokens": 5, "total_tokens": 9}
    assert Verifier().verify(answer.text, EVIDENCE).audit_mode == "STRICT"


def test_the_messages_are_sent_as_they_were_bound(endpoint: Endpoint) -> None:
    endpoint.plays(saying("NO ANSWER: nothing."))
    OpenAIChatModel.configured(config(endpoint)).answer("When?", EVIDENCE, MESSAGES)
    assert endpoint.requests[0]["messages"] == [message.canonical() for message in MESSAGES]


def test_an_answer_without_citations_is_ungrounded(endpoint: Endpoint, recordings: dict[str, Answer]) -> None:
    endpoint.plays(recordings["llama.cpp.chat"])
    answer = OpenAIChatModel.configured(config(endpoint)).answer("When?", EVIDENCE, MESSAGES)
    assert Verifier().verify(answer.text, EVIDENCE).audit_mode == "UNGROUNDED"


def test_identity_changes_with_what_shapes_an_answer_and_with_nothing_else(endpoint: Endpoint) -> None:
    def digest(**changes: object) -> str:
        return OpenAIChatModel.configured(config(endpoint, **changes)).identity.digest()

    same = [digest(), digest(timeout_seconds=9), digest(max_retries=0), digest(api_key_env="OTHER")]
    others = [digest(name="n"), digest(seed=1), digest(base_url="http://other/v1")]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 4


def test_the_key_comes_from_the_environment_and_is_nowhere_else(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sesame")
    endpoint.plays(saying("NO ANSWER: nothing."))
    model = OpenAIChatModel.configured(config(endpoint, api_key_env="MY_KEY"))
    model.answer("When?", EVIDENCE, MESSAGES)
    assert endpoint.headers[0]["authorization"] == "Bearer sesame"
    assert "sesame" not in json.dumps([model.identity.canonical(), endpoint.requests])
