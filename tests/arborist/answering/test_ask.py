"""The pipeline: what is answered from the cache, what is recorded, and what every switch does."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from arborist.answering.ask import Asker, Reply, open_asker
from arborist.answering.extractive import ExtractiveModel
from arborist.answering.model import HYBRID, STRICT, UNGROUNDED, Message, ModelAnswer, ModelIdentity
from arborist.answering.run_dag import RunDag, cache_key
from arborist.answering.verifier import Verifier
from arborist.corpus.chunking import Chunker
from arborist.corpus.document_chunks import write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.errors import CorpusError, InputError, LedgerError, ModelError
from arborist.hashing import canonical_json, question_hash
from arborist.policy import AnsweringPolicy, ProvenancePolicy
from arborist.providence.audit_events import EventType
from arborist.providence.fsck import fsck
from arborist.providence.ledger import Ledger, RecordFilter
from arborist.retrieval.context import Evidence, context_root
from arborist.retrieval.plan import Filters
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace
from tests.conftest import ROOT
from tests.corpora import WHEN_ALDER, build, write_rows

SWITCHES = [item.name for item in fields(ProvenancePolicy) if item.name != "dag_privacy"]
SECRET = "Zanzibar"


@dataclass(frozen=True)
class SpeakingModel:
    """A model that says what it is told to, after doing what it is told to."""

    text: str = "The Alder Bridge opened in 1932. [E1]"
    before: Callable[[], object] = lambda: None
    heard: list[Sequence[Message]] = field(default_factory=list)
    identity: ModelIdentity = field(default_factory=lambda: ModelIdentity("speaking", "1"))
    deterministic: bool = True

    def answer(self, question: str, evidence: Sequence[Evidence], messages: Sequence[Message]) -> ModelAnswer:
        self.heard.append(messages)
        self.before()
        return ModelAnswer(self.text)


def fail() -> None:
    raise ModelError("the endpoint does not answer")


@contextmanager
def asking(workspace: Workspace, **changes: Any) -> Iterator[Asker]:
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        yield replace(open_asker(workspace, ledger), **changes)


@pytest.fixture
def asker(workspace: Workspace) -> Iterator[Asker]:
    with asking(workspace) as found:
        yield found


def under(asker: Asker, **switches: Any) -> Asker:
    """The asker under other switches of the provenance policy."""
    return replace(asker, policy=replace(asker.policy, provenance=ProvenancePolicy(**switches)))


def showing_keywords(asker: Asker) -> Asker:
    return replace(asker, policy=replace(asker.policy, answering=AnsweringPolicy(show_keywords_to_model=True)))


def faults(asker: Asker) -> list[object]:
    return list(fsck(asker.ledger.path.parent).faults)


def event_types(asker: Asker) -> list[str]:
    return [str(event.type) for event in asker.ledger.events()]


def records(asker: Asker) -> list[str]:
    return [record.cache_key for record in asker.ledger.records(RecordFilter(with_retired=True))]


def test_a_question_is_answered_with_evidence_and_recorded(asker: Asker) -> None:
    reply = asker.ask(Query(WHEN_ALDER))
    assert (reply.audit_mode, reply.cache_hit) == (STRICT, False)
    assert reply.record.answer == "The Alder Bridge opened in 1932. [E1]"
    assert [(claim.citations, claim.state) for claim in reply.claims] == [((1,), "supported")]
    assert reply.evidence[0].uri == "bridges/alder"
    assert asker.ledger.record(reply.record.cache_key) == reply.record
    assert faults(asker) == []


def test_the_reply_has_the_names_of_the_specification(asker: Asker) -> None:
    reply = asker.ask(Query(WHEN_ALDER)).to_json()
    assert reply["question_hash"] == question_hash(WHEN_ALDER)
    assert reply["run_dag_root"] == reply["record_run_dag_root"]
    assert (reply["audit_mode"], reply["cache_hit"], reply["refusal"]) == (STRICT, False, "")
    assert reply["sources"][0]["cited"]
    assert [source["evidence"] for source in reply["sources"]] == [1, 2]
    json.dumps(reply)


def test_every_digest_of_a_reply_recomputes_from_its_parts(asker: Asker) -> None:
    reply = asker.ask(Query(WHEN_ALDER, ("river",)))
    dag = reply.record.dag
    assert dag.faults() == []
    assert dag.root == reply.run_dag_root == reply.record.run_dag_root
    assert reply.retrieval_plan_hash == reply.retrieval_plan.digest() == reply.record.retrieval_plan_hash
    assert reply.record.context_root == context_root([item.canonical() for item in reply.evidence])
    assert reply.record.cache_key == cache_key(dag.cache_key_parts())


def test_the_same_question_is_answered_from_the_cache_and_says_so(asker: Asker) -> None:
    first, second = asker.ask(Query(WHEN_ALDER)), asker.ask(Query(f"  {WHEN_ALDER}\n"))
    assert second.cache_hit
    assert second.record == first.record
    assert second.claims == first.claims
    assert second.run_dag_root == first.run_dag_root
    assert records(asker) == [first.record.cache_key]
    assert event_types(asker)[-1] == EventType.CACHE_HIT
    assert faults(asker) == []


def test_a_question_in_other_case_is_another_question(asker: Asker) -> None:
    assert not asker.ask(Query(WHEN_ALDER)).cache_hit
    assert not asker.ask(Query(WHEN_ALDER.upper())).cache_hit


def test_a_hit_with_other_keywords_has_a_root_of_its_own_beside_the_records(asker: Asker) -> None:
    first, hit = asker.ask(Query(WHEN_ALDER)), asker.ask(Query(WHEN_ALDER, ("bridge",)))
    assert hit.cache_hit
    assert hit.record == first.record
    assert hit.run_dag_root != first.run_dag_root
    shown = hit.to_json()
    assert (shown["run_dag_root"], shown["record_run_dag_root"]) == (hit.run_dag_root, first.run_dag_root)
    assert shown["retrieval_keywords"] == ["bridge"]
    assert faults(asker) == []


def test_nothing_found_is_recorded_too_and_never_strict(asker: Asker) -> None:
    reply = asker.ask(Query("Who won the cup in 1999?"))
    assert (reply.sources, reply.evidence, reply.claims) == ((), (), ())
    assert reply.audit_mode == UNGROUNDED
    assert asker.ask(Query("Who won the cup in 1999?")).cache_hit
    assert faults(asker) == []


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The Alder Bridge opened in 1932. [E1]", STRICT),
        ("The Alder Bridge opened in 1933. [E1]", UNGROUNDED),
        ("The Alder Bridge opened in 1932. [E1] It is painted green. [E1]", HYBRID),
        ("The Alder Bridge opened in 1932.", UNGROUNDED),
        ("The Alder Bridge opened in 1932. [E9]", UNGROUNDED),
    ],
)
def test_the_verdict_is_on_what_the_model_said(workspace: Workspace, text: str, verdict: str) -> None:
    with asking(workspace, model=SpeakingModel(text)) as asker:
        reply = asker.ask(Query(WHEN_ALDER))
        assert reply.audit_mode == verdict
        assert faults(asker) == []


def test_another_model_gives_another_record(workspace: Workspace, asker: Asker) -> None:
    ours = asker.ask(Query(WHEN_ALDER))
    theirs = replace(asker, model=SpeakingModel()).ask(Query(WHEN_ALDER))
    assert not theirs.cache_hit
    assert theirs.record.cache_key != ours.record.cache_key
    assert theirs.record.model_identity == SpeakingModel().identity.digest()


def test_a_model_that_fails_leaves_no_trace(asker: Asker) -> None:
    failing = replace(asker, model=SpeakingModel(before=fail))
    with pytest.raises(ModelError):
        failing.ask(Query(WHEN_ALDER))
    assert (records(asker), event_types(asker)) == ([], [])


def test_a_model_that_fails_at_asking_anew_leaves_the_old_record_in_use(asker: Asker) -> None:
    model = SpeakingModel()
    first = replace(asker, model=model).ask(Query(WHEN_ALDER))
    with pytest.raises(ModelError):
        replace(asker, model=replace(model, before=fail)).ask_anew(Query(WHEN_ALDER))
    assert asker.ledger.record(first.record.cache_key) == first.record


def test_asking_anew_retires_the_old_record_and_makes_a_new_one(asker: Asker) -> None:
    first = asker.ask(Query(WHEN_ALDER))
    second = asker.ask_anew(Query(WHEN_ALDER))
    assert not second.cache_hit
    assert second.record.record_id != first.record.record_id
    assert records(asker) == [first.record.cache_key] * 2
    assert asker.ledger.record(first.record.cache_key) == second.record
    assert EventType.RECORD_RETIRED in event_types(asker)
    assert asker.ask(Query(WHEN_ALDER)).record == second.record
    assert faults(asker) == []


def test_asking_anew_what_was_never_asked_is_asking(asker: Asker) -> None:
    assert not asker.ask_anew(Query(WHEN_ALDER)).cache_hit
    assert EventType.RECORD_RETIRED not in event_types(asker)


@pytest.mark.parametrize("state", ["failed", "stale", "quarantined"])
def test_a_falsified_record_is_not_served_as_strict_and_cannot_be_asked_away(asker: Asker, state: str) -> None:
    first = asker.ask(Query(WHEN_ALDER))
    asker.ledger.set_state(first.record.cache_key, state, "it was wrong")
    reply = asker.ask(Query(WHEN_ALDER))
    assert reply.cache_hit
    assert reply.audit_mode == UNGROUNDED
    assert state in reply.refusal
    assert (reply.to_json()["audit_mode"], reply.to_json()["falsification_state"]) == (UNGROUNDED, state)
    with pytest.raises(LedgerError, match=state):
        asker.ask_anew(Query(WHEN_ALDER))
    assert asker.ledger.record(first.record.cache_key) is not None
    assert faults(asker) == []


def test_a_record_that_is_revived_is_strict_again(asker: Asker) -> None:
    first = asker.ask(Query(WHEN_ALDER))
    asker.ledger.set_state(first.record.cache_key, "failed", "it seemed wrong")
    asker.ledger.set_state(first.record.cache_key, "live", "it is right")
    assert asker.ask(Query(WHEN_ALDER)).audit_mode == STRICT


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE providence_records SET answer = 'The Alder Bridge opened in 1923. [E1]'", "row"),
        ("UPDATE providence_records SET audit_mode = 'STRICT', claims = '[]'", "row"),
        ("UPDATE providence_records SET run_dag = CAST(replace(run_dag, '1932', '1923') AS BLOB)", "row"),
        ("UPDATE audit_events SET payload = '{}' WHERE type = 'answer_recorded'", "is not what was recorded"),
        ("DELETE FROM audit_events", "there is no audit event"),
    ],
)
def test_a_record_that_was_changed_answers_nothing_until_asked_anew(asker: Asker, sql: str, told: str) -> None:
    first = asker.ask(Query(WHEN_ALDER))
    with closing(sqlite3.connect(asker.ledger.path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(sql)
        connection.commit()
    before = asker.ledger.head()
    with pytest.raises(LedgerError, match=told):
        asker.ask(Query(WHEN_ALDER))
    assert asker.ledger.head() == before
    again = asker.ask_anew(Query(WHEN_ALDER))
    assert (again.record.answer, again.run_dag_root) == (first.record.answer, first.run_dag_root)
    assert asker.ask(Query(WHEN_ALDER)).record == again.record


def test_a_record_falsified_while_the_model_answers_anew_is_not_washed_off(workspace: Workspace) -> None:
    model = SpeakingModel()
    with asking(workspace, model=model) as asker, asking(workspace) as other:
        first = asker.ask(Query(WHEN_ALDER))
        key = first.record.cache_key
        falsify = replace(model, before=lambda: other.ledger.set_state(key, "failed", "it was wrong"))
        with pytest.raises(LedgerError, match="failed"):
            replace(asker, model=falsify).ask_anew(Query(WHEN_ALDER))
        found = asker.ledger.record(key)
        assert found is not None
        assert found.falsification_state == "failed"


def test_a_run_recorded_by_another_while_the_model_answers_is_a_hit(workspace: Workspace) -> None:
    model = SpeakingModel()
    with asking(workspace, model=model) as asker, asking(workspace, model=model) as other:
        slow = replace(asker, model=replace(model, before=lambda: other.ask(Query(WHEN_ALDER))))
        reply = slow.ask(Query(WHEN_ALDER))
        assert reply.cache_hit
        assert len(records(asker)) == 1
        assert faults(asker) == []


def test_a_record_asked_anew_by_two_at_once_is_replaced_by_both_in_turn(workspace: Workspace) -> None:
    model = SpeakingModel()
    with asking(workspace, model=model) as asker, asking(workspace, model=model) as other:
        first = asker.ask(Query(WHEN_ALDER))
        slow = replace(asker, model=replace(model, before=lambda: other.ask_anew(Query(WHEN_ALDER))))
        reply = slow.ask_anew(Query(WHEN_ALDER))
        found = asker.ledger.record(first.record.cache_key)
        assert found is not None
        assert reply.record == found
        assert faults(asker) == []


def test_a_record_retired_by_another_while_the_model_answers_anew_is_no_matter(workspace: Workspace) -> None:
    model = SpeakingModel()
    with asking(workspace, model=model) as asker, asking(workspace) as other:
        key = asker.ask(Query(WHEN_ALDER)).record.cache_key
        retire = replace(model, before=lambda: other.ledger.retire(key, "by somebody else"))
        assert not replace(asker, model=retire).ask_anew(Query(WHEN_ALDER)).cache_hit
        assert faults(asker) == []


ASK = """
import sys
from pathlib import Path
from arborist.answering.ask import open_asker
from arborist.providence.ledger import Ledger
from arborist.retrieval.retrieve import Query
from tests.corpora import opened

