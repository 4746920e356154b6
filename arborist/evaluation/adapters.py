"""Retrievers from outside: any Python callable, and any HTTP endpoint that speaks the small JSON below.

An endpoint takes `{"question": text, "limit": number}` by POST and gives `{"documentIds": [text, ...]}`.
"""

import importlib
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from arborist.errors import InputError
from arborist.evaluation.bytestrings import is_utf8, text_bytes, untagged
from arborist.evaluation.errors import RetrieverError
from arborist.evaluation.fts5_retriever import chunked_retriever
from arborist.evaluation.provenance import RetrievalProvenance
from arborist.evaluation.retriever import Retriever, RetrieverContext, RetrieverRegistry

TIMEOUT_SECONDS = 10.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024


class CallableRetriever:
    """A function `(question, limit) -> document ids, best first`, under an identifier."""

    def __init__(self, identifier: str, function: Callable[[str, int], list[str]]) -> None:
        self.identifier = identifier
        self._function = function

    def retrieve(self, question: str, limit: int) -> list[str]:
        return self._function(question, limit)


class DeclaringCallableRetriever(CallableRetriever):
    """A function that has its provenance as an attribute `retrieval_provenance`, a RetrievalProvenance."""

    def retrieval_provenance(self) -> RetrievalProvenance:
        declared: RetrievalProvenance = self._function.retrieval_provenance  # type: ignore[attr-defined]
        return declared


class HttpRetriever:
    """An endpoint. It is known by its address without user, password and query, which may be secrets."""

    def __init__(self, url: str, timeout: float = TIMEOUT_SECONDS) -> None:
        """`timeout` in seconds. Raises RetrieverError unless `url` is an http or https address."""
        try:
            parts = urlsplit(url)
            port = f":{parts.port}" if parts.port is not None else ""
        except ValueError:
            raise RetrieverError("the retriever's address is not a URL") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RetrieverError("the retriever's address is not an http or https URL with a host")
        self.identifier = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
        self._url = url
        self._timeout = timeout

    def retrieve(self, question: str, limit: int) -> list[str]:
        """Raises RetrieverError for whatever is not an answer in time: no connection, a status, other JSON."""
        if not is_utf8(text_bytes(question)):
            raise RetrieverError("the question is not UTF-8 and cannot be sent as JSON")
        return _document_ids(self._post({"question": question, "limit": limit}))

    def _post(self, payload: dict[str, Any]) -> bytes:
        # Loaded here because most commands never speak HTTP.
        import httpx2

        # The library's own timeout is for each read, so a trickle of bytes would never meet it.
        deadline = time.monotonic() + self._timeout
        try:
            with httpx2.stream("POST", self._url, json=payload, timeout=self._timeout) as response:
                if response.status_code != 200:
                    raise RetrieverError(f"the endpoint answered with status {response.status_code}")
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES:
                        raise RetrieverError(f"the endpoint's answer is longer than {MAX_ANSWER_BYTES} bytes")
                    if time.monotonic() > deadline:
                        raise httpx2.ReadTimeout("the whole answer took too long")
                return bytes(body)
        except httpx2.TimeoutException:
            raise RetrieverError(f"the endpoint gave no whole answer within {self._timeout:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise RetrieverError("the endpoint could not be reached") from None


def _document_ids(body: bytes) -> list[str]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise RetrieverError("the endpoint's answer is not JSON") from None
    ids = value.get("documentIds") if isinstance(value, dict) else None
    if not isinstance(ids, list):
        raise RetrieverError('the endpoint\'s answer is not {"documentIds": [text, ...]}')
    try:
        return [untagged(document_id) for document_id in ids]
    except InputError as error:
        raise RetrieverError(f"the endpoint's answer holds a document id that is {error}") from None


def callable_retriever(reference: str) -> CallableRetriever:
    """The function named by `module:function`. Raises RetrieverError where there is none."""
    module_name, _, function_name = reference.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), function_name, None)
    except Exception as error:  # importing runs a user's module, which may raise anything
        raise RetrieverError(
            f"{reference}: module {module_name} cannot be imported ({type(error).__name__})"
        ) from error
    if not callable(function):
        raise RetrieverError(f"{reference}: module {module_name} has no function {function_name}")
    if hasattr(function, "retrieval_provenance"):
        return DeclaringCallableRetriever(reference, function)
    return CallableRetriever(reference, function)


def retriever_named(name: str, registry: RetrieverRegistry, context: RetrieverContext) -> Retriever:
    """The retriever that `name` stands for: a registered name, an http(s) URL, or `module:function`.

    Raises RetrieverError for a name that is none of them, and for keywords given to one from outside.
    """
    factory = registry.find(name)
    if factory is not None:
        return factory(context)
    chunked = chunked_retriever(name, context)
    if chunked is not None:
        return chunked
    if ":" not in name:
        known = ", ".join(registry.names()) or "none registered"
        raise RetrieverError(f"Unknown retriever {name} (known: {known}; or module:function, or an http(s) URL)")
    if context.keywords:
        raise RetrieverError(f"{name}: keywords are for registered retrievers; one from outside has its own")
    return HttpRetriever(name) if "://" in name else callable_retriever(name)
