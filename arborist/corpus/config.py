"""`corpus.toml`: which sources make up the corpus, how each is read, and how documents are chunked."""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, cast

from arborist.errors import ConfigError, InputError
from arborist.policy import BACKGROUND, PRIMARY, PROVIDENCE_SOURCE, Policy

DEFAULT_MAX_CHARACTERS = 1000
MAX_SHARDS = 999

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_SHARD_NAME = re.compile(r"(?P<source>.+)-\d{3}")
_TOML_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")


class SourceKind(StrEnum):
    """What a source is read as; one module of `arborist.corpus.sources` each."""

    PYTHON_TOPICS = "python-topics"
    MARKDOWN = "markdown"
    CODE = "code"
    JSONL = "jsonl"
    PARQUET = "parquet"
    MEDIAWIKI = "mediawiki"


class OnError(StrEnum):
    """What an entry that cannot be used does: stop the build, or be left out and listed."""

    FAIL = "fail"
    SKIP = "skip"


DEFAULT_INCLUDE: Mapping[SourceKind, tuple[str, ...]] = {
    SourceKind.PYTHON_TOPICS: (),
    SourceKind.MARKDOWN: ("**/*.md", "**/*.markdown", "**/*.rst", "**/*.txt"),
    SourceKind.CODE: ("**/*.py",),
    SourceKind.JSONL: ("**/*.jsonl", "**/*.jsonl.gz"),
    SourceKind.PARQUET: ("**/*.parquet",),
    SourceKind.MEDIAWIKI: ("**/*.xml", "**/*.xml.bz2", "**/*.xml.gz"),
}

