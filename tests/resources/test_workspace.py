"""The workspace resource leads assets to the engine's own objects."""

from pathlib import Path

import pytest

from arborist.errors import ConfigError
from resources.workspace import WorkspaceResource


def test_it_gives_the_corpus_of_its_home_and_configuration(tmp_path: Path) -> None:
    (tmp_path / "corpus.toml").write_text('[sources.topics]\nkind = "python-topics"\nshards = 2\n')
    resource = WorkspaceResource(home=str(tmp_path / "home"), config=str(tmp_path / "corpus.toml"))
    assert resource.workspace.home.root == tmp_path / "home"
    assert resource.corpus.config.shard_names == ("topics-000", "topics-001")
    assert resource.corpus is resource.corpus, "read once a run"
    assert not (tmp_path / "home").exists(), "nothing is made before it is needed"


def test_a_configuration_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    resource = WorkspaceResource(home=str(tmp_path), config=str(tmp_path / "corpus.toml"))
    with pytest.raises(ConfigError, match=r"corpus\.toml: there is no such file"):
        assert resource.corpus
