"""A small project of its own for a test of the Dagster layer: documents, `corpus.toml`, home and instance."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import dagster as dg
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from arborist.corpus.store import Corpus
from arborist.home import Home
from arborist.workspace import Workspace
from arborist_dagster.build_definitions import build_definitions
from arborist_dagster.building import Build, Step
from arborist_dagster.instance import building_alone, open_instance
from arborist_dagster.settings import PROJECT, Settings

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
CORPUS_ASSETS = ("source_documents", "document_chunks", "fts_index", "corpus_snapshot")
DOCS = ("anchor", "bell", "clock", "globe", "harp", "lamp", "mirror", "vase")
TREES = ("ash", "elm", "oak")
TEXT = "The {name} is kept in the {name} room. It was found in {year}, and nobody has moved it since.\n"


@dataclass
class DagsterProject:
    """A folder with documents, a `corpus.toml` whose sources are folders of Markdown, and a home."""

    root: Path
    _opened: list[dg.DagsterInstance] = field(default_factory=list)

    @classmethod
    def new(cls, root: Path) -> "DagsterProject":
        """Eight documents in the two shards of `docs`, three in the one shard of `trees`; nothing is built.

        Three shards are too few for processes of their own, which keeps tests fast.
        """
        project = cls(root)
        for name in DOCS:
            project.write(f"docs/{name}.md")
        for name in TREES:
            project.write(f"trees/{name}.md")
        project.configure({"docs": 2, "trees": 1})
        return project

    def copied_to(self, root: Path) -> "DagsterProject":
        """The same project elsewhere, built as far as this one."""
        shutil.copytree(self.root, root)
        return DagsterProject(root)

    def close(self) -> None:
        for instance in self._opened:
            instance.dispose()

    @property
    def config(self) -> Path:
        return self.root / "corpus.toml"

    @property
    def home(self) -> Home:
        return Home(self.root / "home")

    @property
    def workspace(self) -> Workspace:
        """As it stands now: nothing is kept from an earlier look."""
        return Workspace.open(self.home.root, self.config)

    @property
    def corpus(self) -> Corpus:
        return self.workspace.corpus

    @property
    def settings(self) -> Settings:
        return Settings(self.home.root, self.config)

    @property
    def definitions(self) -> dg.Definitions:
        return build_definitions(self.settings)

    @cached_property
    def instance(self) -> dg.DagsterInstance:
        self._opened.append(open_instance(self.home))
        return self._opened[-1]

    def configure(self, shards: Mapping[str, int], max_characters: int = 60) -> None:
        """Write `corpus.toml` with these sources, each a folder of its name, in these numbers of shards."""
        tables = [f"[chunking]\nmax_characters = {max_characters}\n"]
        for source, count in shards.items():
            tables.append(f'[sources.{source}]\nkind = "markdown"\npath = "{source}"\nshards = {count}\n')
        self.config.write_text("\n".join(tables))

    def write(self, document: str, text: str | None = None) -> Path:
        """Write a document, `docs/lamp.md`; without a text it gets one that follows from its name."""
        path = self.root / document
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {path.stem}\n\n" + (text or TEXT.format(name=path.stem, year=1900 + len(path.stem))))
        return path

    def shard_of(self, document: str) -> str:
        """The shard that holds the document `docs/lamp.md`."""
        source = self.corpus.config.source(document.split("/")[0])
        uris = {shard: _uris(self.corpus, shard) for shard in source.shard_names}
        (found,) = [shard for shard, held in uris.items() if any(uri.endswith(document) for uri in held)]
        return found

    def materialize(
        self, assets: Sequence[str], partitions: Sequence[str] = (), *, raise_on_error: bool = True
    ) -> dg.ExecuteInProcessResult:
        """One run over one partition, the range from the first to the last of two, or no partition."""
        keys = [dg.AssetKey(name) for name in assets]
        job = self.definitions.resolve_implicit_job_def_def_for_assets(keys)
        assert job is not None
        names = RANGE if len(partitions) == 2 else ("dagster/partition",)
        return job.execute_in_process(
            instance=self.instance,
            asset_selection=keys,
            tags=dict(zip(names, partitions, strict=False)),
            raise_on_error=raise_on_error,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )

    def check(self, name: str, asset: str = "fts_index") -> dg.AssetCheckEvaluation:
        """Run one check on its own."""
        selection = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(asset), name))
        definitions = self.definitions
        job = dg.define_asset_job("only_checks", selection).resolve(
            asset_graph=definitions.resolve_asset_graph(), resource_defs=definitions.resources
        )
        (found,) = job.execute_in_process(
            instance=self.instance,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        ).get_asset_check_evaluations()
        return found

    def build(self) -> tuple[list[Step], list[str]]:
        """What `arborist build` does, in this process: what was made, and what failed."""
        with building_alone(self.home) as instance:
            work = Build(self.settings, self.corpus, instance)
            results = [work.run(step) for steps in work.phases() for step in steps]
        made = [step for result in results for step in result.made]
        return made, [result.failure for result in results if result.failure]

    def arborist(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """The command itself, in a process of its own."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            check=check,
            cwd=self.root,
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "arborist", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        home, config = {"ARBORIST_HOME": str(self.home.root)}, {"ARBORIST_CONFIG": str(self.config)}
        return os.environ | home | config | {"PYTHONPATH": str(PROJECT)}

    def latest(self, asset: str, partition: str | None = None) -> dg.AssetMaterialization | None:
        """The last materialization of an asset, or of one partition of it."""
        chosen = [partition] if partition else None
        wanted = dg.AssetRecordsFilter(dg.AssetKey(asset), asset_partitions=chosen)
        records = self.instance.fetch_materializations(wanted, limit=1).records
        return records[0].asset_materialization if records else None

    def version(self, asset: str, partition: str | None = None) -> str | None:
        """The data version that Dagster holds for it."""
        event = self.latest(asset, partition)
        return None if event is None else (event.tags or {}).get("dagster/data_version")

    def unsynced(self, assets: Sequence[str] = CORPUS_ASSETS) -> dict[str, str]:
        """What Dagster does not hold for fresh and why: `{"fts_index[docs-000]": "STALE ..."}`."""
        graph = self.definitions.resolve_asset_graph()
        resolver = CachingStaleStatusResolver(self.instance, graph, LoadingContextForTest(self.instance))
        found = {}
        for name in assets:
            key, definition = dg.AssetKey(name), graph.get(dg.AssetKey(name)).partitions_def
            for partition in definition.get_partition_keys() if definition else [None]:
                status = resolver.get_status(key, partition)
                if status is not StaleStatus.FRESH:
                    causes = [cause.reason for cause in resolver.get_stale_causes(key, partition)]
                    found[f"{name}[{partition}]" if partition else name] = " ".join([status.value, *causes])
        return found


def roots(corpus: Corpus) -> dict[str, str]:
    """The root of every shard that can be searched."""
    return dict(corpus.snapshot().shards)


def leftovers(home: Home) -> list[str]:
    """Files under the home that were being written when their writer ended."""
    return sorted(str(path.relative_to(home.root)) for path in home.root.rglob("*.partial*"))


def processes_of(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(its_session) == session and state != "Z":
                found.append(int(entry.name))
    return found


def _uris(corpus: Corpus, shard: str) -> set[str]:
    """The uris of a shard's documents, also while it is behind."""
    from arborist.corpus.tables import read_rows

    source = corpus.config.source_of_shard(shard).name
    return {uri for (uri,) in read_rows(corpus.home.documents_file(source, shard), ["uri"])}
