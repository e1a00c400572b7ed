"""Figures of agreement with clustered intervals.

Judgments about one person hang together, and so do judgments on one prompt. Every figure in `agreement` is a smooth function of sums over
units. Its derivative with respect to the weight of one unit is that unit's influence (the infinitesimal jackknife); influences add up
to 0, and `value + n * influence` are pseudo-values whose mean is the figure and whose clustered interval is the figure's: by person, and
by prompt as well where prompts recur across people. Where a distance depends on the pooled order of all ratings (ordinal alpha,
Spearman), the derivative includes what a unit does to that order. Raters are taken as they are: an interval says what other people and
prompts would change, not what other raters would. Nothing is random here, so nothing needs a seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics import agreement
from personafit.statistics.agreement import (
    Figure,
    Floats,
    Ints,
    Level,
    Weights,
    centred_ranks,
    interval_sums,
    label_counts,
    label_credit,
)
from personafit.statistics.clusters import (
    FEWEST_PEOPLE,
    Estimate,
    cluster_mean,
    dense_codes,
    prompts_recur,
    too_few,
)

TableFigure = Literal["percent", "fleiss", "nominal", "ordinal", "interval"]
PairFigure = Literal["percent", "kappa", "linear", "quadratic", "spearman"]

SCALE, SHARE = (-1.0, 1.0), (0.0, 1.0)
NO_SPREAD = (
    "no interval: every unit has the same influence on the figure, so there is no spread to learn from"
)


@dataclass(frozen=True)
class UnitGroups:
    """Which person and prompt each unit belongs to, numbered; prompts only where they recur across people."""

    person: Ints
    prompt: Ints | None

    @classmethod
    def of(cls, people: ArrayLike, prompts: ArrayLike | None, units: int) -> "UnitGroups":
        """Number them; without prompts, units are clustered by person alone."""
        person = people_index(people, units)[0]
        if prompts is None:
            return cls(person, None)
        prompt = people_index(prompts, units, "prompts", "prompt")[0]
        return cls(person, prompt if prompts_recur(person, prompt) else None)

    def mean(self, values: Floats, units: NDArray[np.bool_], bounds: tuple[float, float] | None) -> Estimate:
        """The clustered mean over some of the units."""
        prompt = None if self.prompt is None else self.prompt[units]
        return cluster_mean(values[units], self.person[units], prompt, bounds)

    def figure(
        self,
        point: Figure,
        influence: Floats,
        units: NDArray[np.bool_],
        shared: NDArray[np.bool_],
        bounds: tuple[float, float],
    ) -> Estimate:
        """A figure with the interval of its pseudo-values over `units`; n and people are those of the `shared` ones."""
        n, people = int(shared.sum()), int(np.count_nonzero(np.bincount(self.person[shared])))
        if point.value is None:
            return Estimate(None, None, None, n, people, point.note)
        if people < FEWEST_PEOPLE:
            return Estimate(point.value, None, None, n, people, _joined(point.note, too_few(people)))
        moved = influence[units]
        if np.abs(moved).max(initial=0.0) * len(moved) < 1e-12:
            if bounds != SHARE or point.value not in bounds:
                return Estimate(point.value, None, None, n, people, _joined(point.note, NO_SPREAD))
            influence = np.zeros_like(influence)
        found = self.mean(point.value + len(moved) * influence, units, bounds)
        note = _joined(point.note, found.note)
        return Estimate(point.value, found.low, found.high, n, people, note, found.se, found.df)


@dataclass(frozen=True)
class PairAgreement:
    """One figure for every pair of raters, and how each unit moves it."""

    ratings: Ints
    groups: UnitGroups
    name: PairFigure
    halves: bool
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figure of each pair."""
        return tuple(
            _pair_point(self.ratings[:, i], self.ratings[:, j], self.name, self.halves) for i, j in self.pairs
        )

    def interval(self, pair: int) -> Estimate:
        """The figure of one pair with its interval."""
        both = self._both(pair)
        return self.groups.figure(self.figures[pair], self._influence(pair), both, both, self._bounds)

    def mean(self, members: Sequence[int]) -> Estimate:
        """The mean over some pairs, leaving out those whose figure is undefined and saying how many."""
        defined = [pair for pair in members if self.figures[pair].value is not None]
        if not defined:
            reason = (
                self.figures[members[0]].note if members else "undefined: there is no such pair of raters"
            )
            return Estimate(None, None, None, 0, 0, reason)
        left_out = len(members) - len(defined)
        note = f"{left_out} of {len(members)} pairs left out as undefined" if left_out else None
        value = float(np.mean([self.figures[pair].value for pair in defined]))
        units, influence = np.zeros(len(self.ratings), dtype=bool), np.zeros(len(self.ratings))
        judged = 0
        for pair in defined:
            both = self._both(pair)
            units |= both
            judged += int(both.sum())
            influence += self._influence(pair) / len(defined)
        found = self.groups.figure(Figure(value, note), influence, units, units, self._bounds)
        return Estimate(
            found.value, found.low, found.high, judged, found.people, found.note, found.se, found.df
        )

    def difference(self, first: int, second: int) -> Estimate:
        """How much higher one pair's figure is than another's, from the same units."""
        ours, theirs = self.figures[first], self.figures[second]
        point = Figure(None, ours.note or theirs.note)
        influence = np.zeros(len(self.ratings))
        if ours.value is not None and theirs.value is not None:
            point = Figure(ours.value - theirs.value)
            influence = self._influence(first) - self._influence(second)
        units = self._both(first) | self._both(second)
        return self.groups.figure(point, influence, units, units, (-2.0, 2.0))

    @property
    def _bounds(self) -> tuple[float, float]:
        return SHARE if self.name == "percent" else SCALE

    def _both(self, pair: int) -> NDArray[np.bool_]:
        i, j = self.pairs[pair]
        both: NDArray[np.bool_] = (self.ratings[:, i] >= 0) & (self.ratings[:, j] >= 0)
        return both

    @cached_property
    def _influences(self) -> dict[int, Floats]:
        """The influences worked out so far: a pair is part of a block and of two raters' means."""
        return {}

    def _influence(self, pair: int) -> Floats:
        """The influence of every unit, 0 where one of the two gave no rating."""
        if pair not in self._influences:
            self._influences[pair] = self._worked_out(pair)
        return self._influences[pair]

    def _worked_out(self, pair: int) -> Floats:
        moved = np.zeros(len(self.ratings))
        point, both = self.figures[pair].value, self._both(pair)
        if point is None:
            return moved
        first, second = (self.ratings[both, rater] for rater in self.pairs[pair])
        if self.name == "percent":
            moved[both] = (_credit(first, second, self.halves) - point) / len(first)
        elif self.name == "spearman":
            dense = [dense_codes(codes)[0] for codes in (first, second)]
            moved[both] = spearman_influence(*dense)
        else:
            labels = int(max(first.max(), second.max())) + 1
            distance = agreement.distances(labels, _weights(self.name, self.halves))
            moved[both] = kappa_influence(first, second, distance)
        return moved


