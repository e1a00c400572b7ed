"""Evaluation of a trained rater: figures for programs, and a card for people; card templates are in `texts/`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from personafit._errors import writing
from personafit.raters.fitted import FittedModel, save_fitted
from personafit.raters.fitted.model import Floats
from personafit.statistics import Estimate
from personafit.statistics.detection import Metric, detection
from personafit.train.cross_fitting import Bools

QUALITY, CARD = "quality.json", "card.md"
Say = Callable[[str], None]


@dataclass(frozen=True)
class QualityMetric:
    """A held-out figure of a rater or of a control."""

    metric: str
    split: str
    estimate: Estimate
    control: str | None = None


@dataclass(frozen=True)
class TrainedRater:
    """A rater trained and written to a folder: its spec, the name of its data, its card and its figures."""

    rater: str
    source: str
    card: str
    fingerprint: str
    figures: Sequence[QualityMetric] = ()


def detection_figures(
    said: Floats | Bools,
    truth: Bools,
    people: Sequence[str],
    groups: Sequence[str],
    metrics: Sequence[Metric],
    split: str,
    control: str | None = None,
) -> list[QualityMetric]:
    """Return every metric of yes-or-no answers and, if answers may be missing (nan), the share present as `coverage`."""
    read = np.isfinite(said)
    who, where = (np.array(names)[read] for names in (people, groups))
    figures = [
        QualityMetric(metric, split, detection(said[read] == 1, truth[read], metric, who, where), control)
        for metric in metrics
    ]
    if said.dtype != bool:
        coverage = Estimate(float(read.mean()), None, None, len(said), len(set(people)))
        figures.append(QualityMetric("coverage", split, coverage, control))
    return figures


Found = dict[tuple[str, str | None, str], Estimate]


def by_place(figures: Iterable[QualityMetric]) -> Found:
    """Return the estimates by split, control and metric."""
    return {(one.split, one.control, one.metric): one.estimate for one in figures}


def write_rater(folder: Path, model: FittedModel, figures: Any, card: str, source: str) -> TrainedRater:
    """Write the model's files, the figures as quality.json, and card.md."""
    with writing(folder):
        save_fitted(model, folder)
        write_figures(folder, figures)
        (folder / CARD).write_text(card, encoding="utf-8")
    listed = figures if isinstance(figures, list) else ()
    return TrainedRater(f"fitted:{folder}", source, card, model.fingerprint, listed)


def make_folder(folder: Path) -> None:
    """Create the rater's output folder, before any time is spent on training."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_figures(folder: Path, figures: Any) -> None:
    """Write the figures as quality.json."""
    (folder / QUALITY).write_bytes(
        orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n"
    )


def render_card(kind: str, /, **facts: Any) -> str:
    """Render the card of a kind of rater; templates can format numbers with `n`, `form` and `figure`."""
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
    """Format an estimate with its interval; empty if there is none."""
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
    """Render texts and estimates as a Markdown table; headings may be names of metrics."""
    first = " | ".join(heading.replace("_", " ") for heading in headings).lstrip()
    lines = [f"| {first} |", "|---" * len(headings) + "|"]
    for row in rows:
        cells = [cell if isinstance(cell, str) else show_estimate(cell, form) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figure_table(found: Found, rows: Iterable[tuple[str, str, str | None]], metrics: Sequence[str]) -> str:
    """Render a table of metrics, one row for each name, split and control."""
    cells = [
        [name, *(found.get((split, control, metric)) for metric in metrics)] for name, split, control in rows
    ]
    return card_table(("", *metrics), cells)
