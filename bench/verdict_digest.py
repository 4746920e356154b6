"""One digest over the verdicts on all labelled claims, to compare between interpreters and between machines.

`python -m bench.verdict_digest DATA` needs no package beyond those of the verifier itself.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from arborist.answering.model import Verdict
from arborist.answering.verifier import Verifier
from arborist.hashing import canonical_json
from bench.labelled_claims import LabelledClaim, attribution_claims, scifact_claims


def verdict_digest(rows: Sequence[LabelledClaim]) -> str:
    """SHA-256 in hex over the canonical JSON of the verdicts, in the order of the rows."""
    verifier = Verifier()
    digest = hashlib.sha256()
    for row in rows:
        digest.update(verdict_bytes(verifier.verify(row.claims, row.evidence)))
    return digest.hexdigest()


def verdict_bytes(verdict: Verdict) -> bytes:
    """The canonical JSON of a verdict's claims."""
    return canonical_json([claim.canonical() for claim in verdict.claims])


def different_verdicts(row: LabelledClaim, runs: int) -> int:
    """How many different verdicts `runs` verifications of one row give."""
    verifier = Verifier()
    return len({verdict_bytes(verifier.verify(row.claims, row.evidence)) for _ in range(runs)})


def main() -> None:
    data = Path(sys.argv[1])
    rows = [*attribution_claims(data), *scifact_claims(data)]
    print(sys.version.split()[0], verdict_digest(rows), different_verdicts(rows[0], 1_000))


if __name__ == "__main__":
    main()
