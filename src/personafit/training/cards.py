"""What a fitted rater is worth, as figures for programs and as a card for people."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.raters.fitted import FittedModel, save_fitted
from personafit.statistics import Estimate

QUALITY, CARD = "quality.json", "card.md"


@dataclass(frozen=True)
class QualityMetric:
    """One figure of a rater or of a control, on what was left out."""

    metric: str
    split: str
    estimate: Estimate
    control: str | None = None
    repeat: int | None = None


def write_rater(folder: Path, model: FittedModel, figures: Any, card: str) -> None:
    """Write the model's files, the figures as quality.json and card.md."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_fitted(model, folder)
        write_figures(folder, figures)
        (folder / CARD).write_text(card, encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error


def write_figures(folder: Path, figures: Any) -> None:
    """Write the figures as quality.json."""
    (folder / QUALITY).write_bytes(
        orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n"
    )


def show_estimate(estimate: Estimate | None, form: str = ".3f", times: float = 1) -> str:
    """A figure with its interval, for people; nothing where there is none."""
    if estimate is None:
        return ""
    if estimate.value is None:
        return "–"
    text = format(times * estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({format(times * estimate.low, form)} to {format(times * estimate.high, form)})"


def card_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown; headings may be names of metrics."""
    first = " | ".join(heading.replace("_", " ") for heading in headings).lstrip()
    lines = [f"| {first} |", "|---" * len(headings) + "|"]
    return lines + [f"| {' | '.join(cells)} |" for cells in rows]
