"""What a retriever declares about itself before it is measured (`retrieval-evaluation.md`, section 4)."""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from arborist.evaluation.errors import ProvenanceError

NOT_APPLICABLE = "not-applicable"
"""An absent model or chunker, said explicitly; something unknown may not be called this."""

MAX_IDENTITY_BYTES = 190
LABEL = 1794000215
SENTINEL = 1794000216

FIELDS = ("corpusRevision", "modelRevision", "chunkingIdentity", "pipelineIdentity", "executionRevision")
REQUIRED_FIELDS = FIELDS[:4]
NEVER_ABSENT = ("corpusRevision", "pipelineIdentity")
_LABEL = re.compile(r"(?!.*://)[A-Za-z0-9][A-Za-z0-9._:+/-]{0,189}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class RetrievalProvenance:
    """Opaque labels of the corpus, model, chunking and pipeline that a run measures, and of the code that ran.

    Labels are 1 to 190 ASCII bytes, a letter or digit first, then letters, digits and `._:+/-`, never `://`.
    They are revisions or digests: no document text, no addresses, no secrets, which the rule cannot detect.
    Everything that can alter a ranking belongs in the pipeline's label. Raises ProvenanceError.
    """

    corpus_revision: str
    model_revision: str
    chunking_identity: str
    pipeline_identity: str
    execution_revision: str | None = None

    def __post_init__(self) -> None:
        for name, value in zip(FIELDS, astuple(self), strict=True):
            optional = name not in REQUIRED_FIELDS and value is None
            if not optional and not is_label(value):
                # The value is not repeated: it may be an address with credentials.
                rule = "1 to 190 letters, digits and ._:+/-, a letter or digit first, no ://"
                raise ProvenanceError(f"{name} is not a label ({rule})", LABEL)
        for name, value in (
            ("corpusRevision", self.corpus_revision),
            ("pipelineIdentity", self.pipeline_identity),
        ):
            if value == NOT_APPLICABLE:
                raise ProvenanceError(f"{name} cannot be {NOT_APPLICABLE}", SENTINEL)

    def to_json(self) -> dict[str, str | None]:
        """The five labels under the contract's names, in its order; the last may be None."""
        return dict(zip(FIELDS, astuple(self), strict=True))

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "RetrievalProvenance":
        """Inverse of `to_json`; other keys are ignored. Raises ProvenanceError, also for values not text."""
        labels = [value.get(name) for name in FIELDS]
        texts = [label if isinstance(label, str) else None for label in labels]
        if [label is None for label in labels] != [text is None for text in texts]:
            raise ProvenanceError("a provenance label is not text", LABEL)
        corpus, model, chunking, pipeline, execution = texts
        return cls(corpus or "", model or "", chunking or "", pipeline or "", execution)


def is_label(value: object) -> bool:
    """Whether `value` may stand as a provenance label."""
    return isinstance(value, str) and _LABEL.match(value) is not None
