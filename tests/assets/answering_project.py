"""Answers in a home, as the Dagster layer sees them."""

from collections.abc import Sequence
from typing import ClassVar

import dagster as dg

from arborist.workspace import Workspace
from assets.self_providence import SELF_PROVIDENCE_CHECKS, self_providence
from resources.workspace import WorkspaceResource
from tests.arborist.providence.answers import AnswersHome


class TestedWorkspace(WorkspaceResource):
    """The resource over the workspace of a test, whose clock the test moves; Dagster makes resources anew."""

    opened: ClassVar[dict[str, Workspace]] = {}

    @property
    def workspace(self) -> Workspace:
        return self.opened[self.home]


def resource(home: AnswersHome) -> TestedWorkspace:
    """The workspace resource over this home."""
    folder = str(home.workspace.home.root)
    TestedWorkspace.opened[folder] = home.workspace
    return TestedWorkspace(home=folder, config=str(home.workspace.config.path))


def materialized(home: AnswersHome, instance: dg.DagsterInstance | None = None) -> dg.ExecuteInProcessResult:
    """A run of the asset and its checks."""
    return dg.materialize(
        [self_providence, *SELF_PROVIDENCE_CHECKS],
        instance=instance,
        resources={"workspace": resource(home)},
        raise_on_error=False,
    )


def failed_checks(result: dg.ExecuteInProcessResult) -> Sequence[str]:
    return [item.check_name for item in result.get_asset_check_evaluations() if not item.passed]
