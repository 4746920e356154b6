"""What `corpus.toml` may say, and what it is told when it says something else."""

from pathlib import Path

import pytest

from arborist.corpus.config import (
    ChunkingConfig,
    FieldNames,
    OnError,
    SourceConfig,
    SourceKind,
    load_corpus_config,
)
from arborist.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "corpus.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_source_needs_no_more_than_its_kind_and_path(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    path = written(tmp_path, '[sources.handbook]\nkind = "markdown"\npath = "docs"\n')
    config = load_corpus_config(path)
    assert config.path == path
    assert config.chunking == ChunkingConfig(max_characters=1000)
    assert config.sources == (
        SourceConfig(
            name="handbook",
            kind=SourceKind.MARKDOWN,
            path=tmp_path / "docs",
            include=("**/*.md", "**/*.markdown", "**/*.rst", "**/*.txt"),
            exclude=(),
            shards=1,
            on_error=OnError.FAIL,
            role="primary",
        ),
    )
    assert config.shard_names == ("handbook-000",)


def test_every_option_is_read(tmp_path: Path) -> None:
    for name in ("docs", "rows.jsonl", "rows.parquet", "wiki.xml", "src"):
        (tmp_path / name).mkdir()
    path = written(
        tmp_path,
        """
        [chunking]
        max_characters = 500
        [sources.python-topics]
        kind = "python-topics"
        [sources.handbook]
        kind = "markdown"
        path = "docs"
        include = ["**/*.md"]
        exclude = ["drafts/**"]
        shards = 3
        on_error = "skip"
        role = "background"
        [sources.code]
        kind = "code"
        path = "src"
        [sources.papers]
        kind = "jsonl"
        path = "rows.jsonl"
        fields = { uri = "doc_id", text = "body", revision = "rev" }
        [sources.tables]
        kind = "parquet"
        path = "rows.parquet"
        [sources.wiki]
        kind = "mediawiki"
        path = "wiki.xml"
        namespaces = [0, 4]
        """,
    )
    config = load_corpus_config(path)
    topics, handbook, code, papers, tables, wiki = config.sources
    assert config.chunking.max_characters == 500
    assert (topics.kind, topics.path) == ("python-topics", None)
    assert (handbook.include, handbook.exclude) == (("**/*.md",), ("drafts/**",))
    assert (handbook.shards, handbook.on_error, handbook.role) == (3, "skip", "background")
    assert code.include == ("**/*.py",)
    assert papers.fields == FieldNames(uri="doc_id", title="title", text="body", revision="rev")
    assert tables.fields == FieldNames()
    assert wiki.namespaces == (0, 4)
    assert config.shard_names[:4] == ("python-topics-000", "handbook-000", "handbook-001", "handbook-002")


def test_a_source_may_have_999_shards(tmp_path: Path) -> None:
    config = load_corpus_config(written(tmp_path, '[sources.t]\nkind = "python-topics"\nshards = 999\n'))
    assert config.shard_names[-1] == "t-998"
    assert len(set(config.shard_names)) == 999


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "corpus.toml"
    path.write_bytes(b'\xef\xbb\xbf[sources.t]\r\nkind = "python-topics"\r\n')
    assert load_corpus_config(path).sources[0].name == "t"


TOPICS = '[sources.t]\nkind = "python-topics"\n'
FOLDER = '[sources.d]\nkind = "markdown"\npath = "."\n'

