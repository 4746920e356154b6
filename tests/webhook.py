"""A webhook on this machine that keeps what is posted to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Webhook:
    """Where it listens, the status that it answers with, and what was posted, as parsed JSON."""

    url: str = ""
    status: int = 200
    posted: list[Any] = field(default_factory=list)


@contextmanager
def listening(status: int = 200) -> Iterator[Webhook]:
    """A webhook until the block ends."""
    webhook = Webhook(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            webhook.posted.append(json.loads(body))
            self.send_response(webhook.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    webhook.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield webhook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
