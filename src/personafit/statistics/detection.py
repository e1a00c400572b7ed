"""Detection metrics of yes-or-no answers against relevance labels: precision, recall, F1, kappa, over-selection, ranking.

Every metric except the rankings is a smooth function of four counts. Its interval is the clustered one of its linearisation
(the infinitesimal jackknife): each pair gets a pseudo-value whose mean is the metric and whose spread is that of the metric, and
`cluster_mean` computes the interval by person and prompt. Two raters are compared on the pseudo-values of the pairs that both
answered. Everything here is deterministic.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.clusters import FEWEST_PEOPLE, Estimate, clipped, cluster_mean, too_few

Floats = NDArray[np.float64]
Metric = Literal["precision", "recall", "f1", "f2", "accuracy", "kappa", "yes_rate", "over_selection"]

METRICS: tuple[Metric, ...] = (
    "f1",
    "precision",
    "recall",
    "accuracy",
    "kappa",
    "yes_rate",
    "over_selection",
)
UNDEFINED: dict[Metric, str] = {
    "precision": "undefined: it never says yes",
    "recall": "undefined: nothing is relevant",
    "f1": "undefined: nothing is relevant and it never says yes",
    "f2": "undefined: nothing is relevant and it never says yes",
    "accuracy": "undefined: no pair has an answer and a label",
    "kappa": "undefined: every answer and label is the same, so chance alone would agree as well",
    "yes_rate": "undefined: no pair has an answer and a label",
    "over_selection": "undefined: nothing is relevant",
}
# Ratios: weights of the four counts (true and false yes, false and true no) in the numerator and the denominator.
_RATIOS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "precision": ((1, 0, 0, 0), (1, 1, 0, 0)),
    "recall": ((1, 0, 0, 0), (1, 0, 1, 0)),
    "f1": ((2, 0, 0, 0), (2, 1, 1, 0)),
    "f2": ((5, 0, 0, 0), (5, 1, 4, 0)),  # F-beta with beta 2: a miss weighs four times a false alarm
    "accuracy": ((1, 0, 0, 1), (1, 1, 1, 1)),
    "yes_rate": ((1, 1, 0, 0), (1, 1, 1, 1)),
    "over_selection": ((1, 1, 0, 0), (1, 0, 1, 0)),
}
_BOUNDS: dict[Metric, tuple[float, float]] = {"kappa": (-1.0, 1.0), "over_selection": (0.0, np.inf)}


def detection(
    said: ArrayLike, relevant: ArrayLike, metric: Metric, people: ArrayLike, prompts: ArrayLike
) -> Estimate:
    """Return a metric of yes-or-no answers against labels, with its clustered interval."""
    values = pseudo_values(said, relevant, metric)
    count, who = len(values), len(np.unique(np.asarray(people)))
    if count == 0 or np.isnan(values).any():
        return Estimate(None, None, None, count, who, UNDEFINED[metric])
    if who < FEWEST_PEOPLE:
        return Estimate(float(values.mean()), None, None, count, who, too_few(who))
    if not (values - values[0]).any():
        return _constant(float(values[0]), metric, said, relevant, people, prompts)
    return cluster_mean(values, people, prompts, _BOUNDS.get(metric, (0.0, 1.0)))


def _constant(
    value: float,
    metric: Metric,
    said: ArrayLike,
    relevant: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike,
) -> Estimate:
    """Return a metric from which no pair deviates, with an exact interval over the people (or prompts) of the pairs in its
    denominator; without an interval if its value is fixed by definition."""
    who, counted = len(np.unique(np.asarray(people))), _counted(said, relevant, metric)
    same = len(np.unique(np.asarray(said))) == 1
    by_definition = same and metric == "recall"  # always saying yes misses nothing in any sample
    if value not in (0.0, 1.0) or metric in ("kappa", "yes_rate", "over_selection") or by_definition:
        why = "it gives the same answer to every pair" if same else "no pair deviates from the figure"
        note = f"no interval: {why}"
        return Estimate(value, None, None, len(counted), who, note)
    owners, asked = np.asarray(people)[counted], np.asarray(prompts)[counted]
    exact = cluster_mean(np.full(len(owners), value), owners, asked, (0.0, 1.0))
    return Estimate(value, exact.low, exact.high, len(counted), who, exact.note)


def _counted(said: ArrayLike, relevant: ArrayLike, metric: Metric) -> NDArray[np.bool_]:
    """Return a mask of the pairs that enter the denominator of a metric."""
    cells = _cells(said, relevant)
    if metric == "kappa":
        return np.ones(len(cells), dtype=bool)
    counted: NDArray[np.bool_] = cells @ np.array(_RATIOS[metric][1]) > 0
    return counted


def detection_difference(
    first: ArrayLike,
    second: ArrayLike,
    relevant: ArrayLike,
    metric: Metric,
    people: ArrayLike,
    prompts: ArrayLike,
) -> Estimate:
    """Return the first rater's metric minus the second's on the same pairs, with its clustered interval."""
    values = pseudo_values(first, relevant, metric) - pseudo_values(second, relevant, metric)
    count, who = len(values), len(np.unique(np.asarray(people)))
    if count == 0 or np.isnan(values).any():
        return Estimate(None, None, None, count, who, "undefined: one of the two figures is")
    if who < FEWEST_PEOPLE:
        return Estimate(float(values.mean()), None, None, count, who, too_few(who))
    widest = 2.0 if metric == "kappa" else 1.0
    return clipped(cluster_mean(values, people, prompts), -widest, widest)


def pseudo_values(said: ArrayLike, relevant: ArrayLike, metric: Metric) -> Floats:
    """Return one pseudo-value per pair, whose mean is the metric and whose deviations are n × influence; nan if undefined."""
    cells = _cells(said, relevant)
    totals = cells.sum(0)
    if metric == "kappa":
        value, gradient = _kappa(totals)
    else:
        above, below = (np.array(weights, dtype=np.float64) for weights in _RATIOS[metric])
        line = float(totals @ below)
        value = float(totals @ above) / line if line else np.nan
        gradient = (above - value * below) / line if line else np.full(4, np.nan)
    # The metric is invariant to scaling all counts, so the deviations sum to 0.
    return value + len(cells) * (cells @ gradient)


def _cells(said: ArrayLike, relevant: ArrayLike) -> Floats:
    yes, truth = np.asarray(said, dtype=bool), np.asarray(relevant, dtype=bool)
    return np.column_stack([yes & truth, yes & ~truth, ~yes & truth, ~yes & ~truth]).astype(np.float64)


def standing(scores: ArrayLike, lists: ArrayLike) -> Floats:
    """Return the relative rank of each score in its own list: near 1 for the highest, near 0 for the lowest, mid-ranks for ties.

    Cosines and BM25 are higher for some prompts than for others, so only their order within a list is meaningful.
    """
    from scipy.stats import rankdata

    values, places = np.asarray(scores, dtype=np.float64), np.empty(len(np.asarray(scores)))
    for members in _members(np.asarray(lists)):
        places[members] = (rankdata(values[members]) - 0.5) / len(members)
    return places


def crossfit_threshold(
    scores: ArrayLike, relevant: ArrayLike, prompts: ArrayLike
) -> tuple[NDArray[np.float64], str | None]:
    """Return the cross-fitted decision threshold of each pair, the one with the best F1 on all other prompts, and a note.

    Thresholds are nan, with a note, if there is only one prompt. A score equal to the threshold is a yes; of equally good
    thresholds the highest is taken.
    """
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=bool)
    names, codes = np.unique(np.asarray(prompts), return_inverse=True)
    thresholds = np.full(len(values), np.nan)
    if len(names) < 2:
        return thresholds, "it gives scores, and how many to pick can only be learnt from other prompts"
    for code in range(len(names)):
        here = codes == code
        thresholds[here] = best_threshold(values[~here], truth[~here])
    return thresholds, None


def best_threshold(scores: Floats, relevant: NDArray[np.bool_], beta: float = 1.0) -> float:
    """Return the threshold with the best F1, or F-beta, for saying yes at or above it; nan if nothing is relevant."""
    if not relevant.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits, taken = np.cumsum(relevant[order]), np.arange(1, len(scores) + 1)
    f_beta = (1 + beta**2) * hits / (taken + beta**2 * relevant.sum())
    ends = np.append(ranked[:-1] != ranked[1:], True)  # equal scores are taken together or not at all
    return float(ranked[ends][np.argmax(f_beta[ends])])


def average_precision(scores: ArrayLike, relevant: ArrayLike) -> float | None:
    """Return the average precision of the ranking by score, with tied scores taken together; None if nothing is relevant."""
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=bool)
    if not truth.any():
        return None
    order = np.argsort(-values, kind="stable")
    ranked, hits = values[order], np.cumsum(truth[order])
    ends = np.flatnonzero(np.append(ranked[:-1] != ranked[1:], True))
    gained = np.diff(hits[ends], prepend=0)
    return float((gained * hits[ends] / (ends + 1)).sum() / truth.sum())


def r_precision(scores: ArrayLike, relevant: ArrayLike) -> float | None:
    """Return R-precision: the precision among the top R pairs, where R is the number of relevant ones, in expectation over ties."""
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=bool)
    wanted = int(truth.sum())
    if not wanted:
        return None
    border = np.sort(values)[-wanted]
    above, level = values > border, values == border
    drawn = (wanted - above.sum()) / level.sum()
    return float((truth[above].sum() + drawn * truth[level].sum()) / wanted)


RANKINGS = {"average_precision": average_precision, "r_precision": r_precision}


def mean_ranking(
    scores: ArrayLike,
    relevant: ArrayLike,
    lists: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike,
    figure: Literal["average_precision", "r_precision"],
) -> Estimate:
    """Return a ranking metric averaged over the lists with a relevant entry, with an interval clustered by person and prompt."""
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(relevant, dtype=bool)
    owners, questions = np.asarray(people), np.asarray(prompts)
    rows: list[tuple[float, Any, Any]] = []
    for members in _members(np.asarray(lists)):
        found = RANKINGS[figure](values[members], truth[members])
        if found is not None:
            rows.append((found, owners[members[0]], questions[members[0]]))
    if not rows:
        return Estimate(None, None, None, 0, 0, "undefined: nothing is relevant")
    figures, who, asked = (np.array(column) for column in zip(*rows, strict=True))
    return cluster_mean(figures, who, asked, (0.0, 1.0))


def _members(labels: NDArray[Any]) -> Sequence[NDArray[np.intp]]:
    _, codes = np.unique(labels, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _kappa(totals: Floats) -> tuple[float, Floats]:
    """Return Cohen's kappa of a two-by-two table and its gradient with respect to the four counts."""
    a, b, c, d = totals
    above, below = 2 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d)
    if below == 0:
        return float("nan"), np.full(4, np.nan)
    value = above / below
    above_by = 2 * np.array([d, -c, -b, a])
    below_by = np.array([b + 2 * d + c, a + 2 * b + d, a + 2 * c + d, 2 * a + b + c])
    return float(value), (above_by - value * below_by) / below
