"""Opening the answer model that `[model]` in `corpus.toml`, or `--model`, names."""

from dataclasses import replace

from arborist.answering.extractive import ExtractiveModel
from arborist.answering.model import AnswerModel
from arborist.corpus.config import ModelConfig
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
