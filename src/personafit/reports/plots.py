"""The figures of a report: dots with interval bars, one row per rater, distinguished by shape and fill, never by colour alone.

A dot is measured, a hollow square is a control, a hollow diamond is people, a cross is a published figure. The label of every figure
describes it in words. Matplotlib is imported on first use, since most commands draw nothing. A figure can be saved as PNG, or turned
into inline SVG whose text stays text and whose colours are the page's CSS variables, so that it follows dark mode.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from personafit.reports.result import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, ACCENT, PAPER = "#20262e", "#68717d", "#dadde2", "#2a5f8f", "#fdfdfc"
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "rule", ACCENT: "accent", PAPER: "paper"}

WIDTH = 9.2  # inches; the page scales it
LARGE = 6.5  # marker size in points


def new_figure(height: float) -> "Figure":
    """Create an empty transparent figure of this height in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the fonts and colours of figures within the context."""
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
        # Names may be in any script: glyphs missing from the font used for measuring are shown by the page's fonts.
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
    """Draw a number: a mark of a shape, colour and fill, its interval and its label."""
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
    """Return the figure as an inline `<svg>` element; `name` prefixes its ids, which keeps them unique on a page."""
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
    """Save the figure as a file; an SVG gets its description as title."""
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


# -- names beside rows -----------------------------------------------------------------------------------------------

LONGEST_NAME = 36
BETWEEN = " · "
BREAKS = re.compile(r"[\s:,/=_-]+")
FOLDERS = re.compile(r"(?<![^:,=/\s])(?:[^:,=/\s]*/){2,}")  # of a path, not of an OWNER/NAME


def lined_name(text: str) -> str:
    """Return a name for a row of a figure, on two lines if it is long; folders of a path are dropped first."""
    plain = shown(text)
    if len(plain) > LONGEST_NAME:
        plain = FOLDERS.sub("…/", plain)
    if len(plain) <= LONGEST_NAME:
        return plain
    start = plain[:LONGEST_NAME]
    breaks = [place.end() for place in BREAKS.finditer(start) if place.end() > LONGEST_NAME // 3]
    between = start.rfind(BETWEEN) + len(BETWEEN)  # of the names of a system and its judge
    first = between if between in breaks else breaks[-1] if breaks else LONGEST_NAME
    return f"{plain[:first].rstrip()}\n{short_name(plain[first:])}"


def shown(text: str) -> str:
    """Replace line breaks, direction marks and other unprintable characters of a name."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def short_name(text: str) -> str:
    """Return a printable name on one line, with the middle of long names left out."""
    plain = shown(text)
    if len(plain) <= LONGEST_NAME:
        return plain
    half = LONGEST_NAME // 2
    return f"{plain[:half]}…{plain[-half:]}"


# -- rows of dots ----------------------------------------------------------------------------------------------------

FULLEST = 0.6  # of the colour, so that the number stays readable
MOST_SAID = 12  # numbers of one group; of more, only the highest and lowest
ROW = 0.36  # inches per row of dots


