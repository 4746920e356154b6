"""The entry point that `workspace.yaml` names."""

from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.settings import Settings

defs = build_definitions(Settings.from_env())
