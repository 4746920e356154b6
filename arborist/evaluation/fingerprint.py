"""What makes two runs measurements of the same thing (`retrieval-evaluation.md`, section 3).

These digests are that contract's own and not of `hashing.Domain`: other implementations compute the same bytes.
"""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arborist.evaluation.bytestrings import text_bytes
from arborist.evaluation.golden import GoldenQuestion
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.hashing import hash_bytes

LABELS_FORMAT = "labels-bytes-v1"
BENCHMARK_FORMAT = "benchmark-v1"
VARIANT_FORMAT = "variant-v1"
_FINGERPRINT = re.compile(r"v1:[0-9a-f]{64}\Z", re.ASCII)


def preimage(parts: list[Any]) -> bytes:
    """The compact JSON array that is digested: no blanks, slashes and non-ASCII not escaped."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def fingerprint(parts: list[Any]) -> str:
    """`v1:` and the lowercase hex SHA-256 of the compact JSON array of `parts`."""
    return "v1:" + hash_bytes(preimage(parts))


def is_fingerprint(text: object) -> bool:
    """Whether `text` has the shape of a fingerprint."""
    return isinstance(text, str) and _FINGERPRINT.match(text) is not None


def labels_parts(questions: Iterable[GoldenQuestion]) -> list[Any]:
    """The array behind `labels_fingerprint`: rows sorted by the bytes of ids, before Base64."""
    ordered = sorted(questions, key=lambda question: text_bytes(question.id))
    return [LABELS_FORMAT, [_row(question) for question in ordered]]


def _row(question: GoldenQuestion) -> list[Any]:
    targets = sorted(text_bytes(target) for target in question.expected_document_ids)
    hard_class = None if question.hard_class is None else _base64(text_bytes(question.hard_class))
    return [
        _base64(text_bytes(question.id)),
        _base64(text_bytes(question.question)),
        question.form.value,
        hard_class,
        [_base64(target) for target in targets],
    ]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def labels_fingerprint(questions: Iterable[GoldenQuestion]) -> str:
    """Digest of ids, texts, forms, hard classes and targets; orders, names and gists do not change it."""
    return fingerprint(labels_parts(questions))


@dataclass(frozen=True, slots=True)
class Identity:
    """What a run measured: the golden labels, the scoring, and what the retriever declared, if it did."""

    labels: str
    scoring_version: str
    provenance: RetrievalProvenance | None

    @property
    def benchmark(self) -> str:
        """Binds corpus, labels and scoring: equal means comparable. Empty without provenance."""
        if self.provenance is None:
            return ""
        return fingerprint([BENCHMARK_FORMAT, self.provenance.corpus_revision, self.labels, self.scoring_version])

    @property
    def variant(self) -> str:
        """Binds model, chunking and pipeline: the treatment under test. Empty without provenance."""
        if self.provenance is None:
            return ""
        declared = self.provenance
        return fingerprint(
            [VARIANT_FORMAT, declared.model_revision, declared.chunking_identity, declared.pipeline_identity]
        )
