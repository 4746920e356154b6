"""A corpus to measure with: text that the machine has anyway, or that of a folder, up to a chosen size.

Without a folder: the pydoc topics, the sources of Python's standard library and of installed packages, and the
documentation that packages of the system have brought. Files are taken in an order that a seed decides, so that
any size is a mixture; a text that is met twice counts once.
"""

import gzip
import hashlib
import html
import json
import random
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arborist.corpus.shard import Shard
from arborist.corpus.work import chunk_shard, index_shard, over_shards, over_sources
from arborist.workspace import Workspace

SEED = 7
PASSAGE_CHARACTERS = 760
"""Characters a passage comes to on the average when chunks have at most 1,000."""
SUFFIXES = {".py", ".md", ".rst", ".txt", ".html", ".gz"}
SYSTEM_FOLDERS = ("/usr/share/doc", "/usr/share/man", "/usr/lib/python3/dist-packages")
TOOLCHAIN_DOCS = ".rustup/toolchains/stable*/share/doc"
LARGEST_FILE = 2_000_000
SMALLEST_TEXT = 200
_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_ROFF = re.compile(r"^[.']\s*(\\\".*|[A-Za-z]{1,3}\b)|\\f[A-Z]|\\", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class BenchText:
    """A text of the corpus under a name that is unique in it."""

    name: str
    text: str


def machine_folders() -> list[Path]:
    """The folders of this machine that hold text."""
    folders = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    folders += [Path(name) for name in SYSTEM_FOLDERS]
    return [folder for folder in [*folders, *sorted(Path.home().glob(TOOLCHAIN_DOCS))] if folder.is_dir()]


def bench_texts(passages: int, folder: Path | None = None, seed: int = SEED) -> Iterator[BenchText]:
    """Texts that come to about so many passages, or to less where there is no more."""
    characters = passages * PASSAGE_CHARACTERS
    for item in _all_texts([folder] if folder else machine_folders(), with_topics=folder is None, seed=seed):
        yield item
        characters -= len(item.text)
        if characters <= 0:
            return


def _all_texts(folders: Sequence[Path], *, with_topics: bool, seed: int) -> Iterator[BenchText]:
    seen: set[bytes] = set()
    if with_topics:
        from pydoc_data.topics import topics

        yield from (BenchText(f"topic/{name}", text) for name, text in sorted(topics.items()))
    files = [(number, path) for number, folder in enumerate(folders) for path in _files(folder)]
    names = {path: f"{number}/{path.relative_to(folders[number])}" for number, path in files}
    for path in sorted(names, key=lambda path: hashlib.sha256(f"{seed} {names[path]}".encode()).digest()):
        text = _text(path)
        digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        if len(text) >= SMALLEST_TEXT and digest not in seen:
            seen.add(digest)
            yield BenchText(names[path], text)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink():
            yield path


def _text(path: Path) -> str:
    if path.stat().st_size > LARGEST_FILE:
        return ""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data[:LARGEST_FILE].decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        return ""
    if path.suffix == ".html":
        return html.unescape(_MARKUP.sub(" ", text))
    return _ROFF.sub(" ", text) if ".man" in path.suffixes or "/man/" in str(path) else text


def built_workspace(home: Path, texts: Iterator[BenchText], shards: int = 1) -> Workspace:
    """The texts as the one source of a corpus under `home`, built by the project's own steps."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "texts.jsonl").open("w", encoding="utf-8") as file:
        for item in texts:
            title = item.name.rsplit("/", 1)[-1]
            file.write(json.dumps({"uri": item.name, "title": title, "text": item.text}) + "\n")
    config = home / "corpus.toml"
    config.write_text(f'[sources.bench]\nkind = "jsonl"\npath = "texts.jsonl"\nshards = {shards}\n')
    workspace = Workspace.open(home / "var", config)
    for outcome in over_sources(workspace.corpus, ["bench"]):
        _raise(outcome.error)
    for step in (chunk_shard, index_shard):
        for done in over_shards(workspace.corpus, step, workspace.config.shard_names, ""):
            _raise(done.error)
    return workspace


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error


def bench_questions(shard: Shard, count: int, seed: int = SEED) -> list[str]:
    """Questions in words of the corpus, a third each: a title and a word, a sentence with gaps, five words.

    They favour search by words and say nothing about paraphrase.
    """
    generator = random.Random(seed)
    ids = [generator.randint(1, shard.meta.chunks) for _ in range(count * 2)]
    questions: list[str] = []
    for chunk in shard.chunks(ids):
        words = _WORD.findall(chunk.text)
        if len(words) < 8 or len(questions) == count:
            continue
        kind = len(questions) % 3
        if kind == 0:
            stem = " ".join(_WORD.findall(chunk.title)) or words[0]
            questions.append(f"What does {stem} say about the {generator.choice(words)}?")
        elif kind == 1:
            start = generator.randrange(len(words) - 7)
            questions.append(" ".join(word for word in words[start : start + 14] if generator.random() < 0.7))
        else:
            questions.append(" ".join(generator.sample(words, 5)))
    return [question for question in questions if question]
