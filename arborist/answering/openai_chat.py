"""The answer model behind any OpenAI-compatible endpoint."""

from collections.abc import Sequence

from arborist.answering.answer_form import ANSWER_SCHEMA, answer_of
from arborist.answering.chat_client import ChatClient, ChatSettings
from arborist.answering.model import Message, ModelAnswer, ModelIdentity
from arborist.corpus.config import ModelConfig
from arborist.retrieval.context import Evidence

REVISION = "openai-chat-1"


class OpenAIChatModel:
    """Answers with a language model: temperature 0 and a seed, but no promise that it answers twice the same."""

    deterministic = False

    def __init__(self, client: ChatClient) -> None:
        self._client = client

    @classmethod
    def configured(cls, config: ModelConfig) -> "OpenAIChatModel":
        """The model that `[model]` describes. Raises ConfigError for a base URL that cannot be used."""
        settings = ChatSettings(
            name=config.name,
            base_url=config.base_url,
            api_key_env=config.api_key_env,
            timeout_seconds=config.timeout_seconds,
            max_retries=config.max_retries,
            seed=config.seed,
            max_output_tokens=config.max_output_tokens,
            max_prompt_tokens=config.max_prompt_tokens,
            output=config.output,
            stream=config.stream,
        )
        return cls(ChatClient(settings))

    @property
    def identity(self) -> ModelIdentity:
        settings = self._client.settings
        return ModelIdentity(settings.name, REVISION, settings.identity())

    def answer(self, question: str, evidence: Sequence[Evidence], messages: Sequence[Message]) -> ModelAnswer:
        """The answer in the `[E#]` text form; one that cannot be read is an abstention that says so.

        Raises ModelError where the endpoint gives no answer at all.
        """
        return answer_of(self._client.complete(messages, ANSWER_SCHEMA))
