"""What a trained rater is worth, as figures for programs and as a card for people; the cards' texts stand in `texts/`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from personafit._errors import writing
from personafit.raters.fitted import FittedModel, save_fitted
from personafit.statistics import Estimate
from personafit.statistics.detection import Metric, detection
from personafit.train.cross_fitting import Bools

QUALITY, CARD = "quality.json", "card.md"
Say = Callable[[str], None]


@dataclass(frozen=True)
class QualityMetric:
    """One figure of a rater or of a control, on what was left out."""

    metric: str
    split: str
    estimate: Estimate
    control: str | None = None


@dataclass(frozen=True)
class TrainedRater:
    """A rater that was trained and written to a folder: its spec, the name of its data, its card and its figures."""

    rater: str
    source: str
    card: str
    fingerprint: str
    figures: Sequence[QualityMetric] = ()


def detection_figures(
    said: Bools,
    truth: Bools,
    people: Sequence[str],
    groups: Sequence[str],
    metrics: Sequence[Metric],
    split: str,
    control: str | None = None,
) -> list[QualityMetric]:
    """Every metric of yes-or-no answers."""
    return [
        QualityMetric(metric, split, detection(said, truth, metric, people, groups), control)
        for metric in metrics
    ]


Found = dict[tuple[str, str | None, str], Estimate]


def by_place(figures: Iterable[QualityMetric]) -> Found:
    """The estimates by split, control and metric."""
    return {(one.split, one.control, one.metric): one.estimate for one in figures}


def write_rater(folder: Path, model: FittedModel, figures: Any, card: str, source: str) -> TrainedRater:
    """Write the model's files, the figures as quality.json and card.md."""
    with writing(folder):
        save_fitted(model, folder)
        write_figures(folder, figures)
        (folder / CARD).write_text(card, encoding="utf-8")
    listed = figures if isinstance(figures, list) else ()
    return TrainedRater(f"fitted:{folder}", source, card, model.fingerprint, listed)


def make_folder(folder: Path) -> None:
    """Make the folder a rater is written to, before any time is spent on it."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_figures(folder: Path, figures: Any) -> None:
    """Write the figures as quality.json."""
    (folder / QUALITY).write_bytes(
        orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n"
    )


def render_card(kind: str, /, **facts: Any) -> str:
    """The card of a kind of rater; its template formats numbers with `n`, `form` and `figure`."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "texts"),
        autoescape=select_autoescape(),  # a card is Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"n": "{:,}".format, "form": format, "figure": show_estimate}
    return environment.get_template(f"{kind}.md").render(facts)


def show_estimate(estimate: Estimate | None, form: str = ".3f", times: float = 1) -> str:
    """A figure with its interval; nothing where there is none."""
    if estimate is None:
        return ""
    if estimate.value is None:
        return "–"
    text = format(times * estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({format(times * estimate.low, form)} to {format(times * estimate.high, form)})"


def card_table(
    headings: Sequence[str], rows: Iterable[Sequence[str | Estimate | None]], form: str = ".3f"
) -> str:
    """A table in Markdown of texts and estimates; headings may be names of metrics."""
    first = " | ".join(heading.replace("_", " ") for heading in headings).lstrip()
    lines = [f"| {first} |", "|---" * len(headings) + "|"]
    for row in rows:
        cells = [cell if isinstance(cell, str) else show_estimate(cell, form) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure_table(
    found: Found,
    rows: Iterable[tuple[str, str, str | None]],
    metrics: Sequence[str],
    headings: Sequence[str] = (),
) -> str:
    """A table of the metrics of some rows, each with its name, split and control."""
    cells = [
        [name, *(found.get((split, control, metric)) for metric in metrics)] for name, split, control in rows
    ]
    return card_table(("", *(headings or metrics)), cells)
