"""Lineage: whatever rests on what has fallen is refused the moment it is read, and nothing else is."""

import random
import time
from pathlib import Path

import pytest

from arborist.answering.model import Claim, ModelAnswer, ModelIdentity
from arborist.answering.run_dag import Answered, cache_key, retrieval_nodes, run_dag
from arborist.merkle import leaf_hash
from arborist.policy import SELF_REFERENCE, ProvenancePolicy
from arborist.providence.audit_log import AuditLog, sign_checkpoint
from arborist.providence.bundle_verifier import verify_bundle
from arborist.providence.checkpoint import SigningKey
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger
from arborist.providence.lineage import (
    blast_radius,
    refusal_of_document,
    refusal_of_record,
    refused_roots,
)
from arborist.providence.promotions import NewPromotion, write_promotions
from arborist.providence.proof import PublishedShards, prove
from arborist.providence.record import NewRecord, ProvidenceRecord
from arborist.providence.replay import Outcome, replay
from arborist.providence.searched_shards import SearchedShards
from arborist.retrieval.context import Evidence
from arborist.retrieval.promoted import promoted_uri
from bench.bulk_ledger import fill
from tests.arborist.providence.answers import ANY_GENERATION, AnswersHome
from tests.arborist.providence.runs import evidence, retrieval
from tests.corpora import WHEN_ALDER


def document_root(record: ProvidenceRecord) -> str:
    return leaf_hash(record.run_dag_root.encode()).hex()


def promoted_evidence(record: ProvidenceRecord, number: int) -> Evidence:
    text = f"Answer {record.cache_key}"
    return Evidence(
        number=number,
        document_root=document_root(record),
        chunk_index=0,
        leaf_hash=leaf_hash(text.encode()).hex(),
        role=SELF_REFERENCE,
        shard="providence-000",
        uri=promoted_uri(record.cache_key),
        title="",
        text=text,
    )


def leaning_record(ledger: Ledger, question: str, parents: list[ProvidenceRecord]) -> ProvidenceRecord:
    """A promoted STRICT record that cites the promoted answers of all `parents`, and one chunk of the corpus."""
    items = [evidence(), *(promoted_evidence(parent, number) for number, parent in enumerate(parents, start=2))]
    claim = Claim("It is so.", tuple(item.number for item in items), "supported")
    answered = Answered(ModelAnswer("It is so."), ModelIdentity("m", "1"), (claim,), {"rules": "test 1"}, "STRICT")
    dag = run_dag(retrieval_nodes(retrieval(question, (), items)), answered)
    new = NewRecord.of_run(dag, cache_key(dag.cache_key_parts()), items, (), ProvenancePolicy())
    record = ledger.append_record(new)
    promotion = NewPromotion(
        document_root=document_root(record),
        cache_key=record.cache_key,
        record_id=record.record_id,
        run_dag_root=record.run_dag_root,
        question_hash=record.question_hash,
        conversation_hash=record.conversation_hash,
        kindergarten_seconds=0,
    )
    write_promotions(ledger, [promotion], [])
    return record


def forest(ledger: Ledger, chance: random.Random, name: str) -> dict[str, tuple[ProvidenceRecord, set[str]]]:
    """Records that lean on up to three earlier ones, each with the keys of all its ancestors."""
    made: dict[str, tuple[ProvidenceRecord, set[str]]] = {}
    for number in range(chance.randrange(2, 9)):
        parents = chance.sample(list(made), k=min(len(made), chance.choice([0, 1, 1, 2, 3])))
        record = leaning_record(ledger, f"{name}.{number}?", [made[key][0] for key in parents])
        ancestors = set(parents).union(*(made[key][1] for key in parents))
        made[record.cache_key] = (record, ancestors)
    return made


def test_falsifying_any_ancestor_refuses_every_descendant_at_once_in_a_hundred_random_forests(
    ledger: Ledger,
) -> None:
    for trial in range(100):
        chance = random.Random(trial)
        made = forest(ledger, chance, f"forest {trial}")
        fallen = chance.choice(list(made))
        ledger.set_state(fallen, chance.choice(["failed", "stale", "quarantined"]), "trial")
        for key, (stored, ancestors) in made.items():
            record = ledger.record(key)
            assert record is not None
            leans = fallen in ancestors or key == fallen
            assert bool(refusal_of_record(ledger, record)) is leans
            assert bool(refusal_of_document(ledger, document_root(stored))) is leans
        radius = {item.cache_key for item in blast_radius(ledger, fallen)}
        assert radius == {key for key, (_, ancestors) in made.items() if fallen in ancestors}
        assert radius == set(ledger.leaning_on(fallen))
        ledger.set_state(fallen, "live", "trial over")
        assert not any(refusal_of_record(ledger, record) for record, _ in made.values())
    assert fsck(ledger.path.parent).faults == ()


def test_a_retired_ancestor_refuses_until_the_same_run_stands_again(ledger: Ledger) -> None:
    first = leaning_record(ledger, "First?", [])
    second = leaning_record(ledger, "Second?", [first])
    ledger.retire(first.cache_key, "asked anew")
    assert "was retired" in refusal_of_record(ledger, second)
    leaning_record(ledger, "First?", [])
    assert refusal_of_record(ledger, second) == ""


