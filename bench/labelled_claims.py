"""Claims that people have labelled against their evidence, as answers for the verifier."""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arborist.answering.claims import claims_of
from arborist.answering.model import Claim
from arborist.retrieval.context import Evidence
from bench.halves import Half, half_of

Label = Literal["supported", "unsupported", "contradicted"]

_REFERENCE_NUMBER = re.compile(r"\A\[\d+\]\s*")
_REFERENCE_TITLE = re.compile(r"\ATitle: (.*)\n(?:Section: .*\n)?\n?")
_CITED_NUMBERS = re.compile(r"\s*\[\d+(?:,\s*\d+)*\]")
_SCIFACT_LABELS: dict[str, Label] = {"SUPPORT": "supported", "NOINFO": "unsupported", "CONTRADICT": "contradicted"}


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """One row of a set: its claims (a row may be several sentences), each citing all of the row's evidence."""

    identifier: str
    kind: str
    label: Label
    text: str
    claims: tuple[Claim, ...]
    evidence: tuple[Evidence, ...]

    @property
    def half(self) -> Half:
        return half_of(self.identifier)


def attribution_claims(data: Path) -> Iterator[LabelledClaim]:
    """`attribution/claims.jsonl`: answers of models, labelled as attributable to their references or not."""
    for line in (data / "attribution" / "claims.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        evidence = tuple(_reference(number, text) for number, text in enumerate(row["references"], start=1))
        label: Label = "supported" if row["label"] == "supported" else "unsupported"
        text = _CITED_NUMBERS.sub("", row["claim"])
        yield LabelledClaim(row["id"], row["source"], label, text, _citing_all(text, evidence), evidence)


def scifact_claims(data: Path) -> Iterator[LabelledClaim]:
    """`scifact/verify_pairs_dev.jsonl`: a claim of an expert and one abstract that it cites."""
    with gzip.open(data / "scifact" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        abstracts = {str(row["doc_id"]): row for row in map(json.loads, lines)}
    for line in (data / "scifact" / "verify_pairs_dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        abstract = abstracts[row["doc_id"]]
        text = " ".join(sentence.strip() for sentence in abstract["sentences"])
        evidence = (_evidence(1, abstract["title"], text),)
        label = _SCIFACT_LABELS[row["label"]]
        claim = row["claim"]
        yield LabelledClaim(row["pair_id"], row["label"], label, claim, _citing_all(claim, evidence), evidence)


def _citing_all(text: str, evidence: tuple[Evidence, ...]) -> tuple[Claim, ...]:
    numbers = tuple(item.number for item in evidence)
    return tuple(Claim(claim.text, numbers) for claim in claims_of(text))


def _reference(number: int, text: str) -> Evidence:
    text = _REFERENCE_NUMBER.sub("", text)
    title = _REFERENCE_TITLE.match(text)
    return _evidence(number, title[1], text[title.end() :]) if title else _evidence(number, "", text)


def _evidence(number: int, title: str, text: str) -> Evidence:
    return Evidence(number, f"{number:064x}", 0, "", "primary", "bench", f"bench:{number}", title, text)
