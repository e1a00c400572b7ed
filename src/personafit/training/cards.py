"""What the cards of fitted raters share: a figure in words, and the two files that say what a rater is worth."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import orjson

from personafit.statistics import Estimate
from personafit.training.matcher_quality import MatcherMetric


def write_card(folder: Path, figures: Sequence[MatcherMetric], text: str) -> None:
    """Write the figures as quality.json, for programs, and the text as card.md, for people."""
    body = orjson.dumps([asdict(figure) for figure in figures], option=orjson.OPT_INDENT_2)
    (folder / "quality.json").write_bytes(body + b"\n")
    (folder / "card.md").write_text(text, encoding="utf-8")


def show_estimate(estimate: Estimate, form: str = ".3f") -> str:
    """A figure with its interval, for people."""
    if estimate.value is None:
        return "–"
    text = format(estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({format(estimate.low, form)} to {format(estimate.high, form)})"
