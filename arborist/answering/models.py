"""Opening what `corpus.toml` names: the answer model of `[model]`, and the verifier with its `[sidecar]`."""

from dataclasses import replace

from arborist.answering.extractive import ExtractiveModel
from arborist.answering.model import AnswerModel
from arborist.answering.verifier import Verifier
from arborist.corpus.config import ModelConfig, SidecarConfig
from arborist.errors import InputError

EXTRACTIVE = "extractive"


def open_model(config: ModelConfig, name: str | None = None) -> AnswerModel:
    """The configured model; `name` puts another in its place: `extractive`, or one at the configured endpoint.

    Raises InputError where an endpoint's model is named and no endpoint is configured.
    """
    if name == EXTRACTIVE or (name is None and config.kind == EXTRACTIVE):
        return ExtractiveModel()
    if config.kind == EXTRACTIVE:
        raise InputError(
            f'no endpoint serves the model {name!r}: set kind = "openai", name and base_url in [model] of '
            "corpus.toml, or use --model extractive"
        )
    # The client takes a third of a second to import, which only who uses it should pay.
    from arborist.answering.openai_chat import OpenAIChatModel

    return OpenAIChatModel.configured(replace(config, name=name or config.name))


def open_verifier(config: SidecarConfig) -> Verifier:
    """The verifier, with the entailment model that is configured beside its rules."""
    if config.kind == "none":
        return Verifier()
    from arborist.answering.chat_client import ChatClient, ChatSettings
    from arborist.answering.sidecar import ClassifierModel, JudgeModel

    if config.kind == "classifier":
        return Verifier(sidecar=ClassifierModel(config.name, config.revision, config.max_tokens))
    settings = ChatSettings(
        name=config.name,
        base_url=config.base_url,
        api_key_env=config.api_key_env,
        timeout_seconds=config.timeout_seconds,
        max_retries=config.max_retries,
        seed=config.seed,
        output="json_schema",
    )
    return Verifier(sidecar=JudgeModel(ChatClient(settings)))