workspace = opened(Path(sys.argv[1]))
with Ledger.open(workspace.home.root, workspace.clock) as ledger:
    asker = open_asker(workspace, ledger)
    print("ready", flush=True)
    sys.stdin.readline()
    print(asker.ask(Query(sys.argv[2])).cache_hit, flush=True)
"""


def test_processes_that_ask_the_same_at_once_make_one_record(workspace: Workspace, asker: Asker) -> None:
    command = [sys.executable, "-c", ASK, str(workspace.config.path.parent), WHEN_ALDER]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    hits = sorted(process.communicate()[0].strip() for process in processes)
    assert hits == ["False", "True", "True", "True"]
    assert len(records(asker)) == 1
    assert event_types(asker).count(EventType.CACHE_HIT) == 3
    assert faults(asker) == []


def settings() -> Iterator[dict[str, bool]]:
    """Every setting of the switches that may be configured; where it matters, also with keywords shown."""
    for values in product([False, True], repeat=len(SWITCHES)):
        found = dict(zip(SWITCHES, values, strict=True))
        in_key = found["keywords_affect_cache_key"] and found["retrieval_plan_affects_cache_key"]
        if in_key and not found["bind_keywords_in_run_dag"]:
            continue
        yield found | {"shown": False}
        if not found["keywords_affect_cache_key"] and not found["retrieval_plan_affects_cache_key"]:
            yield found | {"shown": True}


@pytest.mark.parametrize("setting", list(settings()), ids=lambda found: "".join("01"[on] for on in found.values()))
def test_every_setting_of_the_switches_gives_records_that_verify(
    built: Workspace, tmp_path: Path, setting: dict[str, bool]
) -> None:
    switches: dict[str, Any] = {name: on for name, on in setting.items() if name != "shown"}
    shown = setting["shown"]
    with Ledger.open(tmp_path, built.clock) as ledger:
        asker = under(open_asker(built, ledger), **switches)
        asker = showing_keywords(asker) if shown else asker
        plain = asker.ask(Query(WHEN_ALDER))
        hinted = asker.ask(Query(WHEN_ALDER, (SECRET,)))
        other = asker.ask(Query(WHEN_ALDER, ("bridge",)))
        again = asker.ask(Query(WHEN_ALDER, (SECRET,)))
        assert faults(asker) == []
    assert again.cache_hit
    assert (again.record, again.run_dag_root) == (hinted.record, hinted.run_dag_root)
    assert {reply.record.question_hash for reply in (plain, hinted, other)} == {question_hash(WHEN_ALDER)}
    assert {reply.audit_mode for reply in (plain, hinted, other)} == {STRICT}
    apart = (
        switches["keywords_affect_cache_key"]
        or (switches["retrieval_plan_affects_cache_key"] and switches["bind_keywords_in_run_dag"])
        or (shown and switches["keywords_affect_prompt_hash_if_prompted"])
    )
    assert (hinted.record.cache_key != other.record.cache_key) == apart
    if switches["bind_keywords_in_run_dag"]:
        assert len({reply.run_dag_root for reply in (plain, hinted, other)}) == 3
        assert hinted.retrieval_plan_hash == hinted.retrieval_plan.digest()
    if not switches["store_keywords_on_record"]:
        written = [path.read_bytes() for path in tmp_path.iterdir()]
        assert not any(SECRET.encode() in data for data in written)


def plan_payload(reply: Reply) -> dict[str, Any]:
    payload: dict[str, Any] = reply.record.dag.payloads()["retrieval_plan"]
    return payload


def test_keywords_that_are_not_bound_are_not_in_the_dag_which_still_says_there_were_some(asker: Asker) -> None:
    reply = under(asker, bind_keywords_in_run_dag=False).ask(Query(WHEN_ALDER, (SECRET,)))
    assert plan_payload(reply)["retrieval_keywords"] == []
    assert reply.record.dag.payloads()["frame"]["retrieval_mode"] == plan_payload(reply)["retrieval_mode"]
    assert plan_payload(reply)["retrieval_mode"] == "fts5+keywords"
    assert (
        reply.retrieval_plan_hash
        == reply.record.retrieval_plan_hash
        == reply.record.dag.commitment("retrieval_plan_hash")
    )
    assert json.loads(reply.record.retrieval_keywords or "") == [SECRET]


def test_keywords_that_are_not_stored_are_bound_all_the_same(asker: Asker) -> None:
    hidden = under(asker, store_keywords_on_record=False)
    first, second = hidden.ask(Query(WHEN_ALDER, (SECRET,))), hidden.ask(Query(WHEN_ALDER, ("Lisbon",)))
    assert first.record.retrieval_keywords is None
    assert "retrieval_plan" not in first.record.dag.payloads()
    assert first.run_dag_root != second.run_dag_root
    assert first.run_dag_root == under(asker).ask(Query(WHEN_ALDER, (SECRET,))).run_dag_root


def test_keywords_are_shown_to_the_model_only_where_the_policy_says_so(asker: Asker) -> None:
    model = SpeakingModel()
    replace(asker, model=model).ask(Query(WHEN_ALDER, (SECRET,)))
    showing_keywords(replace(asker, model=model)).ask(Query(WHEN_ALDER, (SECRET,)))
    plain, shown = ("".join(message.content for message in messages) for messages in model.heard)
    assert SECRET not in plain
    assert SECRET in shown


def test_keywords_shown_to_the_model_are_in_the_prompt_hash_unless_a_switch_leaves_them_out(
    asker: Asker,
) -> None:
    shown = showing_keywords(asker)
    first, second = shown.ask(Query(WHEN_ALDER, (SECRET,))), shown.ask(Query(WHEN_ALDER, ("Lisbon",)))
    assert first.record.prompt_hash != second.record.prompt_hash
    assert first.record.cache_key != second.record.cache_key
    left_out = under(shown, keywords_affect_prompt_hash_if_prompted=False)
    assert left_out.ask(Query(WHEN_ALDER, (SECRET,))).record.prompt_hash not in {
        first.record.prompt_hash,
        second.record.prompt_hash,
    }
    assert left_out.ask(Query(WHEN_ALDER, ("Lisbon",))).cache_hit


@pytest.mark.parametrize("keywords", [(), (SECRET, "bridge")])
def test_a_dag_of_digests_has_the_root_of_the_full_one(
    built: Workspace, tmp_path: Path, keywords: tuple[str, ...]
) -> None:
    replies = []
    for privacy in ("full", "hashes"):
        with Ledger.open(tmp_path / privacy, built.clock) as ledger:
            asker = under(open_asker(built, ledger), dag_privacy=privacy)
            replies.append(asker.ask(Query(WHEN_ALDER, keywords)))
            assert faults(asker) == []
    full, hashes = replies
    assert full.run_dag_root == hashes.run_dag_root
    assert full.record.cache_key == hashes.record.cache_key
    stored = RunDag.from_blob(hashes.record.run_dag)
    assert stored.payloads() == {}
    assert WHEN_ALDER.encode() not in hashes.record.run_dag
    assert WHEN_ALDER.encode() in full.record.run_dag
    assert hashes.record.dag.payloads() == full.record.dag.payloads()


def test_earlier_turns_are_part_of_the_prompt_and_of_the_cache_key(asker: Asker) -> None:
    model = SpeakingModel()
    speaking = replace(asker, model=model)
    turns = (Message("user", "Tell me of the Alder Bridge."), Message("assistant", "It spans the Wenn. [E1]"))
    alone, after = speaking.ask(Query(WHEN_ALDER)), speaking.ask(Query(WHEN_ALDER), turns)
    assert not after.cache_hit
    assert alone.record.question_hash == after.record.question_hash
    assert alone.record.conversation_hash != after.record.conversation_hash
    assert tuple(model.heard[1])[1:3] == turns
    assert speaking.ask(Query(WHEN_ALDER), list(turns)).record == after.record
    assert not speaking.ask(Query(WHEN_ALDER), turns[::-1]).cache_hit
    assert faults(asker) == []


def test_limits_enter_the_plan_and_what_fits_enters_the_context(asker: Asker) -> None:
    reply = asker.ask(Query("river Lowfield", top_k=3, over_fetch=5, max_context_chars=70))
    plan = reply.retrieval_plan
    assert (plan.top_k, plan.over_fetch, plan.max_context_chars) == (3, 5, 70)
    assert len(reply.sources) == 3
    assert sum(len(item.text) for item in reply.evidence) <= 70
    assert [source["evidence"] for source in reply.to_json()["sources"]].count(None) == 2


def test_filters_decide_what_is_searched_and_stand_in_the_plan(asker: Asker) -> None:
    reply = asker.ask(Query("Who was born in Lowfield?", filters=Filters(sources=("people",))))
    assert [item.shard for item in reply.retrieval_plan.shard_ids] == ["people-000"]
    assert {source.uri for source in reply.sources} == {"people/field"}
    assert plan_payload(reply)["filters"] == {"sources": ["people"], "source_types": []}


def test_a_changed_corpus_is_another_context_and_another_record(workspace: Workspace, asker: Asker) -> None:
    first = asker.ask(Query(WHEN_ALDER))
    write_rows(
        workspace.config.path.parent / "land.jsonl",
        {"bridges/alder": ("Alder Bridge", "The Alder Bridge opened in 1933.")},
    )
    build(workspace)
    second = asker.ask(Query(WHEN_ALDER))
    assert not second.cache_hit
    assert second.record.answer == "The Alder Bridge opened in 1933. [E1]"
    assert first.record.context_root != second.record.context_root
    assert faults(asker) == []


def test_shards_of_two_chunkings_are_named_both_in_the_label(workspace: Workspace, asker: Asker) -> None:
    write_document_chunks(workspace.home, "land", "land-001", Chunker(40))
    write_fts_index(workspace.home, "land-001")
    reply = asker.ask(Query(WHEN_ALDER))
    assert json.loads(reply.record.chunking_version) == sorted([Chunker(1000).version, Chunker(40).version])
    assert reply.record.chunking_version == canonical_json(json.loads(reply.record.chunking_version)).decode()
    people = asker.ask(Query(WHEN_ALDER, filters=Filters(sources=("people",))))
    assert people.record.chunking_version == Chunker(1000).version
    assert faults(asker) == []


@pytest.mark.parametrize(
    "query",
    [
        Query(WHEN_ALDER, top_k=0),
        Query(WHEN_ALDER, over_fetch=2**60),
        Query(WHEN_ALDER, filters=Filters(sources=("nowhere",))),
    ],
)
def test_a_query_that_cannot_be_asked_leaves_no_trace(asker: Asker, query: Query) -> None:
    with pytest.raises(InputError):
        asker.ask(query)
    assert event_types(asker) == []


def test_a_damaged_shard_leaves_no_trace(workspace: Workspace, asker: Asker) -> None:
    workspace.home.shard_file("land-000").write_bytes(b"garbage")
    with pytest.raises(CorpusError, match=r"land-000\.db"):
        asker.ask(Query(WHEN_ALDER))
    assert event_types(asker) == []


@pytest.mark.parametrize(
    "question",
    [
        "\x00",
        '"NEAR(" OR *',
        "\U0001f333?",
        "who " * 25_000,
        "Wann öffnete die Brücke\u0301?",
        "'; DROP TABLE x; --",
    ],
)
def test_any_question_is_answered_and_recorded_as_it_is(asker: Asker, question: str) -> None:
    reply = asker.ask(Query(question))
    assert asker.ask(Query(question)).record == reply.record
    assert reply.record.question_hash == question_hash(question)
    assert faults(asker) == []


def test_two_homes_give_the_same_roots_for_the_same_question(
    built: Workspace, workspace: Workspace, tmp_path: Path
) -> None:
    roots = []
    for here in (built, workspace):
        with Ledger.open(tmp_path / here.home.root.parent.name, here.clock) as ledger:
            reply = open_asker(here, ledger).ask(Query(WHEN_ALDER, ("river",)))
            roots.append((reply.run_dag_root, reply.record.cache_key))
    assert roots[0] == roots[1]


def test_the_verifier_and_the_model_are_those_of_the_record(asker: Asker) -> None:
    record = asker.ask(Query(WHEN_ALDER)).record
    assert record.verifier_policy_hash == Verifier().digest()
    assert record.model_identity == ExtractiveModel().identity.digest()
    assert record.governance_policy_hash == asker.policy.answering.digest()


def test_a_ledger_that_is_closed_again_keeps_what_was_recorded(workspace: Workspace) -> None:
    with asking(workspace) as asker:
        reply = asker.ask(Query(WHEN_ALDER))
    with closing(Ledger.open_readonly(workspace.home.root, workspace.clock)) as ledger:
        assert ledger.record(reply.record.cache_key) == reply.record