@dataclass(frozen=True)
class Dot:
    """A number with its interval (in percent unless the panel says otherwise), or nothing."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class _Number(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def dot_of(found: _Number | None, scale: float = 100.0) -> Dot:
    """Return the scaled dot of a figure; an empty one for None."""
    if found is None:
        return Dot()
    return Dot(*(None if end is None else scale * end for end in (found.value, found.low, found.high)))


@dataclass(frozen=True)
class PlotRow:
    """One row of a figure: a name, and one dot per panel."""

    name: str
    dots: Sequence[Dot]
    control: bool = False
    people: bool = False
    published: bool = False

    @property
    def called(self) -> str:
        """The name, with the kind of row."""
        return self.name + (" (control)" if self.control else " (published)" if self.published else "")

    @property
    def mark(self) -> tuple[str, str, str]:
        """Shape, colour and fill of its dots."""
        if self.published:
            return "x", MUTED, MUTED
        if self.people:
            return "D", INK, PAPER
        return ("s", MUTED, PAPER) if self.control else ("o", ACCENT, ACCENT)


@dataclass(frozen=True)
class Panel:
    """One of several panels side by side, with the value of guessing as a reference line."""

    title: str
    chance: float | None = None
    digits: int = 1
    """Decimals of its numbers; panels with the same decimals and chance share their limits."""
    limits: tuple[float, float] | None = None


def marks_words(rows: Sequence[PlotRow]) -> str:
    """Return the sentence of a caption that says what the bars and marks of these rows are; empty if there are dots alone."""
    drawn = {
        "bars are 95 % intervals": any(dot.low is not None for row in rows for dot in row.dots),
        "hollow squares are controls": any(row.control for row in rows),
        "diamonds are people": any(row.people for row in rows),
        "crosses are published figures, not measured here": any(row.published for row in rows),
    }
    words = ", ".join(name for name, there in drawn.items() if there)
    return f" {words[0].upper()}{words[1:]}." if words else ""


def panels_figure(rows: Sequence[PlotRow], panels: Sequence[Panel]) -> "Figure":
    """Draw panels side by side, with a line per row."""
    with figure_style():
        titles = max(panel.title.count("\n") for panel in panels)
        figure, axes = subplots(len(rows) * ROW + 0.9 + 0.2 * titles, len(panels))
        said = []
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            own = [row.dots[place] for row in rows]
            alike = [
                n for n, one in enumerate(panels) if (one.digits, one.chance) == (panel.digits, panel.chance)
            ]
            dots = [row.dots[n] for row in rows for n in alike]
            limits = panel.limits or _limits(dots, panel.chance, 3.0 if panel.digits == 1 else 0.1)
            frame(axis, panel.title)
            _lines(axis, rows if place == 0 else [], len(rows), limits, panel.chance)
            for line, (row, dot) in enumerate(zip(rows, own, strict=True)):
                if dot.value is not None:
                    draw_point(
                        axis, dot.value, line, row.mark, (dot.low, dot.high), plain(dot.value, panel.digits)
                    )
            named = [(row.called, dot) for row, dot in zip(rows, own, strict=True)]
            if group := group_in_words(named, panel.digits):
                said.append(f"{' '.join(panel.title.split())}: {group}.")
        figure.set_label(" ".join(said))
        return figure


def subplots(height: float, columns: int) -> tuple["Figure", Sequence["Axes"]]:
    """Create a figure of this height in inches with panels side by side."""
    figure = new_figure(height)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.08)  # keeps the last tick label of a panel apart from the first of the next
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def frame(axis: "Axes", title: str = "", label: str = "") -> None:
    """Style a panel: a title, and an axis label below."""
    axis.set_facecolor("none")
    axis.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold", parse_math=False)
    axis.set_xlabel(label, loc="left", color=MUTED, fontsize=9)
    axis.tick_params(length=0, colors=MUTED)
    axis.tick_params(axis="y", labelcolor=INK)
    axis.grid(axis="x", color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(GRID)


def shade_cells(axis: "Axes", cells: Sequence[Sequence[float | None]]) -> None:
    """Draw the cells of a matrix, shaded by absolute value up to 1: in blue above 0, in grey below."""
    size = len(cells)
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            axis.axhspan(
                row - 0.5,
                row + 0.5,
                column / size,
                (column + 1) / size,
                color=MUTED if (value or 0.0) < 0 else ACCENT,
                alpha=FULLEST * min(1.0, abs(value or 0.0)),
                linewidth=0,
            )
            text = "" if value is None else plain(value, 2)
            axis.text(column, row, text, ha="center", va="center", fontsize=9, color=INK)
    axis.set_xlim(-0.5, size - 0.5)
    axis.set_ylim(size - 0.5, -0.5)
    axis.set_facecolor("none")
    axis.tick_params(length=0, labelcolor=INK)
    for side in axis.spines.values():
        side.set_visible(False)


def group_in_words(pairs: Sequence[tuple[str, _Number]], digits: int = 1) -> str:
    """List names and numbers, highest first; of many only the highest and lowest."""
    known = sorted(
        [(dot.value, name, dot) for name, dot in pairs if dot.value is not None], key=lambda one: -one[0]
    )
    said = [f"{name} {_in_words(dot, digits)}" for _, name, dot in known]
    if len(said) > MOST_SAID:
        ends = MOST_SAID // 4
        said = [*said[:ends], f"then {len(said) - 2 * ends} more", *said[-ends:]]
    return ", ".join(said)


def _in_words(dot: _Number, digits: int) -> str:
    value = plain(dot.value or 0.0, digits)
    if dot.low is None or dot.high is None:
        return value
    return f"{value} ({plain(dot.low, digits)} to {plain(dot.high, digits)})"


def _lines(
    axis: "Axes", named: Sequence[PlotRow], lines: int, limits: tuple[float, float], chance: float | None
) -> None:
    """Set the rows' names and the reference line of a panel."""
    axis.set_ylim(lines - 0.4, -0.6)
    axis.set_xlim(*limits)
    names = [lined_name(row.called) for row in named]
    axis.set_yticks(range(len(named)), names, parse_math=False)
    if chance is not None:
        axis.axvline(chance, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))


def _limits(dots: Sequence[Dot], chance: float | None, least: float) -> tuple[float, float]:
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    ends += [chance] if chance is not None else []
    if not ends:
        return 0.0, 100.0
    low, high = min(ends), max(ends)
    margin = max(least, 0.08 * (high - low))
    return low - margin, high + margin
