"""One thing that is wrong in a ledger."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LedgerFault:
    """Where it is wrong (`event 12`, `record 12`, `schema`) and how; cache key and stage where it has them."""

    place: str
    problem: str
    cache_key: str | None = None
    stage: str | None = None

    def __str__(self) -> str:
        record = f", cache key {self.cache_key}" if self.cache_key else ""
        stage = f", stage {self.stage}" if self.stage else ""
        return f"{self.place}{record}{stage}: {self.problem}"

    def to_json(self) -> dict[str, str | None]:
        return {"place": self.place, "cache_key": self.cache_key, "stage": self.stage, "problem": self.problem}
