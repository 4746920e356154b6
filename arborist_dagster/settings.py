"""What the code location takes from the environment; the only place that reads it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from arborist.workspace import DEFAULT_CONFIG, DEFAULT_HOME, HOME_VARIABLE

CONFIG_VARIABLE = "ARBORIST_CONFIG"
PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the home and `corpus.toml` are."""

    home: Path
    config: Path

    @classmethod
    def from_env(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """`$ARBORIST_HOME` and `$ARBORIST_CONFIG`; by default `var` and `corpus.toml` of the checkout."""
        home = environment.get(HOME_VARIABLE)
        config = environment.get(CONFIG_VARIABLE)
        return cls(
            home=Path(home).absolute() if home else PROJECT / DEFAULT_HOME,
            config=Path(config).absolute() if config else PROJECT / DEFAULT_CONFIG,
        )
