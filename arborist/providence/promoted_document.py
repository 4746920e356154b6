"""A promoted answer as a document (`self-providence.md`, Document); the same record gives the same document."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from arborist.answering.claims import MARKER
from arborist.corpus.document import Document
from arborist.errors import LedgerError
from arborist.policy import PROVIDENCE_SOURCE
from arborist.providence.record import ProvidenceRecord, RecordSource
from arborist.retrieval.promoted import cite, promoted_uri, uncited

TITLE_CHARACTERS = 120
_MARKERS = re.compile(rf"\s*{MARKER.pattern}")


def promoted_document(record: ProvidenceRecord, sources: Sequence[RecordSource]) -> Document:
    """The document of a record whose context was `sources`.

    Its revision is the record's `run_dag_root`, which binds the document to the one run that it was made of.
    Chunks are cited by numbers of their own, in the order of the claims, so that the same answer from the same
    chunks reads the same wherever they stood in the context. Raises LedgerError where what is kept of the record
    is not enough.
    """
    return Document(
        uri=promoted_uri(record.cache_key),
        title=shortened(uncited(record.question)),
        text=promoted_text(record, sources),
        source_type=PROVIDENCE_SOURCE,
        source_revision=record.run_dag_root,
    )


def promoted_text(record: ProvidenceRecord, sources: Sequence[RecordSource]) -> str:
    """The document's text: the question, the answer, and a line a claim with what it cites."""
    payload = record.dag.payloads().get("context")
    if payload is None:
        raise LedgerError(f"record {record.record_id}: its context is not kept, so it cannot become a source")
    uris = {source.document_root: source.uri for source in sources}
    items: list[Mapping[str, str]] = payload["items"]
    claims: list[Mapping[str, Any]] = json.loads(record.claims)
    order = dict.fromkeys(number for claim in claims for number in claim["citations"])
    cites = {
        number: cite(place, uris[items[number - 1]["document_root"]], items[number - 1]["leaf_hash"])
        for place, number in enumerate(order, start=1)
    }
    answer = _MARKERS.sub("", record.answer)
    lines = [f"Q: {uncited(record.question)}", f"A: {uncited(answer)}"]
    lines += [
        " ".join([f"- {uncited(claim['text'])}", *(cites[number] for number in claim["citations"])])
        for claim in claims
    ]
    return "\n".join(lines)


def shortened(title: str) -> str:
    """The title cut to 120 characters at a word; a single longer word is cut where it stands."""
    if len(title) <= TITLE_CHARACTERS:
        return title
    cut = title[: TITLE_CHARACTERS + 1]
    return cut[: cut.rindex(" ")] if " " in cut else title[:TITLE_CHARACTERS]
