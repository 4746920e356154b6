"""A chat endpoint on this machine that plays back answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response to play back; an answer with `hang` never comes."""

    body: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    hang: bool = False


@dataclass
class Endpoint:
    """A server on 127.0.0.1 that gives `answers` in turn, the last one for ever, and keeps what it was asked."""

    base_url: str = ""
    answers: list[Answer] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def plays(self, *answers: Answer) -> None:
        self.answers[:] = answers
        self.requests.clear()


@contextmanager
def playing_endpoint() -> Iterator[Endpoint]:
    """An endpoint that runs until the block is left."""
    played = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            played.headers.append({name.lower(): value for name, value in self.headers.items()})
            played.requests.append(json.loads(self.rfile.read(length)))
            answer = played.answers[min(len(played.requests), len(played.answers)) - 1]
            if answer.hang:
                played.stopped.wait(10)
                return
            body = answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    played.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield played
    played.stopped.set()
    server.shutdown()
    server.server_close()
