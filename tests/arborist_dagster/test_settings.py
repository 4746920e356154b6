"""Settings come from the environment, and from the checkout where it says nothing."""

from pathlib import Path

import pytest

from arborist_dagster.settings import PROJECT, Settings


def test_without_an_environment_the_checkout_is_used() -> None:
    assert Settings.from_env({}) == Settings(PROJECT / "var", PROJECT / "corpus.toml")
    assert (PROJECT / "corpus.toml").is_file() and (PROJECT / "workspace.yaml").is_file()


def test_the_environment_says_where_home_and_configuration_are(tmp_path: Path) -> None:
    told = {"ARBORIST_HOME": str(tmp_path / "home"), "ARBORIST_CONFIG": str(tmp_path / "corpus.toml")}
    assert Settings.from_env(told) == Settings(tmp_path / "home", tmp_path / "corpus.toml")


def test_relative_paths_are_meant_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings.from_env({"ARBORIST_HOME": "home"}).home == tmp_path / "home"
