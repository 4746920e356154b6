"""Bundles broken at random, from a seed: values, keys, rows, bytes and files of the base bundles."""

import json
import os
import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.arborist.retrieval_audit.bundles import (
    FILES,
    Bundle,
    blob_bundle,
    content,
    file_bundle,
    on_disk,
    preview_blob_bundle,
    put,
    synthesis_bundle,
)

BASES = (file_bundle, blob_bundle, synthesis_bundle, preview_blob_bundle)

PATHS = (
    "https://x.test/a.json",
    "file:///a.json",
    "C:\\a.json",
    "\\\\srv\\share\\a.json",
    "//srv/share/a.json",
    "/dev/zero",
    "/dev/stdin",
    "../audit.json",
    "a/../before.json",
    "be\0fore.json",
    "audit.json",
    "before.json",
    "./customer.json",
    ".",
    "customer.json/x",
    "\ud800.json",
    "n" * 5_000,
)


def _deep(levels: int) -> Any:
    value: Any = {}
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def _values(prefix: str) -> list[Any]:
    return [
        *(None, True, False, 0, 1, 2, -1, 200, 206, 600, 1.0, 1.5, 10**30, float("inf"), float("nan")),
        *("", " ", "0", "\ud800", "[]", "[ref_id:", "[ref_id:0]", "[ref_id:\n]", "null", "1e999", "[" * 60),
        *(f"{prefix}text", f"{prefix}[ref_id:9]", f"{prefix}0", f'[{{"ref_id": 0, "a": "{prefix}"}}]'),
        *("file", "azureBlob", "web", "text", "blocked", "retrieve", "2026-04-01", "2026-08-01-preview"),
        *("extractiveData", "answerSynthesis", "minimal", "low", "auto", "unrelated", "title"),
        *(
            "2026-09-14T12:00:00Z",
            "0001-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59-23:59",
            "2026-02-30T00:00:00Z",
        ),
        *([], {}, [[]], [None], {"kind": "low"}, {f"{prefix}key": f"{prefix}value"}, [{}], {"error": {}}),
        *(_deep(40), _deep(60), [0] * 1_001, [{"name": "manuals"}]),
        *PATHS,
    ]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every holder and key below the value."""
    places: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        holder = pending.pop()
        if not isinstance(holder, dict | list):
            continue
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            places.append((holder, key))
            pending.append(holder[key])
    return places


class Mutator:
    """Draws broken bundles; the same seed draws the same ones."""

    def __init__(self, seed: int, prefix: str, start: datetime) -> None:
        self._random = random.Random(seed)
        self._prefix = prefix
        self._start = start
        self._values = _values(prefix)

    def bundle(self) -> Bundle:
        """A base bundle with one to three mutations."""
        bundle = self._random.choice(BASES)(self._prefix, self._start)
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            self._random.choices(self._mutations(), weights=(8, 4, 3, 3, 2, 1))[0](bundle)
        return bundle

    def _mutations(self) -> tuple[Callable[[Bundle], None], ...]:
        return (
            self._value_replaced,
            self._member_changed,
            self._both_snapshots_changed,
            self._rows_changed,
            self._bytes_changed,
            self._file_replaced,
        )

    def _place(self, bundle: Bundle) -> tuple[Any, Any]:
        name = self._random.choices(FILES, weights=(2, 1, 1, 4, 4))[0]
        return self._random.choice(_places(bundle.documents[name]) or [({"a": 0}, "a")])

    def _value(self) -> Any:
        return json.loads(json.dumps(self._random.choice(self._values)))

    def _value_replaced(self, bundle: Bundle) -> None:
        holder, key = self._place(bundle)
        holder[key] = self._value()

    def _member_changed(self, bundle: Bundle) -> None:
        holder, key = self._place(bundle)
        if self._random.random() < 0.5:
            del holder[key]
        elif isinstance(holder, dict):
            name = self._random.choice(
                (
                    "error",
                    "warning",
                    "first_blocker",
                    "identity_field",
                    "knowledgeSourceName",
                    f"{self._prefix}extra",
                )
            )
            holder[name] = self._value()
        else:
            holder.append(json.loads(json.dumps(holder[key])))

    def _both_snapshots_changed(self, bundle: Bundle) -> None:
        before, after = bundle.documents["before"], bundle.documents["after"]
        part = self._random.choice(("knowledge_base", "knowledge_source", "original"))
        places = _places(before[part]) if isinstance(before, dict) and part in before else []
        if places:
            holder, key = self._random.choice(places)
            holder[key] = self._value()
            if isinstance(after, dict):
                after[part] = json.loads(json.dumps(before[part]))

    def _rows_changed(self, bundle: Bundle) -> None:
        rows: Any = [{"ref_id": 0, "content": f"{self._prefix}a"}, {"ref_id": f"{self._prefix}0", "b": "c"}]
        holder, key = self._random.choice(_places(rows))
        holder[key] = self._value()
        name = self._random.choice(("customer", "unrelated"))
        try:
            put(f"{name}/response_body/response/0/content/0/text", json.dumps(rows))(bundle)
        except (KeyError, IndexError, TypeError, ValueError):
            # An earlier mutation has taken the block away.
            return

    def _bytes_changed(self, bundle: Bundle) -> None:
        content(self._random.choice(FILES), self._broken)(bundle)

    def _broken(self, data: bytes) -> bytes:
        start, length = self._random.randrange(len(data) + 1), self._random.randrange(12)
        inserts = (
            b"",
            b"\xff",
            b"\xef\xbb\xbf",
            b'"',
            b"\\",
            b"{",
            b"]",
            b",",
            b"NaN",
            b"1e999",
            b'"a":1,"a":1',
            b"9" * 5_000,
        )
        kept = self._random.choice((data[start + length :], data[start:], b""))
        return data[:start] + self._random.choice(inserts) + kept

    def _file_replaced(self, bundle: Bundle) -> None:
        name = f"{self._random.choice(FILES)}.json"
        replacement = self._random.choice((_missing, _directory, _fifo, _link, _link_to_nothing, _link_outside))
        on_disk(lambda directory: replacement(directory / name))(bundle)


def _missing(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _directory(path: Path) -> None:
    _missing(path)
    path.mkdir()


def _fifo(path: Path) -> None:
    _missing(path)
    os.mkfifo(path)


def _link(path: Path) -> None:
    _missing(path)
    path.symlink_to("before.json")


def _link_to_nothing(path: Path) -> None:
    _missing(path)
    path.symlink_to("nothing")


def _link_outside(path: Path) -> None:
    _missing(path)
    path.symlink_to("/dev/zero")
