"""Dagster resources: typed configuration around the engine's objects. A resource reads no environment itself."""
