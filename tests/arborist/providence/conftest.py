"""Ledgers that tests begin from."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arborist.answering.run_dag import retrieval_nodes, run_dag_on_hit
from arborist.clock import FixedClock
from arborist.merkle import leaf_hash
from arborist.policy import SELF_REFERENCE, ProvenancePolicy
from arborist.providence.audit_log import AuditLog, sign_checkpoint
from arborist.providence.checkpoint import SigningKey
from arborist.providence.ledger import Ledger
from arborist.providence.promotions import NewPromotion, Retirement, write_promotions
from arborist.providence.proof import PublishedShards, prove
from arborist.providence.record import ProvidenceRecord
from tests.arborist.providence.proven import ProvenHome
from tests.arborist.providence.runs import evidence, new_record, retrieval


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: FixedClock) -> Iterator[Ledger]:
    with Ledger.open(tmp_path, clock) as opened:
        yield opened


def promote_and_retire(ledger: Ledger) -> None:
    """Promote three answers, one of them in the place of another, and retire the third."""
    records = list(ledger.records())[-3:]
    first, second, third = (
        NewPromotion(
            document_root=leaf_hash(record.cache_key.encode()).hex(),
            cache_key=record.cache_key,
            record_id=record.record_id,
            run_dag_root=record.run_dag_root,
            question_hash=record.question_hash,
            conversation_hash=record.conversation_hash,
            kindergarten_seconds=3600,
        )
        for record in records
    )
    write_promotions(ledger, [first, third, replace(second, supersedes=first.document_root)], [])
    write_promotions(ledger, [], [Retirement(third.document_root, third.cache_key, "falsification-state")])


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
        promote_and_retire(ledger)
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


@pytest.fixture
def proven_home(ledger: Ledger, tmp_path: Path) -> ProvenHome:
    return ProvenHome.of(tmp_path, ledger)


def proven(home: ProvenHome, records: Sequence[ProvidenceRecord]) -> list[bytes]:
    home.sign()
    log = AuditLog.of(home.ledger)
    with PublishedShards(home.path) as shards:
        return [prove(home.ledger, log, shards, record) for record in records]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bundle of the last of three records that lean on each other."""
    path = tmp_path_factory.mktemp("bundle")
    with Ledger.open(path, FixedClock()) as ledger:
        home = ProvenHome.of(path, ledger)
        return proven(home, home.chain()[2:])[0]


@pytest.fixture(scope="session")
def other_bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle of another ledger, signed by another key."""
    path = tmp_path_factory.mktemp("other")
    with Ledger.open(path, FixedClock()) as ledger:
        home = ProvenHome.of(path, ledger)
        return proven(home, [home.recorded("Who else is at war?")])[0]


@pytest.fixture(scope="session")
def two_hundred_bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of bundles: of records with one to four chunks, every tenth of them leaning on others."""
    path = tmp_path_factory.mktemp("many")
    with Ledger.open(path, FixedClock()) as ledger:
        home = ProvenHome.of(path, ledger)
        records: list[ProvidenceRecord] = []
        for number in range(200):
            leaning_on = records[-2:] if number % 10 == 9 else []
            record = home.recorded(f"Question {number}?", ["war"] * (number % 3), 1 + number % 4, leaning_on)
            records.append(record)
        bundles = proven(home, records)
    files = [path / f"{number}.json" for number in range(200)]
    for file, data in zip(files, bundles, strict=True):
        file.write_bytes(data)
    return files
