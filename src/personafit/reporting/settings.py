"""One model under several settings, as in PersonaFeedback's Figure 3 and Table 7: the profile, memories, an induced profile, nothing.

The run's rows have intervals over people; the published ones were measured by others on other items and are only quoted beside them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.benchmarks.personafeedback import PUBLISHED
from personafit.contexts import is_remembered
from personafit.reporting import drawing, plots
from personafit.reporting.contrasts import NO_INTERVAL, PAPER
from personafit.reporting.plots import Dot, PlotRow
from personafit.reporting.results import RunScores
from personafit.statistics import coverage, mean_by_item

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOURCE = f"{PAPER}, Table 7"
COIN = 50.0
FILES = ("settings.png", "settings.svg")


@dataclass(frozen=True)
class Setting:
    """What one model scores under one view."""

    model: str
    view: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    coverage: float | None
    source: str
    published: bool


def settings(scores: RunScores) -> list[Setting]:
    """The run's raters under each of its views, then the published rows; nothing where no view is made from memories."""
    if not any(is_remembered(view.removeprefix("wrong:")) for view in scores.views):
        return []
    found = []
    for rater in scores.raters:
        for view in scores.views:
            frame = scores.scores[rater["fingerprint"], view]
            mean = mean_by_item(frame, "accuracy")
            found.append(
                Setting(
                    rater["name"],
                    view,
                    mean.value,
                    mean.low,
                    mean.high,
                    mean.n,
                    mean.people,
                    coverage(frame),
                    f"run {scores.run.name}",
                    False,
                )
            )
    return [*found, *_published()]


def print_settings(console: Console, found: Sequence[Setting]) -> None:
    """One line per model, one column per view; the published lines below."""
    if not found:
        return
    views = _views(found)
    title = "Accuracy in % by what is shown of the person, 95 % interval over people below"
    table = Table(title=title, title_justify="left")
    table.add_column("model", overflow="fold", min_width=12)
    for view in views:
        heading = Text(view.replace(":", ":\n").replace("+", "+\n"))
        table.add_column(heading, justify="right", overflow="fold")
    for published in (False, True):
        rows = [one for one in found if one.published == published]
        if published and rows:
            table.add_section()
            table.add_row(Text(f"published ({SOURCE.split(', ', 1)[1]}; {NO_INTERVAL}):", style="italic"))
        for model in dict.fromkeys(one.model for one in rows):
            cells = {one.view: _cell(one) for one in rows if one.model == model}
            style = "dim" if published else ""
            table.add_row(Text(model), *(cells.get(view, "") for view in views), style=style)
    console.print(table)


def draw_settings(found: Sequence[Setting]) -> tuple[str, str, "Figure"]:
    """The same as a figure, with its title and how to read it."""
    views = _views(found)
    rows = []
    for model, published in dict.fromkeys((one.model, one.published) for one in found):
        ours = {one.view: one for one in found if (one.model, one.published) == (model, published)}
        dots = [_dot(ours.get(view)) for view in views]
        rows.append(PlotRow(model, dots, published=published))
    caption = (
        "How to read it: one line per model, one mark per setting; bars are 95 % intervals over people, the dotted line is a coin "
        "toss. Lines called published, with small grey marks, were measured by others on other items and have no interval."
    )
    figure = plots.series_figure(rows, views, COIN, "accuracy in %; published rows have no interval")
    return "One model under several settings", caption, figure


def write_settings(found: Sequence[Setting], folder: Path) -> list[Path]:
    """The figure in two formats."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = draw_settings(found)[2]
    paths = [folder / name for name in FILES]
    for path in paths:
        drawing.save(figure, path)
    return paths


def as_dicts(found: Sequence[Setting]) -> list[dict[str, Any]]:
    """The settings as plain objects."""
    return [asdict(one) for one in found]


def _published() -> list[Setting]:
    rows = orjson.loads(PUBLISHED.read_bytes())["scores"]
    return [
        Setting(row["model"], row["view"], row["scores"][""] / 100, None, None, 0, 0, None, SOURCE, True)
        for row in rows
        if row["source"] == SOURCE
    ]


def _views(found: Sequence[Setting]) -> list[str]:
    """The run's views as it names them, and those that only the published rows have after them."""
    return list(dict.fromkeys(one.view for one in found))


def _cell(one: Setting) -> str:
    if one.value is None:
        return "undefined"
    ends = (
        ""
        if one.low is None or one.high is None
        else f"\n[dim]{100 * one.low:.1f}–{100 * one.high:.1f}[/dim]"
    )
    partly = "" if one.coverage in (None, 1.0) else f"\n[dim]coverage {100 * (one.coverage or 0):.0f} %[/dim]"
    return f"{100 * one.value:.1f}{ends}{partly}"


def _dot(one: Setting | None) -> Dot:
    if one is None or one.value is None:
        return Dot()
    return Dot(*(None if number is None else 100 * number for number in (one.value, one.low, one.high)))
