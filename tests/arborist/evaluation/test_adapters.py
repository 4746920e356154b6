"""Retrievers from outside: a function in a module on disk, and a real HTTP server on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from arborist.clock import FixedClock
from arborist.evaluation.adapters import CallableRetriever, HttpRetriever, callable_retriever, retriever_named
from arborist.evaluation.errors import RetrieverError
from arborist.evaluation.golden import GradedSet
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.retriever import RetrieverContext, RetrieverRegistry, declared_provenance
from arborist.evaluation.scoring import evaluate_retrieval

CONTEXT = RetrieverContext(Path("var"))


class Endpoint(BaseHTTPRequestHandler):
    """Answers by its path."""

    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path == "/hang":
            self.server.released.wait(10)  # type: ignore[attr-defined]
        elif path == "/drip":
            self._drip()
        elif path == "/status":
            self.send_error(503)
        else:
            body = json.dumps({"documentIds": ["right"] * payload["limit"], "echo": payload})
            self._answer({"/text": "no JSON", "/shape": '["a"]', "/ids": '{"documentIds": [1]}'}.get(path, body))

    def _answer(self, body: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.server.released.wait(0.02):  # type: ignore[attr-defined]
            try:
                self.wfile.write(b" ")
            except OSError:
                return

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    listening.released = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.released.set()  # type: ignore[attr-defined]
    listening.shutdown()
    listening.server_close()


def test_an_endpoint_is_asked_and_its_ids_are_the_ranking(server: str) -> None:
    assert HttpRetriever(f"{server}/search").retrieve("Wo ist das Büro? 👋", 2) == ["right", "right"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("status", "status 503"), ("text", "not JSON"), ("shape", "documentIds"), ("ids", "document id")],
)
def test_what_is_no_answer_is_an_error(server: str, path: str, reason: str) -> None:
    with pytest.raises(RetrieverError, match=reason):
        HttpRetriever(f"{server}/{path}").retrieve("?", 3)


@pytest.mark.parametrize("path", ["hang", "drip"])
def test_an_answer_that_does_not_come_in_time_is_an_error(server: str, path: str) -> None:
    with pytest.raises(RetrieverError, match=r"within 0\.2 seconds"):
        HttpRetriever(f"{server}/{path}", timeout=0.2).retrieve("?", 3)


def test_an_endpoint_that_is_not_there_never_scores_a_hit(ten_questions: GradedSet, server: str) -> None:
    with pytest.raises(RetrieverError, match="could not be reached"):
        evaluate_retrieval(ten_questions, HttpRetriever("http://127.0.0.1:9/"), FixedClock())
    run = evaluate_retrieval(ten_questions, HttpRetriever(f"{server}/search"), FixedClock())
    assert run.summary().all.top1_hits == 10


def test_an_endpoint_is_named_without_what_may_be_secret(server: str) -> None:
    host = server.removeprefix("http://")
    retriever = HttpRetriever(f"http://user:word@{host}/search?key=secret")
    assert retriever.identifier == f"http://{host}/search"


def test_a_question_that_is_not_utf8_cannot_be_sent(server: str) -> None:
    with pytest.raises(RetrieverError, match="not UTF-8"):
        HttpRetriever(server).retrieve("caf\udce9", 3)


@pytest.mark.parametrize("url", ["ftp://host/", "file:///etc/passwd", "http://", "http://[", "http://h:x/"])
def test_only_http_addresses_are_endpoints(url: str) -> None:
    with pytest.raises(RetrieverError):
        HttpRetriever(url)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "office_search.py").write_text(
        "from arborist.evaluation.provenance import RetrievalProvenance\n"
        "def find(question, limit):\n"
        "    return [question] * limit\n"
        "def declared(question, limit):\n"
        "    return []\n"
        "declared.retrieval_provenance = RetrievalProvenance('c', 'm', 'k', 'p')\n"
        "number = 7\n",
        "utf-8",
    )
    (tmp_path / "office_broken.py").write_text("raise RuntimeError('secret')\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "office_search"


def test_a_function_is_a_retriever(module: str) -> None:
    retriever = callable_retriever(f"{module}:find")
    assert retriever.identifier == "office_search:find"
    assert retriever.retrieve("q", 2) == ["q", "q"]
    assert declared_provenance(retriever) is None


def test_a_function_may_carry_its_provenance(module: str) -> None:
    retriever = callable_retriever(f"{module}:declared")
    assert declared_provenance(retriever) == RetrievalProvenance("c", "m", "k", "p")


@pytest.mark.parametrize(
    "reference",
    ["office_search:nothing", "office_search:number", "office_nowhere:find", "office_broken:find", ":f"],
)
def test_a_function_that_is_not_there_is_refused_by_name(module: str, reference: str) -> None:
    with pytest.raises(RetrieverError) as refused:
        callable_retriever(reference)
    assert reference in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_name_is_looked_up_in_the_registry_first_then_read_as_url_or_function(module: str) -> None:
    registry = RetrieverRegistry([{"fts5": lambda context: CallableRetriever("fts5", lambda question, limit: [])}])
    found = [retriever_named(name, registry, CONTEXT) for name in ("fts5", "http://h/x", f"{module}:find")]
    assert [retriever.identifier for retriever in found] == ["fts5", "http://h/x", "office_search:find"]
    with pytest.raises(RetrieverError, match="known: fts5"):
        retriever_named("bm25", registry, CONTEXT)


def test_keywords_are_for_registered_retrievers(module: str) -> None:
    with pytest.raises(RetrieverError, match="keywords"):
        retriever_named(f"{module}:find", RetrieverRegistry(), RetrieverContext(Path("var"), ("word",)))
