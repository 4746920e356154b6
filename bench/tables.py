"""Tables of figures as text that stays readable in a terminal and in Markdown."""

from collections.abc import Sequence


def text_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table whose columns are padded to line up."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