_COMMON_KEYS = ("kind", "shards", "on_error", "role")
_FILE_KEYS = ("path", "include", "exclude")
_OPTION_KEYS: Mapping[SourceKind, tuple[str, ...]] = {
    SourceKind.PYTHON_TOPICS: _COMMON_KEYS,
    SourceKind.MARKDOWN: _COMMON_KEYS + _FILE_KEYS,
    SourceKind.CODE: _COMMON_KEYS + _FILE_KEYS,
    SourceKind.JSONL: (*_COMMON_KEYS, *_FILE_KEYS, "fields"),
    SourceKind.PARQUET: (*_COMMON_KEYS, *_FILE_KEYS, "fields"),
    SourceKind.MEDIAWIKI: (*_COMMON_KEYS, *_FILE_KEYS, "namespaces"),
}


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    """`max_characters`: the longest a chunk may be, in Unicode characters."""

    max_characters: int = DEFAULT_MAX_CHARACTERS


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Which field or column of a row holds what; `revision` is used where a row has it."""

    uri: str = "uri"
    title: str = "title"
    text: str = "text"
    revision: str = "revision"


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """One table `[sources.<name>]`.

    `path` is a file or folder, None only for `python-topics`. `include` and `exclude` are globs over paths
    relative to a folder `path`. `fields` matters to jsonl and parquet, `namespaces` (page namespace numbers)
    to mediawiki.
    """

    name: str
    kind: SourceKind
    path: Path | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    shards: int = 1
    on_error: OnError = OnError.FAIL
    role: str = PRIMARY
    fields: FieldNames = field(default_factory=FieldNames)
    namespaces: tuple[int, ...] = (0,)

    @property
    def table(self) -> str:
        """The table's name as written in `corpus.toml`."""
        return f"sources.{self.name}"

    @property
    def shard_names(self) -> tuple[str, ...]:
        """`<source>-<nnn>`, counted from 000."""
        return tuple(f"{self.name}-{number:03d}" for number in range(self.shards))


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Table `[model]`: which model answers. All but `kind` matter to an OpenAI-compatible endpoint only.

    The key is read from the environment variable named by `api_key_env`, never from the file.
    """

    kind: str = "extractive"
    name: str = ""
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_seconds: int = 60
    max_retries: int = 3
    seed: int = 0
    max_output_tokens: int = 1024
    max_prompt_tokens: int = 0
    output: Literal["auto", "json_schema", "text"] = "auto"
    stream: bool = False


@dataclass(frozen=True, slots=True)
class SidecarConfig:
    """Table `[sidecar]`: the entailment model beside the verifier's rules, if any.

    `kind` is `none`, `classifier` (of the `transformers` package; `name` is a local folder or a hub name) or
    `judge` (a language model at an OpenAI-compatible endpoint, reached as `[model]` says it for its own).
    """

    kind: str = "none"
    name: str = ""
    revision: str = "main"
    max_tokens: int = 512
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_seconds: int = 60
    max_retries: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class CorpusConfig:
    """A `corpus.toml` that was read and found good; sources in the order they are written."""

    path: Path
    chunking: ChunkingConfig
    sources: tuple[SourceConfig, ...]
    policy: Policy = field(default_factory=Policy)
    model: ModelConfig = field(default_factory=ModelConfig)
    sidecar: SidecarConfig = field(default_factory=SidecarConfig)

    @property
    def shard_names(self) -> tuple[str, ...]:
        """The shards of all sources, source by source."""
        return tuple(shard for source in self.sources for shard in source.shard_names)

    def source(self, name: str) -> SourceConfig:
        """The source of that name. Raises InputError, naming those there are."""
        for source in self.sources:
            if source.name == name:
                return source
        known = ", ".join(source.name for source in self.sources)
        raise InputError(f"{self.path}: no source {name!r} (sources: {known})")

    def source_of_shard(self, shard: str) -> SourceConfig:
        """The source that the shard belongs to. Raises InputError for a shard that no source has."""
        for source in self.sources:
            if shard in source.shard_names:
                return source
        raise InputError(f"{self.path}: no source has a shard {shard!r}")


def load_corpus_config(path: Path) -> CorpusConfig:
    """The corpus that the file at `path` describes; paths in it are relative to its folder.

    Raises ConfigError, which names the file, the table and key, what is allowed and what to do.
    """
    root = _Table(path, "", _parsed_toml(path))
    root.refuse_unknown(("chunking", "sources", "policy", "model", "sidecar"), "table")
    chunking = root.table("chunking", {})
    chunking.refuse_unknown(("max_characters",), "key")
    tables = root.table("sources", {})
    if not tables.values:
        raise ConfigError.at(
            path,
            "table `sources`",
            "no source is configured",
            'add a table, for example [sources.docs] with kind = "markdown" and path = "docs"',
        )
    sources = tuple(_source_config(name, tables.table(name), path.parent) for name in tables.values)
    _refuse_shard_like_names(path, sources)
    background = tuple(source.name for source in sources if source.role == BACKGROUND)
    return CorpusConfig(
        path=path,
        chunking=ChunkingConfig(chunking.integer("max_characters", DEFAULT_MAX_CHARACTERS, 1, None)),
        sources=sources,
        policy=Policy.of(root.table("policy", {}).values, str(path), background),
        model=_model_config(root.table("model", {})),
        sidecar=_sidecar_config(root.table("sidecar", {})),
    )


_ENDPOINT_KEYS = ("name", "base_url", "api_key_env", "timeout_seconds", "max_retries", "seed")
_DECODING_KEYS = ("max_output_tokens", "max_prompt_tokens", "output", "stream")


def _model_config(table: "_Table") -> ModelConfig:
    default = ModelConfig()
    kind = table.choice("kind", ("extractive", "openai"), default.kind)
    keys = ("kind", *_ENDPOINT_KEYS, *_DECODING_KEYS) if kind == "openai" else ("kind",)
    table.refuse_unknown(keys, f"key of kind `{kind}`")
    if kind == "extractive":
        return default
    return ModelConfig(
        kind=kind,
        max_output_tokens=table.integer("max_output_tokens", default.max_output_tokens, 1, None),
        max_prompt_tokens=table.integer("max_prompt_tokens", default.max_prompt_tokens, 0, None),
        output=cast(
            Literal["auto", "json_schema", "text"],
            table.choice("output", ("auto", "json_schema", "text"), default.output),
        ),
        stream=table.boolean("stream", default=default.stream),
        **_endpoint(table),
    )


def _sidecar_config(table: "_Table") -> SidecarConfig:
    default = SidecarConfig()
    kind = table.choice("kind", ("none", "classifier", "judge"), default.kind)
    keys = {"none": (), "classifier": ("name", "revision", "max_tokens"), "judge": _ENDPOINT_KEYS}
    table.refuse_unknown(("kind", *keys[kind]), f"key of kind `{kind}`")
    if kind == "judge":
        return SidecarConfig(kind=kind, **_endpoint(table))
    if kind == "none":
        return default
    return SidecarConfig(
        kind=kind,
        name=table.string("name", None),
        revision=table.string("revision", default.revision),
        max_tokens=table.integer("max_tokens", default.max_tokens, 1, None),
    )


def _endpoint(table: "_Table") -> dict[str, Any]:
    """The keys that say which model is reached where; the same for an answer model and for a judge."""
    default = ModelConfig()
    return {
        "name": table.string("name", None),
        "base_url": table.string("base_url", None),
        "api_key_env": table.string("api_key_env", default.api_key_env),
        "timeout_seconds": table.integer("timeout_seconds", default.timeout_seconds, 1, 86_400),
        "max_retries": table.integer("max_retries", default.max_retries, 0, 100),
        "seed": table.integer("seed", default.seed, 0, None),
    }


def _parsed_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return tomllib.loads(text)
    except FileNotFoundError as error:
        remedy = "write a corpus.toml there, or name the file that you mean"
        raise ConfigError.at(path, "", "there is no such file", remedy) from error
    except OSError as error:
        raise ConfigError.at(path, "", "cannot be read", "it must be a file that you may read") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError.at(path, f"line {line}", "not UTF-8", "save the file as UTF-8") from error
    except RecursionError as error:
        raise ConfigError.at(path, "", "nested too deeply", "no value here needs more than one level") from error
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.search(str(error))
        remedy = "look for a missing quote or bracket, or a table or key that stands twice"
        raise ConfigError.at(path, found.group(1) if found else "", "not valid TOML", remedy) from error


def _source_config(name: str, table: "_Table", folder: Path) -> SourceConfig:
    _refuse_bad_name(name, table)
    kind = SourceKind(table.choice("kind", tuple(SourceKind), None))
    table.refuse_unknown(_OPTION_KEYS[kind], f"key of kind `{kind}`")
    return SourceConfig(
        name=name,
        kind=kind,
        path=table.path("path", folder) if "path" in _OPTION_KEYS[kind] else None,
        include=table.strings("include", DEFAULT_INCLUDE[kind]),
        exclude=table.strings("exclude", ()),
        shards=table.integer("shards", 1, 1, MAX_SHARDS),
        on_error=OnError(table.choice("on_error", tuple(OnError), OnError.FAIL)),
        role=table.choice("role", (PRIMARY, BACKGROUND), PRIMARY),
        fields=_field_names(table.table("fields", {})),
        namespaces=table.integers("namespaces", (0,)),
    )


def _field_names(table: "_Table") -> FieldNames:
    table.refuse_unknown(("uri", "title", "text", "revision"), "key")
    default = FieldNames()
    return FieldNames(
        uri=table.string("uri", default.uri),
        title=table.string("title", default.title),
        text=table.string("text", default.text),
        revision=table.string("revision", default.revision),
    )


def _refuse_bad_name(name: str, table: "_Table") -> None:
    if not _NAME.fullmatch(name):
        remedy = "use a-z, 0-9 and -, and begin with a letter or digit"
        raise ConfigError.at(table.file, table.place(), "not a name for a source", remedy)
    if name == PROVIDENCE_SOURCE:
        remedy = "that name belongs to promoted answers; choose another"
        raise ConfigError.at(table.file, table.place(), "a reserved name", remedy)


def _refuse_shard_like_names(path: Path, sources: Iterable[SourceConfig]) -> None:
    names = {source.name for source in sources}
    for name in sorted(names):
        shard = _SHARD_NAME.fullmatch(name)
        if shard and shard["source"] in names:
            raise ConfigError.at(
                path,
                f"table [sources.{name}]",
                f"the name is a shard of source `{shard['source']}`",
                "rename one of the two",
            )


@dataclass(frozen=True, slots=True)
class _Table:
    """A TOML table, its name, and the file it stands in: hands out values of the type that is asked for."""

    file: Path
    name: str
    values: Mapping[str, Any]

    def place(self, key: str = "") -> str:
        table = f"table [{self.name}]" if self.name else "top level"
        return f"{table}, key `{key}`" if key else table

    def refuse_unknown(self, allowed: Iterable[str], what: str) -> None:
        allowed = tuple(allowed)
        for key in self.values:
            if key not in allowed:
                near = difflib.get_close_matches(key, allowed, n=1)
                remedy = f"did you mean `{near[0]}`? " if near else ""
                remedy += f"allowed: {', '.join(allowed)}"
                raise ConfigError.at(self.file, self.place(key), f"not a known {what}", remedy)

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> "_Table":
        value = self._value(key, default, lambda value: isinstance(value, dict), "a table")
        return _Table(self.file, f"{self.name}.{key}" if self.name else key, value)

    def string(self, key: str, default: str | None) -> str:
        return str(self._value(key, default, _is_text, "text that is not empty"))

    def strings(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        expected = "a list of texts that are not empty"
        values = self._value(key, default, lambda value: _is_list_of(_is_text, value), expected)
        if not values and default:
            raise ConfigError.at(self.file, self.place(key), "empty", "leave it out for the default")
        return tuple(values)

    def integer(self, key: str, default: int, low: int, high: int | None) -> int:
        expected = f"a whole number from {low} to {high}" if high else f"a whole number, at least {low}"

        def fits(value: Any) -> bool:
            return _is_integer(value) and value >= low and (high is None or value <= high)

        return int(self._value(key, default, fits, expected))

    def boolean(self, key: str, *, default: bool) -> bool:
        return bool(self._value(key, default, lambda value: isinstance(value, bool), "true or false"))

    def integers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        expected = "a list of at least one whole number"

        def fits(value: Any) -> bool:
            return bool(value) and _is_list_of(_is_integer, value)

        return tuple(self._value(key, default, fits, expected))

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None) -> str:
        expected = f"one of {', '.join(allowed)}"
        value = self._value(key, default, _is_text, expected)
        if value in allowed:
            return str(value)
        near = difflib.get_close_matches(value, allowed, n=1)
        remedy = f"did you mean `{near[0]}`? " if near else ""
        raise ConfigError.at(self.file, self.place(key), f"`{value}` is not allowed", f"{remedy}use {expected}")

    def path(self, key: str, folder: Path) -> Path:
        path = folder / self.string(key, None)
        if not _exists(path):
            remedy = "give a file or folder that exists, relative to the folder of corpus.toml"
            raise ConfigError.at(self.file, self.place(key), f"{path} does not exist", remedy)
        return path

    def _value(self, key: str, default: Any, fits: Callable[[Any], bool], expected: str) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise ConfigError.at(self.file, self.place(key), "missing", f"add it: {expected}")
        if not fits(value):
            raise ConfigError.at(self.file, self.place(key), f"must be {expected}", f"it is {_shown(value)}")
        return value


def _exists(path: Path) -> bool:
    # a name too long for the file system raises instead of not existing
    try:
        return path.exists()
    except OSError:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list_of(fits: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(fits(item) for item in value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
