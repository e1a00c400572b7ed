"""Numbers in a square of shaded cells: the fuller the colour the larger, and the number in every cell says the rest.

The shade is the accent colour, more or less transparent, so that it follows light and dark like all of a figure.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from personafit.reporting.drawing import ACCENT, INK
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FULLEST = 0.6  # of the colour, or the number would not be readable on it


def shade_cells(
    axis: "Axes", cells: Sequence[Sequence[float | None]], unknown: str = "–", digits: int = 2
) -> None:
    """Draw the cells, shaded by how far each is from nothing towards 1."""
    size = len(cells)
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            axis.axhspan(
                row - 0.5,
                row + 0.5,
                column / size,
                (column + 1) / size,
                color=ACCENT,
                alpha=FULLEST * min(1.0, abs(value or 0.0)),
                linewidth=0,
            )
            text = unknown if value is None else plain(value, digits)
            axis.text(column, row, text, ha="center", va="center", fontsize=9, color=INK)
    axis.set_xlim(-0.5, size - 0.5)
    axis.set_ylim(size - 0.5, -0.5)
    axis.set_facecolor("none")
    axis.tick_params(length=0, labelcolor=INK)
    for side in axis.spines.values():
        side.set_visible(False)
