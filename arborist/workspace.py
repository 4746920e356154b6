"""A home together with the `corpus.toml` that describes it: what every command and every asset starts from."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from arborist.clock import Clock, SystemClock
from arborist.corpus.config import CorpusConfig, load_corpus_config
from arborist.home import Home

if TYPE_CHECKING:
    from arborist.corpus.store import Corpus

HOME_VARIABLE = "ARBORIST_HOME"
DEFAULT_HOME = Path("var")
DEFAULT_CONFIG = Path("corpus.toml")


@dataclass(frozen=True)
class Workspace:
    """Paths, configuration and the clock; nothing is opened before it is asked for."""

    home: Home
    config: CorpusConfig
    clock: Clock = field(default_factory=SystemClock)

    @classmethod
    def open(cls, home: Path, config: Path, clock: Clock | None = None) -> "Workspace":
        """Raises ConfigError for a `corpus.toml` that cannot be used."""
        return cls(Home(home.absolute()), load_corpus_config(config), clock or SystemClock())

    @cached_property
    def corpus(self) -> "Corpus":
        # Many name a workspace, to read its settings or its paths; shards are opened by few.
        from arborist.corpus.store import Corpus

        return Corpus(self.home, self.config)
