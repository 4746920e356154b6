"""Where everything lies under `$ARBORIST_HOME` (`architecture.md`, On disk)."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds a corpus and its ledger; nothing in it is made before it is needed."""

    root: Path

    def documents_folder(self, source: str) -> Path:
        return self.root / "documents" / source

    def documents_file(self, source: str, shard: str) -> Path:
        return self.documents_folder(source) / f"{shard}.parquet"

    def manifest_file(self, source: str) -> Path:
        """What the last reading of the source gave: its digests and counts."""
        return self.documents_folder(source) / "manifest.json"

    def skipped_file(self, source: str) -> Path:
        """The entries that the last reading left out, one JSON object a line."""
        return self.documents_folder(source) / "skipped.jsonl"

    def chunks_file(self, shard: str) -> Path:
        return self.root / "chunks" / f"{shard}.parquet"

    @property
    def shards_folder(self) -> Path:
        return self.root / "shards"

    def shard_file(self, shard: str) -> Path:
        return self.shards_folder / f"{shard}.db"

    def cold_shard_file(self, shard: str) -> Path:
        """What is left of an evicted shard: documents, leaf hashes and roots, without texts and index."""
        return self.shards_folder / f"{shard}.cold.db"

    def cold_text_file(self, shard: str) -> Path:
        """The texts of an evicted shard."""
        return self.shards_folder / f"{shard}.cold.parquet"

    @property
    def ledger_file(self) -> Path:
        return self.root / "ledger.db"

    def sweep_file(self, name: str) -> Path:
        return self.root / "sweeps" / f"{name}.parquet"

    @property
    def signing_key_file(self) -> Path:
        """The private key that checkpoints are signed with unless another is given."""
        return self.root / "keys" / "checkpoint.pem"

    @property
    def public_key_file(self) -> Path:
        return self.root / "keys" / "checkpoint.vkey"

    def checkpoint_file(self, size: int) -> Path:
        """The signed note over the first `size` events."""
        return self.root / "checkpoints" / f"{size:012d}.txt"

    @property
    def evaluations_folder(self) -> Path:
        return self.root / "evaluations"

    @property
    def audits_folder(self) -> Path:
        return self.root / "audits"

    @property
    def dagster_folder(self) -> Path:
        return self.root / "dagster"
