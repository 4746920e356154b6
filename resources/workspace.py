"""The workspace as a resource: where the home is and which `corpus.toml` describes it."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

if TYPE_CHECKING:
    from arborist.corpus.store import Corpus
    from arborist.workspace import Workspace


class WorkspaceResource(dg.ConfigurableResource):
    """Gives assets the engine's workspace."""

    home: str = Field(description="The folder that holds documents, shards and the ledger ($ARBORIST_HOME).")
    config: str = Field(description="The corpus.toml that says which sources there are.")

    @cached_property
    def workspace(self) -> "Workspace":
        # The definitions hold the resource; only who uses it needs the engine.
        from arborist.workspace import Workspace

        return Workspace.open(Path(self.home), Path(self.config))

    @property
    def corpus(self) -> "Corpus":
        return self.workspace.corpus
