"""An entailment model can lower what the rules let through, never raise it, and is part of the policy's digest."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arborist.answering.chat_client import ChatClient, ChatSettings
from arborist.answering.sidecar import ClassifierModel, Entailment, JudgeModel, Label
from arborist.answering.verifier import Verifier
from arborist.errors import ConfigError, ModelError
from tests.chat_endpoint import Answer, Endpoint
from tests.evidence import evidence

EVIDENCE = [evidence(1, "The bridge opened in 1932."), evidence(2, "The tower is tall.")]


@dataclass
class Opinion:
    """An entailment model of one opinion."""

    label: Label
    name: str = "opinion"

    @property
    def identity(self) -> dict[str, Any]:
        return {"kind": "test", "name": self.name}

    def judge(self, premise: str, claim: str) -> Entailment:
        return Entailment(self.label, 1.0)


def judgement(content: str) -> Answer:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return Answer(json.dumps({"choices": [choice]}))


@pytest.fixture
def judge(endpoint: Endpoint) -> JudgeModel:
    settings = ChatSettings(name="judge", base_url=endpoint.base_url, output="json_schema", timeout_seconds=5)
    return JudgeModel(ChatClient(settings, sleep=lambda seconds: None))


def test_what_is_supported_and_entailed_is_entailed() -> None:
    (claim,) = Verifier(sidecar=Opinion("entailment")).verify("The bridge opened in 1932. [E1]", EVIDENCE).claims
    assert (claim.state, claim.semantic_demoted) == ("entailed", False)


@pytest.mark.parametrize(
    ("label", "finding"), [("neutral", "sidecar-neutral"), ("contradiction", "sidecar-contradicted")]
)
def test_what_the_sidecar_does_not_find_entailed_is_demoted(label: Label, finding: str) -> None:
    verdict = Verifier(sidecar=Opinion(label)).verify("The bridge opened in 1932. [E1]", EVIDENCE)
    (claim,) = verdict.claims
    assert (claim.state, claim.findings, claim.semantic_demoted) == ("anchored", (finding,), True)
    assert verdict.audit_mode == "UNGROUNDED"


def test_no_sidecar_lifts_what_the_rules_refuse() -> None:
    answer = "The bridge opened in 1933. [E1] The bridge opened in 1932. [E9]"
    with_sidecar = Verifier(sidecar=Opinion("entailment")).verify(answer, EVIDENCE)
    assert with_sidecar == Verifier().verify(answer, EVIDENCE)


def test_the_digest_tells_verifiers_with_other_sidecars_apart() -> None:
    sidecars = [None, Opinion("neutral"), Opinion("neutral", name="other")]
    assert len({Verifier(sidecar=sidecar).digest() for sidecar in sidecars}) == 3


def test_a_judge_is_asked_by_schema_about_premise_and_claim(endpoint: Endpoint, judge: JudgeModel) -> None:
    endpoint.plays(judgement('{"label": "entailment", "score": 0.9}'))
    (claim,) = Verifier(sidecar=judge).verify("The bridge opened in 1932. [E1]", EVIDENCE).claims
    assert claim.state == "entailed"
    (request,) = endpoint.requests
    assert request["response_format"]["type"] == "json_schema"
    assert json.loads(request["messages"][1]["content"]) == {
        "claim": "The bridge opened in 1932.",
        "premise": "The bridge opened in 1932.",
    }


@pytest.mark.parametrize(
    "content",
    [
        "entailment",
        '{"label": "yes", "score": 1}',
        '{"label": "entailment", "score": 2}',
        '{"label": "entailment", "score": true}',
        '{"label": "entailment"}',
        "[]",
    ],
)
def test_a_judgement_out_of_form_fails_closed(endpoint: Endpoint, judge: JudgeModel, content: str) -> None:
    endpoint.plays(judgement(content))
    with pytest.raises(ModelError):
        judge.judge("a", "b")
    (claim,) = Verifier(sidecar=judge).verify("The bridge opened in 1932. [E1]", EVIDENCE).claims
    assert (claim.state, claim.findings) == ("anchored", ("sidecar-failed",))


def test_a_classifier_that_is_not_there_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"not installed|cannot be loaded"):
        ClassifierModel(str(tmp_path / "nothing")).judge("a", "b")


@pytest.mark.slow
def test_a_classifier_from_a_local_folder_gives_a_label_and_its_probability(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the extra `nli` is not installed")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bridge", "opened", "is", "tall"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    labels = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=len(words), id2label=labels, num_labels=3, **shape)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    classifier = ClassifierModel(str(tmp_path))
    judged = classifier.judge("the bridge opened", "the bridge is tall")
    assert judged == classifier.judge("the bridge opened", "the bridge is tall")
    assert judged.label in ("entailment", "neutral", "contradiction")
    assert 1 / 3 <= judged.score <= 1
