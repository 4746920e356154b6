"""Everything of a home lies inside it, where `architecture.md` says."""

from pathlib import Path

from arborist.home import Home


def test_files_lie_where_the_specification_says() -> None:
    home = Home(Path("home"))
    assert home.documents_file("wiki", "wiki-001") == Path("home/documents/wiki/wiki-001.parquet")
    assert home.chunks_file("wiki-001") == Path("home/chunks/wiki-001.parquet")
    assert home.shard_file("wiki-001") == Path("home/shards/wiki-001.db")
    assert home.ledger_file == Path("home/ledger.db")
    assert (home.evaluations_folder, home.audits_folder) == (Path("home/evaluations"), Path("home/audits"))
    assert home.dagster_folder == Path("home/dagster")


def test_naming_files_makes_none(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.manifest_file("wiki")
    home.skipped_file("wiki")
    home.shard_file("wiki-000")
    assert list(tmp_path.iterdir()) == []
