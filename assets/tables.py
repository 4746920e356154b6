"""Metadata that people read: Markdown tables and table schemas."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

SHOWN_ROWS = 20


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dg.MarkdownMetadataValue:
    """The rows as a table; beyond the first twenty it only says how many there are."""
    lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
    lines += [" | ".join(_cell(value) for value in row) for row in rows[:SHOWN_ROWS]]
    text = "\n".join(f"| {line} |" for line in lines)
    if len(rows) > SHOWN_ROWS:
        text += f"\n\nand {len(rows) - SHOWN_ROWS} more"
    return dg.MetadataValue.md(text)


def _cell(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def column_schema(descriptions: Mapping[str, tuple[str, str]]) -> dg.TableSchema:
    """A table schema from column name to (type, description)."""
    return dg.TableSchema(
        columns=[dg.TableColumn(name, kind, text) for name, (kind, text) in descriptions.items()]
    )
