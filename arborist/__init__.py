"""Question answering whose answers can be proven from the record alone: the engine, without Dagster."""

__version__ = "0.1.0"
