"""Ledgers that tests begin from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arborist.answering.run_dag import retrieval_nodes, run_dag_on_hit
from arborist.clock import FixedClock
from arborist.policy import SELF_REFERENCE, ProvenancePolicy
from arborist.providence.audit_log import sign_checkpoint
from arborist.providence.checkpoint import SigningKey
from arborist.providence.ledger import Ledger
from tests.arborist.providence.runs import evidence, new_record, retrieval


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: FixedClock) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock) as opened:
        yield opened


@pytest.fixture(scope="session")
def eventful_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose ledger has something of everything; it is copied, never changed."""
    home = tmp_path_factory.mktemp("eventful")
    clock = FixedClock()
    with Ledger.open(home, clock) as ledger:
        war = ledger.append_record(new_record("Who is at war?", ["Oceania", "always"]))
        for question in ("falsified", "revived", "retired", "burned"):
            clock.advance(60)
            ledger.append_record(new_record(f"Which record is {question}?"))
        hashed = ProvenancePolicy(dag_privacy="hashes")
        ledger.append_record(new_record("What is private?", ["secret"], provenance=hashed))
        silent = ProvenancePolicy(store_keywords_on_record=False)
        ledger.append_record(new_record("What is unsaid?", ["unsaid"], provenance=silent))
        promoted = evidence(uri=f"arborist://providence/{war.cache_key}", role=SELF_REFERENCE)
        ledger.append_record(new_record("What leans on it?", (), [promoted, evidence(number=2)]))
        sign_checkpoint(home, ledger, SigningKey.of_home(home))
        dag = run_dag_on_hit(retrieval_nodes(retrieval("Who is at war?", ["Eastasia"])), war.dag)
        ledger.append_hit(war, dag, ["Eastasia"])
        keys = {record.question: record.cache_key for record in ledger.records()}
        ledger.set_state(keys["Which record is falsified?"], "failed", "the source was wrong")
        ledger.set_state(keys["Which record is revived?"], "stale", "the source has changed")
        ledger.set_state(keys["Which record is revived?"], "live", "it has changed back")
        ledger.retire(keys["Which record is retired?"], "asked anew")
        ledger.burn(ledger.retire(keys["Which record is burned?"], "never matured").record_id, "never matured")
        sign_checkpoint(home, ledger, SigningKey.of_home(home))
        ledger.append_record(new_record("What came after the checkpoint?"))
    return home
