"""The one error hierarchy. The command line prints an error's text and exits with its code."""

from pathlib import Path


class ArboristError(Exception):
    """What went wrong, where, and what to do about it, in words for the user."""

    exit_code = 2


class InputError(ArboristError):
    """The user's input, a file or an argument, cannot be used as it is."""

    @classmethod
    def at(cls, path: Path | str, place: str, problem: str, remedy: str = "") -> "InputError":
        """Name the file, the place in it (a line, a table and key, a byte offset), the problem and the remedy."""
        location = f"{path}: {place}" if place else str(path)
        return cls(f"{location}: {problem}" + (f" ({remedy})" if remedy else ""))


class ConfigError(InputError):
    """`corpus.toml` or the environment holds a value that is not allowed."""


class CorpusError(ArboristError):
    """A shard, a snapshot or a chunk file is missing, unreadable or not what its root says."""


class LedgerError(ArboristError):
    """The ledger is missing, unreadable, or refuses what was asked of it."""


class RecordInUseError(LedgerError):
    """Another run was recorded under the same cache key first; its record answers this one too."""


class ModelError(ArboristError):
    """An answer model could not give an answer: unreachable, refused, or unusable output."""

    exit_code = 1


class ProofError(ArboristError):
    """A proof, a signature or a checkpoint does not hold."""
