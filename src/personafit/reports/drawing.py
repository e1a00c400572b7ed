"""What every figure is drawn with: the page's colours, an empty figure, a mark with its interval; and how a figure leaves.

Matplotlib is imported on first use, since most commands draw nothing. A figure can be saved as PNG as it is, or turned into inline
SVG whose text stays text and whose colours are the page's CSS variables, so that it follows dark mode.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, ACCENT, PAPER = "#20262e", "#68717d", "#dadde2", "#2a5f8f", "#fdfdfc"
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "rule", ACCENT: "accent", PAPER: "paper"}

WIDTH = 9.2  # inches; the page scales it
LARGE = 6.5  # points: a mark


def new_figure(height: float, width: float = WIDTH) -> "Figure":
    """An empty figure of so many inches, its background the page's."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def figure_style() -> Iterator[None]:
    """Fonts and colours of figures, for all that is drawn inside."""
    import matplotlib

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "personafit",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": GRID,
        "axes.labelcolor": INK,
        "xtick.color": MUTED,
        "ytick.color": INK,
        "text.parse_math": False,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Names may be in any script; the page's fonts show what the font that only measures here does not have.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def draw_point(
    axis: "Axes",
    x: float,
    y: float,
    mark: tuple[str, str, str],
    interval: tuple[float | None, float | None] = (None, None),
    label: str | None = None,
) -> None:
    """One number: a mark of a shape, a colour and a fill, its interval through it, its label above it."""
    shape, colour, fill = mark
    low, high = interval
    if low is not None and high is not None:
        axis.plot([low, high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=2)
    axis.plot(
        [x], [y], shape, markersize=LARGE, color=colour, markerfacecolor=fill, markeredgewidth=1.3, zorder=3
    )
    if label is not None:
        axis.annotate(
            label,
            (x, y),
            (0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color=INK,
            bbox={
                "boxstyle": "square,pad=0.08",
                "facecolor": PAPER,
                "edgecolor": "none",
            },  # over the dotted line
        )


def svg(figure: "Figure", name: str) -> str:
    """The figure as an `<svg>` element to put into a page; `name` keeps its ids apart from those of other figures."""
    text = StringIO()
    with figure_style():
        figure.savefig(
            text, format="svg", metadata={"Creator": None, "Date": None, "Format": None, "Type": None}
        )
    whole = text.getvalue()
    inner = re.sub(
        r"<defs>\s*<style.*?</style>\s*</defs>", "", whole[whole.index("<svg") :], count=1, flags=re.S
    )
    # Only tags are touched: matplotlib escapes < and > in texts, so no text looks like one.
    return re.sub(r"<[^>]*>", lambda tag: _page_tag(tag[0], name), inner)


def save(figure: "Figure", path: Path) -> None:
    """The figure as a file of its own, such as PNG; an SVG has what it shows in words for its title."""
    words = {"Title": str(figure.get_label())} if path.suffix == ".svg" and figure.get_label() else None
    with figure_style():
        figure.savefig(path, dpi=160, facecolor=PAPER, metadata=words)


def _page_tag(tag: str, name: str) -> str:
    if tag.startswith("<svg"):
        tag = re.sub(r' (width|height)="[^"]*"', "", tag)
        return tag.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = re.sub(r'href="#', f'href="#{name}-', tag).replace("url(#", f"url(#{name}-")
    tag = re.sub(r"(font: [^;\"]*?)'[^;\"]*", r"\1var(--sans)", tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda colour: _page_colour(colour[0]), tag)


def _page_colour(colour: str) -> str:
    return f"var(--{VARIABLES[colour]})" if colour in VARIABLES else colour
