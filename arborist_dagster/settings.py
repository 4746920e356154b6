"""What the code location takes from the environment; the only place that reads it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arborist.workspace import DEFAULT_CONFIG, DEFAULT_HOME, HOME_VARIABLE

CONFIG_VARIABLE = "ARBORIST_CONFIG"
WEBHOOK_VARIABLE = "ARBORIST_WEBHOOK"
PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the home and `corpus.toml` are, and the URL that failures are told to, if there is one."""

    home: Path
    config: Path
    webhook: str | None = None

    @classmethod
    def from_env(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """From `$ARBORIST_HOME` and `$ARBORIST_CONFIG`, by default `var` and `corpus.toml` of the checkout, and
        `$ARBORIST_WEBHOOK`.
        """
        home = environment.get(HOME_VARIABLE)
        config = environment.get(CONFIG_VARIABLE)
        return cls(
            home=Path(home).absolute() if home else PROJECT / DEFAULT_HOME,
            config=Path(config).absolute() if config else PROJECT / DEFAULT_CONFIG,
            webhook=environment.get(WEBHOOK_VARIABLE) or None,
        )