def test_a_promoted_document_that_no_record_stands_behind_is_refused(ledger: Ledger) -> None:
    stranger = evidence(uri="arborist://providence/ab", role=SELF_REFERENCE)
    assert list(refused_roots(ledger, [stranger, evidence()])) == [stranger.document_root]


def test_primary_evidence_is_never_refused(ledger: Ledger) -> None:
    assert refused_roots(ledger, [evidence()]) == {}


def test_a_cached_answer_is_not_served_as_strict_once_an_ancestor_has_fallen(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path, ANY_GENERATION) as home:
        first, *_, last = home.generations(4)
        assert last.audit_mode == "STRICT"
        hit = home.ask(last.record.question, ["In generation 2, when did the Alder Bridge open?"])
        assert (hit.cache_hit, hit.audit_mode, hit.refusal) == (True, "STRICT", "")
        home.ledger.set_state(first.record.cache_key, "failed", "the bridge opened later")
        hit = home.ask(last.record.question, ["In generation 2, when did the Alder Bridge open?"])
        assert (hit.cache_hit, hit.audit_mode) == (True, "UNGROUNDED")
        assert f"{first.record.cache_key[:16]} that it leans on is failed" in hit.refusal


def test_a_new_answer_cannot_rest_on_what_has_fallen_though_the_index_holds_it(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path, ANY_GENERATION) as home:
        first = home.ask(WHEN_ALDER).record
        home.promote()
        home.ledger.set_state(first.cache_key, "stale", "the source has changed")
        reply = home.ask("When was the Alder Bridge opened to all?", [WHEN_ALDER])
        assert first.cache_key in [item.uri.rpartition("/")[2] for item in reply.evidence]
        assert reply.audit_mode == "UNGROUNDED"
        assert reply.claims[0].findings == ("evidence-refused",)


def test_what_leans_on_the_fallen_is_retired_by_the_next_pass_and_comes_back_with_it(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path, ANY_GENERATION) as home:
        first, second, _ = home.generations(3)
        home.promote()
        home.ledger.set_state(first.record.cache_key, "failed", "wrong")
        report = home.promote(after=1)
        assert (report.retired, report.unchanged) == (3, 0)
        home.ledger.set_state(first.record.cache_key, "live", "right after all")
        assert home.promote(after=1).promoted == 3
        assert refusal_of_record(home.ledger, second.record) == ""


def test_eight_generations_are_proven_in_one_bundle_that_verifies_quickly(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path, ANY_GENERATION) as home:
        last = home.generations(8)[-1].record
        root = home.workspace.home.root
        sign_checkpoint(root, home.ledger, SigningKey.of_home(root))
        with PublishedShards(root) as published:
            shards = SearchedShards(published, home.ledger, home.workspace.corpus.chunker)
            bundle = prove(home.ledger, AuditLog.of(home.ledger), shards, last)
    seconds = []
    for _ in range(5):
        started = time.process_time()
        report = verify_bundle(bundle)
        seconds.append(time.process_time() - started)
    assert (report.records, report.cache_key) == (8, last.cache_key)
    assert min(seconds) < 0.05


@pytest.mark.slow
def test_the_blast_radius_over_a_hundred_thousand_records_is_listed_in_under_200_ms(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path) as home:
        first = home.ask(WHEN_ALDER).record
        fill(home.ledger, first, range(100_000))
        keys = [first.cache_key]
        keys += [
            key for (key,) in home.ledger.rows("SELECT cache_key FROM providence_records WHERE record_id > 3")
        ]
        with home.ledger.changes() as changes:
            changes.connection.executemany(
                "INSERT INTO record_ancestors(record_id, document_root, cache_key) VALUES (?, ?, ?)",
                [(number + 3, "0" * 64, keys[(number - 1) // 3]) for number in range(1, 10_001)],
            )
        started = time.process_time()
        radius = blast_radius(home.ledger, first.cache_key)
        seconds = time.process_time() - started
    assert len(radius) == 10_000
    assert seconds < 0.2


def test_a_replay_judges_by_what_stood_when_the_record_was_made(tmp_path: Path) -> None:
    with AnswersHome.opened(tmp_path, ANY_GENERATION) as home:
        first = home.ask(WHEN_ALDER).record
        home.promote()
        before = home.ask("When was the Alder Bridge opened to all?", [WHEN_ALDER]).record
        home.ledger.set_state(first.cache_key, "failed", "wrong")
        after = home.ask("When did the Alder Bridge open to anyone?", [WHEN_ALDER]).record
        assert (before.audit_mode, after.audit_mode) == ("STRICT", "UNGROUNDED")
        outcomes = [replay(record, home.asker([WHEN_ALDER])).outcome for record in (before, after)]
        home.ledger.set_state(first.cache_key, "live", "right after all")
        outcomes += [replay(record, home.asker([WHEN_ALDER])).outcome for record in (before, after)]
    assert outcomes == [Outcome.REPRODUCED] * 4
