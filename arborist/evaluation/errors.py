"""What the evaluation refuses, as branches of the one error hierarchy.

Where `retrieval-evaluation.md` numbers a rule, `code` is that number, and 0 elsewhere.
"""

from arborist.errors import ArboristError, InputError


class CodedInputError(InputError, ValueError):
    """A value that breaks a rule of the evaluation contract."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class GoldenSetError(CodedInputError):
    """A golden question or set breaks a rule (codes 1794000050 to 1794000058)."""


class RegistryError(CodedInputError):
    """Two sets (1794000059) or two retrievers (1794000060) share one identifier."""


class ProvenanceError(CodedInputError):
    """A provenance label is not allowed (1794000215), or is the sentinel where it may not be (1794000216)."""


class ToleranceError(CodedInputError):
    """A tolerance is not a number in 0..1 (1794000040 as a value, 1794000041 on the command line)."""


class RetrieverError(InputError):
    """A retriever cannot be found, cannot be reached, or does not answer with document ids."""


class EvaluationStoreError(ArboristError):
    """The evaluations database is missing, unreadable, or of another version."""


class NotComparableError(ArboristError):
    """Two runs are not measurements of the same thing, or it is unknown whether they are."""

    exit_code = 3


class PromotionError(ArboristError):
    """A run that failed its gate was offered as a baseline."""

    exit_code = 1