REFUSED = {
    "no source at all": ("", "table `sources`: no source is configured .*add a table"),
    "an unknown table": ("[source.t]\n" + TOPICS, "top level, key `source`: .*did you mean `sources`"),
    "an unknown key": (
        FOLDER + 'exclud = ["a"]',
        r"table \[sources.d\], key `exclud`: .*did you mean `exclude`\? allowed: kind, ",
    ),
    "a key of another kind": (TOPICS + 'path = "."', r"key `path`: not a known key of kind `python-topics`"),
    "an unknown field": (
        '[sources.r]\nkind = "jsonl"\npath = "."\nfields = { url = "u" }',
        r"table \[sources.r.fields\], key `url`: .*did you mean `uri`",
    ),
    "an unknown chunking key": (
        TOPICS + "[chunking]\nmax_character = 5",
        r"table \[chunking\], key `max_character`: .*did you mean `max_characters`",
    ),
    "a missing kind": ('[sources.t]\npath = "."', "key `kind`: missing .*add it: one of python-topics, markdown"),
    "a misspelt kind": ('[sources.t]\nkind = "markdwn"', "`markdwn` is not allowed .*did you mean `markdown`"),
    "a kind that is no text": ("[sources.t]\nkind = 3", "key `kind`: must be one of .*it is 3"),
    "a missing path": ('[sources.d]\nkind = "markdown"', "key `path`: missing .*add it"),
    "a path that is not there": (
        '[sources.d]\nkind = "markdown"\npath = "nowhere"',
        "key `path`: .*nowhere does not exist .*relative to the folder",
    ),
    "a path too long to exist": (
        f'[sources.d]\nkind = "markdown"\npath = "{"x" * 5000}"',
        "key `path`: .* does not exist",
    ),
    "a source that is no table": ('[sources]\nt = "topics"', r"table \[sources\], key `t`: must be a table"),
    "sources that are no tables": ("sources = 3", "key `sources`: must be a table .*it is 3"),
    "no shards": (TOPICS + "shards = 0", "key `shards`: must be a whole number from 1 to 999 .*it is 0"),
    "too many shards": (TOPICS + "shards = 1000", "key `shards`: must be a whole number from 1 to 999"),
    "shards that are a truth value": (TOPICS + "shards = true", "key `shards`: must be .*it is True"),
    "chunks of no length": (TOPICS + "[chunking]\nmax_characters = 0", "must be a whole number, at least 1"),
    "an unknown role": (TOPICS + 'role = "secondary"', "key `role`: .*use one of primary, background"),
    "an unknown on_error": (TOPICS + 'on_error = "skipp"', "key `on_error`: .*did you mean `skip`"),
    "an include that is no list": (FOLDER + 'include = "*.md"', "key `include`: must be a list of texts"),
    "an empty include": (FOLDER + "include = []", "key `include`: empty"),
    "no namespaces": (
        '[sources.w]\nkind = "mediawiki"\npath = "."\nnamespaces = []',
        "key `namespaces`: must be a list of at least one",
    ),
    "a name with capitals": ('[sources.Docs]\nkind = "python-topics"', r"\[sources.Docs\]: not a name .*use a-z"),
    "a name with a leading hyphen": ('[sources.-a]\nkind = "python-topics"', "not a name"),
    "an empty name": ('[sources.""]\nkind = "python-topics"', "not a name"),
    "a reserved name": ('[sources.providence]\nkind = "python-topics"', "a reserved name"),
    "a name that is another's shard": (
        TOPICS + '[sources.t-000]\nkind = "python-topics"',
        r"table \[sources.t-000\]: the name is a shard of source `t`",
    ),
    "two sources of one name": (TOPICS + TOPICS, "line 3, column 11: not valid TOML .*stands twice"),
    "broken TOML": ("[sources.t]\nkind = ?", "line 2, column 8: not valid TOML"),
    "TOML that ends too early": ('[sources.t]\nkind = "x', r"end of document|line 2, column \d+"),
    "TOML nested without end": ("a = " + "[" * 10_000, "nested too deeply"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_allowed_is_named_with_its_place_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_corpus_config(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"corpus.toml: there is no such file \(write a corpus.toml"):
        load_corpus_config(tmp_path / "corpus.toml")


def test_a_folder_in_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read .*a file that you may read"):
        load_corpus_config(tmp_path)


def test_a_file_in_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "corpus.toml"
    path.write_bytes(b"# a comment\n# caf\xe9\n")
    with pytest.raises(ConfigError, match="line 2: not UTF-8"):
        load_corpus_config(path)


OPENAI = '[sources.t]\nkind = "python-topics"\n[model]\nkind = "openai"\nname = "m"\nbase_url = "http://127.0.0.1:1/v1"\n'


def test_a_model_and_its_decoding_are_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.toml"
    path.write_text(OPENAI + 'output = "text"\nstream = true\nmax_output_tokens = 64\n')
    model = load_corpus_config(path).model
    assert (model.name, model.output, model.stream, model.max_output_tokens) == ("m", "text", True, 64)


def test_a_sidecar_is_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.toml"
    path.write_text('[sources.t]\nkind = "python-topics"\n[sidecar]\nkind = "classifier"\nname = "models/nli"\n')
    assert load_corpus_config(path).sidecar.name == "models/nli"
    path.write_text(OPENAI + '[sidecar]\nkind = "judge"\nname = "j"\nbase_url = "http://127.0.0.1:1/v1"\n')
    assert load_corpus_config(path).sidecar.base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("tables", "place"),
    [
        (OPENAI + 'stream = "yes"\n', "key `stream`"),
        (OPENAI + 'output = "xml"\n', "key `output`"),
        (OPENAI.replace('name = "m"\n', ""), "key `name`"),
        (OPENAI.replace('"openai"', '"extractive"'), "key `name`"),
        (OPENAI + '[sidecar]\nkind = "oracle"\n', "key `kind`"),
        (OPENAI + '[sidecar]\nkind = "classifier"\n', "key `name`"),
        (OPENAI + '[sidecar]\nname = "n"\n', "key `name`"),
    ],
)
def test_a_model_or_sidecar_that_cannot_be_opened_is_named(tmp_path: Path, tables: str, place: str) -> None:
    path = tmp_path / "corpus.toml"
    path.write_text(tables)
    with pytest.raises(ConfigError, match=place):
        load_corpus_config(path)
