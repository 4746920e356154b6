"""Plots as images in metadata."""

import base64
import io
from collections.abc import Mapping, Sequence

import dagster as dg


def line_plot(x_label: str, lines: Mapping[str, Sequence[float]]) -> dg.MarkdownMetadataValue:
    """One line a name over 1, 2, 3, ...; values between 0 and 1. Shown as a PNG inside Markdown."""
    # Matplotlib takes half a second to import, which loading the definitions should not.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6, 2.4), layout="constrained")
    axes = figure.add_subplot()
    for name, values in lines.items():
        axes.plot(range(1, len(values) + 1), values, marker="o", markersize=3, label=name)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(x_label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower left", fontsize="small")
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)  # type: ignore[no-untyped-call]
    image = base64.b64encode(buffer.getvalue()).decode()
    return dg.MetadataValue.md(f"![{', '.join(lines)} over {x_label}s](data:image/png;base64,{image})")