def table_agreement(
    ratings: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None,
    figure: TableFigure,
    halves: bool = False,
) -> Estimate:
    """Percent agreement, Fleiss' kappa or Krippendorff's alpha (by its level) of all raters, with its interval."""
    table = agreement.as_ratings(ratings)
    groups = UnitGroups.of(people, prompts, len(table))
    given = (np.isfinite(table) if table.dtype.kind == "f" else table >= 0).sum(1)
    point, shared = _table_point(table, figure, halves), given >= 2
    if point.value is None:
        return groups.figure(point, np.empty(0), shared, shared, SCALE)
    if figure == "interval":
        influence = alpha_influence(table, figure)
    elif figure == "nominal" or figure == "ordinal":
        influence = alpha_influence(agreement.ranked(table), figure, halves)
    else:
        sums = agreement.unit_sums(label_counts(agreement.as_codes(table)), halves)
        influence = percent_influence(sums) if figure == "percent" else fleiss_influence(sums, halves)
    # The labels that units with one rating got are part of what Fleiss' kappa expects by chance.
    units = given >= 1 if figure == "fleiss" else shared
    return groups.figure(point, influence, units, shared, SHARE if figure == "percent" else SCALE)


def pair_agreement(
    ratings: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None,
    figure: PairFigure,
    halves: bool = False,
) -> PairAgreement:
    """One figure for every pair of raters, each with its interval; means and differences of pairs get intervals too."""
    table = agreement.as_ratings(ratings)
    codes = agreement.ranked(table) if figure == "spearman" else agreement.as_codes(table)
    pairs = tuple(combinations(range(codes.shape[1]), 2))
    return PairAgreement(codes, UnitGroups.of(people, prompts, len(codes)), figure, halves, pairs)


