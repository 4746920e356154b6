"""Replay: the same run again, digest by digest, and what it says where it cannot be the same."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arborist.answering.ask import Asker, open_asker
from arborist.answering.verifier import Verifier
from arborist.answering.verifier_policy import VerifierPolicy
from arborist.corpus.document_chunks import write_document_chunks
from arborist.corpus.fts_index import write_fts_index
from arborist.policy import Policy
from arborist.providence.ledger import Ledger
from arborist.providence.record import ProvidenceRecord
from arborist.providence.replay import EXIT_CODES, Outcome, Replay, replay, worst
from arborist.retrieval.plan import Filters
from arborist.retrieval.retrieve import Query
from arborist.workspace import Workspace

QUESTION = "How long is the bridge over the river?"


@pytest.fixture
def asker(workspace: Workspace) -> Iterator[Asker]:
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        yield open_asker(workspace, ledger)


def recorded(asker: Asker, *keywords: str) -> ProvidenceRecord:
    return asker.ask(Query(QUESTION, keywords)).record


def with_policy(asker: Asker, **changes: object) -> Asker:
    return replace(asker, policy=replace(asker.policy, **changes))


def test_a_record_is_reproduced_answer_and_verdict_included(asker: Asker) -> None:
    record = recorded(asker)
    assert replay(record, asker) == Replay(record.cache_key, Outcome.REPRODUCED, (), answered=True)


@pytest.mark.parametrize("keywords", [(), ("steel",), ("river", "steel arch")])
def test_keywords_are_replayed_as_they_were(asker: Asker, keywords: tuple[str, ...]) -> None:
    assert replay(recorded(asker, *keywords), asker).outcome is Outcome.REPRODUCED


def test_filters_and_limits_are_replayed_as_they_were(asker: Asker, workspace: Workspace) -> None:
    source = workspace.config.sources[0].name
    query = Query(QUESTION, (), 2, 5, 500, Filters((source,), ()))
    assert replay(asker.ask(query).record, asker).outcome is Outcome.REPRODUCED


def test_replay_records_nothing(asker: Asker) -> None:
    record = recorded(asker)
    head = asker.ledger.head()
    replay(record, asker)
    assert asker.ledger.head() == head


def test_a_shard_at_another_root_is_named(asker: Asker, workspace: Workspace) -> None:
    record = recorded(asker)
    moved = workspace.config.shard_names[0]
    source = workspace.config.source_of_shard(moved).name
    chunker = replace(workspace.corpus.chunker, max_characters=37)
    write_document_chunks(workspace.home, source, moved, chunker)
    write_fts_index(workspace.home, moved)
    assert replay(record, asker) == Replay(record.cache_key, Outcome.CORPUS_MOVED, (moved,))


def test_a_missing_shard_is_named(asker: Asker, workspace: Workspace) -> None:
    record = recorded(asker)
    gone = workspace.config.shard_names[-1]
    workspace.home.shard_file(gone).unlink()
    assert replay(record, asker).parts == (gone,)


@pytest.mark.parametrize(
    ("part", "policy"),
    [
        ("ranking_policy_hash", {"ranking": replace(Policy().ranking, bm25_b=0.5)}),
        ("governance_policy_hash", {"answering": replace(Policy().answering, primary_budget_weight=0.5)}),
    ],
)
def test_the_policy_part_that_moved_is_named(asker: Asker, part: str, policy: dict[str, object]) -> None:
    record = recorded(asker)
    assert replay(record, with_policy(asker, **policy)) == Replay(record.cache_key, Outcome.POLICY_MOVED, (part,))


def test_another_verifier_is_named(asker: Asker) -> None:
    record = recorded(asker)
    other = replace(asker, verifier=Verifier(VerifierPolicy(min_terms=3)))
    assert replay(record, other).parts == ("verifier_policy_hash",)


def test_the_same_inputs_with_another_result_diverge_and_name_the_stage(asker: Asker) -> None:
    record = recorded(asker)
    wrong = replace(asker, model=_Contrary(asker))
    found = replay(record, wrong)
    assert found.outcome is Outcome.DIVERGED
    assert "answer: answer_hash" in found.parts


class _Contrary:
    """The same model by name that says something else."""

    deterministic = True

    def __init__(self, asker: Asker) -> None:
        self.identity = asker.model.identity
        self._model = asker.model

    def answer(self, question: str, evidence: object, messages: object) -> object:
        told = self._model.answer(question, evidence, messages)  # type: ignore[arg-type]
        return replace(told, text=told.text + " And more.")


@pytest.mark.parametrize("privacy", ["full", "hashes"])
@pytest.mark.parametrize("bound", [True, False])
def test_records_under_every_switch_are_reproduced_under_any_other(
    asker: Asker, privacy: str, bound: bool
) -> None:
    switches = replace(asker.policy.provenance, dag_privacy=privacy, bind_keywords_in_run_dag=bound)
    record = recorded(with_policy(asker, provenance=switches), "steel")
    assert replay(record, asker).outcome is Outcome.REPRODUCED


def test_a_record_whose_plan_was_not_kept_cannot_be_replayed(asker: Asker) -> None:
    switches = replace(asker.policy.provenance, store_keywords_on_record=False)
    record = recorded(with_policy(asker, provenance=switches), "steel")
    assert replay(record, asker).outcome is Outcome.NOT_REPLAYABLE


def test_the_worst_outcome_decides_and_every_outcome_has_a_code_of_its_own() -> None:
    def of(outcome: Outcome) -> Replay:
        return Replay("key", outcome)

    assert worst([]) is Outcome.REPRODUCED
    assert worst([of(Outcome.REPRODUCED), of(Outcome.DIVERGED), of(Outcome.CORPUS_MOVED)]) is Outcome.DIVERGED
    assert len(set(EXIT_CODES.values())) == len(Outcome)


@pytest.fixture(scope="module")
def squad_home(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """200 questions of squad2_wiki asked over all its paragraphs."""
    from bench.retrieval_quality import squad2_wiki

    folder = tmp_path_factory.mktemp("squad")
    bench_set = squad2_wiki(shared_data, folder)
    workspace = Workspace.open(folder / "home", bench_set.config)
    _built(workspace)
    with Ledger.open(workspace.home.root, workspace.clock) as ledger:
        squad_asker = open_asker(workspace, ledger)
        for question in bench_set.graded.golden.questions[:200]:
            squad_asker.ask(Query(question.question))
    return workspace


def _built(workspace: Workspace) -> None:
    from arborist.corpus.source_documents import write_source_documents
    from arborist.corpus.sources import open_source

    for source in workspace.config.sources:
        write_source_documents(open_source(source), workspace.home)
        for shard in source.shard_names:
            write_document_chunks(workspace.home, source.name, shard, workspace.corpus.chunker)
            write_fts_index(workspace.home, shard)


def _replayed(workspace: Workspace) -> list[Outcome]:
    with Ledger.open_readonly(workspace.home.root, workspace.clock) as ledger:
        squad_asker = open_asker(workspace, ledger)
        return [replay(record, squad_asker).outcome for record in ledger.records()]


@pytest.mark.slow
def test_200_records_are_reproduced_also_after_vacuum_and_a_rebuild_in_another_order(
    squad_home: Workspace,
) -> None:
    reproduced = [Outcome.REPRODUCED] * len(_replayed(squad_home))
    assert len(reproduced) >= 195  # a few of the 200 questions are asked twice in the set
    assert _replayed(squad_home) == reproduced
    for path in (squad_home.home.ledger_file, *squad_home.home.shards_folder.glob("*.db")):
        with sqlite3.connect(path) as connection:
            connection.execute("VACUUM")
    assert _replayed(squad_home) == reproduced
    documents = squad_home.config.sources[0].path
    assert documents is not None
    for path in sorted(documents.glob("*.jsonl")):
        path.write_text("".join(reversed(path.read_text("utf-8").splitlines(keepends=True))), "utf-8")
    for folder in ("documents", "chunks", "shards"):
        shutil.rmtree(squad_home.home.root / folder)
    _built(squad_home)
    assert _replayed(squad_home) == reproduced


@pytest.mark.slow
@pytest.mark.parametrize("python", os.environ.get("ARBORIST_OTHER_PYTHONS", "").split(os.pathsep))
def test_200_records_are_reproduced_by_other_pythons(squad_home: Workspace, python: str) -> None:
    if not python:
        pytest.skip("name interpreters that have the dependencies in ARBORIST_OTHER_PYTHONS")
    places = ("--home", str(squad_home.home.root), "--config", str(squad_home.config.path))
    done = subprocess.run(
        [python, "-m", "arborist", "replay", "--all", "--json", *places],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert done.returncode == 0, done.stderr
    assert {item["outcome"] for item in json.loads(done.stdout)["replays"]} == {"reproduced"}
