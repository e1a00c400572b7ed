"""The figures of preferences: marks and the effect of mention by rater, and naming as a writer against liking it as a judge.

Raters asked for are filled dots, controls hollow squares, people diamonds, published figures crosses; nothing is told by colour alone.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from personafit.items.preference import MIDDLE
from personafit.reporting.marks import PanelMark, dot_panels
from personafit.reporting.preference.published import PUBLISHED
from personafit.reporting.preference.scores import PreferenceScores
from personafit.reporting.preference.tables import rater_rows
from personafit.reporting.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "How to read it: left, the mean mark a rater gives personalized answers; at the dashed line it prefers neither. Right, how much "
    "higher it marks answers that name the attribute. Bars are 95 % intervals. Filled dots were asked here, hollow squares are rules, "
    "diamonds are people, crosses are published figures from other answers."
)


def preference_figure(scores: PreferenceScores, results: Sequence[Result]) -> "Figure | None":
    """Mean marks and mention effects side by side; None if nobody gave a mark."""
    rows = rater_rows(scores, results)
    panels = [
        ("Mean mark, 1 generic to 5 personalized", float(MIDDLE), [_mark(*row, "rating") for row in rows]),
        ("Mention Δ, points", 0.0, [_mark(*row, "mention_effect") for row in rows]),
    ]
    if not any(mark.value is not None and mark.control != PUBLISHED for mark in panels[0][2]):
        return None
    return dot_panels(panels)


def _mark(name: str, control: str | None, found: dict[str, Result], metric: str) -> PanelMark:
    result = found.get(metric)
    if result is None:
        return PanelMark(name, control, None)
    return PanelMark(name, control, result.value, result.low, result.high)