def pearson(first: ArrayLike, second: ArrayLike, people: ArrayLike, prompts: ArrayLike | None) -> Estimate:
    """Pearson's correlation of two lists of numbers that both vary, with its interval."""
    left, right = (np.asarray(values, dtype=np.float64) for values in (first, second))
    units = np.ones(len(left), dtype=bool)
    point = Figure(float(np.corrcoef(left, right)[0, 1]))
    groups = UnitGroups.of(people, prompts, len(left))
    return groups.figure(point, pearson_influence(left, right), units, units, SCALE)


def people_index(
    people: ArrayLike, units: int, many: str = "people", one: str = "person"
) -> tuple[Ints, int]:
    """Number the people (or prompts) that the units belong to; gives each unit's number and how many there are."""
    ids = np.asarray(people)
    if ids.shape != (units,):
        raise ValueError(f"{many} must name one {one} for each of the {units} units")
    index, count = dense_codes(ids)
    return index.astype(np.int64), count


def _table_point(table: NDArray[Any], figure: TableFigure, halves: bool) -> Figure:
    if figure == "percent":
        return agreement.percent_agreement(table, halves)
    if figure == "fleiss":
        return agreement.fleiss_kappa(table, halves)
    return agreement.krippendorff_alpha(table, figure, halves)


def _pair_point(first: Ints, second: Ints, figure: PairFigure, halves: bool) -> Figure:
    if figure == "spearman":
        return agreement.spearman(first, second)
    if figure == "percent":
        both = (first >= 0) & (second >= 0)
        if not both.any():
            return Figure(None, agreement.NO_OVERLAP)
        return Figure(float(_credit(first[both], second[both], halves).mean()))
    return agreement.cohen_kappa(first, second, _weights(figure, halves))


def _credit(first: Ints, second: Ints, halves: bool) -> Floats:
    """How far two raters agree on each unit."""
    return np.asarray(1 - np.abs(first - second) / 2 if halves else first == second, dtype=np.float64)


def _weights(figure: PairFigure, halves: bool) -> Weights:
    if figure == "linear" or figure == "quadratic":
        return figure
    return "linear" if halves else "none"


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


# -- influences of units ------------------------------------------------------------------------------------------------------


def percent_influence(sums: Floats) -> Floats:
    """Of percent agreement, from the `unit_sums` of each unit."""
    agreement, shared = sums[:, :2].T
    return np.asarray((agreement - shared * agreement.sum() / shared.sum()) / shared.sum())


def fleiss_influence(sums: Floats, halves: bool = False) -> Floats:
    """Of Fleiss' kappa, from the `unit_sums` of each unit."""
    shares, labels = sums[:, 2:], sums[:, 2:].sum(0)
    total, expected = labels.sum(), label_credit(len(labels), halves) @ labels
    observed, chance = sums[:, 0].sum() / sums[:, 1].sum(), labels @ expected / total**2
    by_chance = 2 * (shares @ expected) / total**2 - 2 * chance * shares.sum(1) / total
    moved = percent_influence(sums) / (1 - chance) - (1 - observed) / (1 - chance) ** 2 * by_chance
    return np.asarray(moved)


def kappa_influence(first: Ints, second: Ints, distance: Floats) -> Floats:
    """Of Cohen's kappa of two raters who both rated every unit; `distance` is labels × labels, 0 where they agree."""
    labels = len(distance)
    cells = first * labels + second
    table = np.bincount(cells, minlength=labels**2).reshape(labels, labels)
    rows, columns, count = table.sum(1), table.sum(0), len(first)
    observed, expected = float((table * distance).sum()), float(rows @ distance @ columns)
    by_chance = (distance @ columns)[:, None] + rows @ distance
    gradient = (observed * count / expected * by_chance - distance * count - observed) / expected
    return np.asarray(gradient.ravel()[cells])


