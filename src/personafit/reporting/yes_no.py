"""Answers of yes and no side by side: how often each rater says yes, and how well it finds what people call relevant."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit.statistics import Estimate
from personafit.statistics.agreement import Ints
from personafit.statistics.detection import Metric, detection
from personafit.statistics.preferences import clustered

FIGURES: tuple[Metric, ...] = ("accuracy", "precision", "recall", "f1")
NOBODY = Estimate(None, None, None, 0, 0, "nothing to average")


def yes_rate(codes: Ints, people: NDArray[Any], prompts: NDArray[Any]) -> Estimate:
    """The share of yes among a rater's answers (1 yes, 0 no, -1 none)."""
    given = codes >= 0
    if not given.any():
        return NOBODY
    return clustered(codes[given].astype(np.float64), people[given], prompts[given], (0.0, 1.0))


def found_relevant(
    codes: Ints, truth: Ints, people: NDArray[Any], prompts: NDArray[Any]
) -> Iterator[tuple[Metric, Estimate]]:
    """Accuracy, precision, recall and F1 of a rater's answers against others, on what both answered."""
    both = (codes >= 0) & (truth >= 0)
    for figure in FIGURES:
        yield figure, detection(codes[both] == 1, truth[both] == 1, figure, people[both], prompts[both])
