"""Metadata that people read: tables, in Markdown and open, and times."""

from collections.abc import Sequence
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


def open_table(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> dict[str, dg.TableMetadataValue]:
    """Metadata for a check or an event: the rows under that name, and no entry where there are none.

    The pages of checks and runs keep Markdown behind a button, but open a table of this kind. Beyond the first
    twenty rows it only says how many there are.
    """
    shown = [dict(zip(columns, map(str, row), strict=True)) for row in rows[:SHOWN_ROWS]]
    if len(rows) > SHOWN_ROWS:
        shown.append(dict.fromkeys(columns, "") | {columns[0]: f"and {len(rows) - SHOWN_ROWS} more"})
    schema = dg.TableSchema([dg.TableColumn(column, "text") for column in columns])
    return {name: dg.MetadataValue.table([dg.TableRecord(row) for row in shown], schema)} if rows else {}


def rounded(seconds: float) -> float:
    """Seconds as they are shown and plotted, to the millisecond."""
    return round(seconds, 3)


def _cell(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