def alpha_influence(ratings: NDArray[Any], level: Level, halves: bool = False) -> Floats:
    """Of Krippendorff's alpha: codes (-1 for none), or for interval alpha numbers (nan for none)."""
    present = np.isfinite(ratings) if ratings.dtype.kind == "f" else ratings >= 0
    present &= (present.sum(1) >= 2)[:, None]
    raters = present.sum(1)
    count = raters.sum()
    if level == "interval":
        within, _, sums, squares = interval_sums(ratings).T
        total, square = sums.sum(), squares.sum()
        expected = 2 * (count * square - total**2)
        by_expected = 2 * (raters * square + count * squares - 2 * total * sums)
        by_within = within
    elif level == "nominal":
        counts = label_counts(np.where(present, ratings, -1))
        agreeing = counts @ label_credit(counts.shape[1], halves)
        labels = agreeing.sum(0)
        within = (raters**2 - (counts * agreeing).sum(1)) / np.maximum(raters - 1, 1)
        expected = float(count) ** 2 - labels @ counts.sum(0)
        by_expected = 2 * (count * raters - counts @ labels)
        by_within = within
    else:
        within, by_within, expected, by_expected = _ordinal_parts(ratings, present)
    disagreement = within.sum()
    moved = -(by_within * (count - 1) + disagreement * raters) / expected
    moved += disagreement * (count - 1) / expected**2 * by_expected
    # The correction for few ratings (count - 1) is not scale free: influences add up to nearly 0, and are centred.
    units = raters > 0
    return np.where(units, moved - moved[units].mean(), 0.0)


def spearman_influence(first: Ints, second: Ints) -> Floats:
    """Of Spearman's correlation of two lists of ordered codes that are dense (0, 1, 2, ... all occur)."""
    count = len(first)
    left, right = (centred_ranks(np.bincount(codes))[codes] / count for codes in (first, second))
    together = np.mean(left * right)
    spread = np.sqrt(np.mean(left**2)), np.mean(left**2), np.sqrt(np.mean(right**2)), np.mean(right**2)
    by_order = _above(first, right) + _above(second, left)
    by_together = left * right + by_order / count - 3 * together
    by_left = left**2 + 2 * _above(first, left) / count - 3 * spread[1]
    by_right = right**2 + 2 * _above(second, right) / count - 3 * spread[3]
    value = together / (spread[0] * spread[2])
    moved = by_together / (spread[0] * spread[2]) - value / 2 * (by_left / spread[1] + by_right / spread[3])
    return np.asarray(moved / count)


def pearson_influence(first: Floats, second: Floats) -> Floats:
    """Of Pearson's correlation of two lists of numbers that both vary."""
    left, right = ((values - values.mean()) / values.std() for values in (first, second))
    return np.asarray((left * right - np.mean(left * right) * (left**2 + right**2) / 2) / len(left))


def _ordinal_parts(codes: Ints, present: NDArray[np.bool_]) -> tuple[Floats, Floats, float, Floats]:
    """Disagreement within units, its derivative, expected disagreement, and its derivative, by places in the pooled order."""
    safe = np.where(present, codes, 0)
    totals = np.bincount(codes[present]).astype(np.float64)
    place = np.cumsum(totals) - totals / 2
    raters = present.sum(1)
    own = np.where(present, place[safe], 0.0)
    apart = np.where(present, own - (own.sum(1) / np.maximum(raters, 1))[:, None], 0.0)
    scale = np.where(raters >= 2, raters / np.maximum(raters - 1, 1), 0.0)
    within = 2 * scale * (apart**2).sum(1)
    pull = np.bincount(codes[present], (4 * scale[:, None] * apart)[present], minlength=len(totals))
    by_label = _suffix(pull)
    count, total, square = totals.sum(), totals @ place, totals @ place**2
    expected = 2 * (count * square - total**2)
    expected_by_label = 2 * (square + count * place**2 - 2 * place * total)
    expected_by_label += _suffix(4 * totals * (count * place - total))
    by_within = within + np.where(present, by_label[safe], 0.0).sum(1)
    return within, by_within, float(expected), np.where(present, expected_by_label[safe], 0.0).sum(1)


def _above(codes: Ints, values: Floats) -> Floats:
    """For each unit the sum of the values of units with a higher code, and half of those with the same."""
    return np.asarray(_suffix(np.bincount(codes, values))[codes])


def _suffix(values: NDArray[Any]) -> Floats:
    return np.asarray(values.sum() - np.cumsum(values) + values / 2)
