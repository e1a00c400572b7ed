"""Agreement statistics with clustered intervals.

Judgments about one person are correlated, and so are judgments on one prompt. `value + n * influence` are pseudo-values whose mean is
the statistic and whose clustered interval is its interval: by person, and by prompt as well where prompts recur across people. Raters
are fixed: an interval covers the sampling of people and prompts, not of raters. Everything here is deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics import agreement
from personafit.statistics.agreement import Figure, Floats, Ints, Weights, label_counts
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
    """Integer codes of the person and prompt of each unit; `prompt` is None unless prompts recur across people."""

    person: Ints
    prompt: Ints | None

    @classmethod
    def of(cls, people: ArrayLike, prompts: ArrayLike | None, units: int) -> "UnitGroups":
        """Encode people and prompts as integers; without prompts, units are clustered by person alone."""
        for many, one, names in (("people", "person", people), ("prompts", "prompt", prompts)):
            if names is not None and np.shape(names) != (units,):
                raise ValueError(f"{many} must name one {one} for each of the {units} units")
        person = dense_codes(people)[0].astype(np.int64)
        if prompts is None or not prompts_recur(person, prompt := dense_codes(prompts)[0].astype(np.int64)):
            return cls(person, None)
        return cls(person, prompt)

    def mean(self, values: Floats, units: NDArray[np.bool_], bounds: tuple[float, float] | None) -> Estimate:
        """Return the clustered mean of `values` over the selected units."""
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
        """Return a figure with the interval of its pseudo-values over `units`; n and people count the `shared` units."""
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
    """One agreement statistic for every pair of raters, with the influence of each unit."""

    ratings: Ints
    groups: UnitGroups
    name: PairFigure
    halves: bool
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The point value of each pair."""
        return tuple(
            _pair_point(self.ratings[:, i], self.ratings[:, j], self.name, self.halves) for i, j in self.pairs
        )

    def interval(self, pair: int) -> Estimate:
        """Return the statistic of one pair with its interval."""
        both = self._both(pair)
        return self.groups.figure(self.figures[pair], self.influences[pair], both, both, self._bounds)

    def mean(self, members: Sequence[int]) -> Estimate:
        """Return the mean over the pairs in `members`; undefined pairs are left out and counted in the note."""
        known = [pair for pair in members if self.figures[pair].value is not None]
        if not known:
            reason = (
                self.figures[members[0]].note if members else "undefined: there is no such pair of raters"
            )
            return Estimate(None, None, None, 0, 0, reason)
        left_out = len(members) - len(known)
        note = f"{left_out} of {len(members)} pairs left out as undefined" if left_out else None
        point = Figure(float(np.mean([self.figures[pair].value for pair in known])), note)
        shared = np.array([self._both(pair) for pair in known])
        influence = np.mean([self.influences[pair] for pair in known], axis=0)
        units = np.asarray(shared.any(0))
        return replace(self.groups.figure(point, influence, units, units, self._bounds), n=int(shared.sum()))

    def difference(self, first: int, second: int) -> Estimate:
        """Return the statistic of one pair minus that of another, with a paired interval."""
        ours, theirs = self.figures[first], self.figures[second]
        point = Figure(None, ours.note or theirs.note)
        if ours.value is not None and theirs.value is not None:
            point = Figure(ours.value - theirs.value)
        units = self._both(first) | self._both(second)
        influence = self.influences[first] - self.influences[second]
        return self.groups.figure(point, influence, units, units, (-2.0, 2.0))

    @cached_property
    def influences(self) -> tuple[Floats, ...]:
        """The influence of every unit on each pair's statistic; 0 where either rating is missing."""
        found = []
        for pair, (i, j) in enumerate(self.pairs):
            moved, both, point = np.zeros(len(self.ratings)), self._both(pair), self.figures[pair].value
            if point is not None:
                first, second = self.ratings[both, i], self.ratings[both, j]
                if self.name == "percent":
                    moved[both] = (_credit(first, second, self.halves) - point) / len(first)
                elif self.name == "spearman":
                    dense = (dense_codes(codes)[0] for codes in (first, second))
                    moved[both] = agreement.spearman_influence(*dense)
                else:
                    weights = _weights(self.name, self.halves)
                    moved[both] = agreement.kappa_influence(first, second, weights)
            found.append(moved)
        return tuple(found)

    @property
    def _bounds(self) -> tuple[float, float]:
        return SHARE if self.name == "percent" else SCALE

    def _both(self, pair: int) -> NDArray[np.bool_]:
        i, j = self.pairs[pair]
        both: NDArray[np.bool_] = (self.ratings[:, i] >= 0) & (self.ratings[:, j] >= 0)
        return both


def table_agreement(
    ratings: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None,
    figure: TableFigure,
    halves: bool = False,
) -> Estimate:
    """Return percent agreement, Fleiss' kappa or Krippendorff's alpha (named by its level) over all raters, with its interval."""
    table = agreement.as_ratings(ratings)
    groups = UnitGroups.of(people, prompts, len(table))
    given = agreement.given(table).sum(1)
    point, shared = _table_point(table, figure, halves), given >= 2
    if point.value is None:
        return groups.figure(point, np.empty(0), shared, shared, SCALE)
    if figure == "percent" or figure == "fleiss":
        sums = agreement.unit_sums(label_counts(agreement.as_codes(table)), halves)
        percent = figure == "percent"
        influence = agreement.percent_influence(sums) if percent else agreement.fleiss_influence(sums, halves)
    else:
        influence = agreement.alpha_influence(table, figure, halves)
    # Units with a single rating still enter the chance agreement of Fleiss' kappa.
    units = given >= 1 if figure == "fleiss" else shared
    return groups.figure(point, influence, units, shared, SHARE if figure == "percent" else SCALE)


def pair_agreement(
    ratings: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None,
    figure: PairFigure,
    halves: bool = False,
) -> PairAgreement:
    """Return one agreement statistic for every pair of raters; pairs, and their means and differences, have intervals."""
    table = agreement.as_ratings(ratings)
    codes = agreement.ranked(table) if figure == "spearman" else agreement.as_codes(table)
    pairs = tuple(combinations(range(codes.shape[1]), 2))
    return PairAgreement(codes, UnitGroups.of(people, prompts, len(codes)), figure, halves, pairs)


def pearson(first: ArrayLike, second: ArrayLike, people: ArrayLike, prompts: ArrayLike | None) -> Estimate:
    """Return Pearson's correlation of two lists of numbers, neither of them constant, with its interval."""
    left, right = (np.asarray(values, dtype=np.float64) for values in (first, second))
    units = np.ones(len(left), dtype=bool)
    point = Figure(float(np.corrcoef(left, right)[0, 1]))
    groups = UnitGroups.of(people, prompts, len(left))
    return groups.figure(point, agreement.pearson_influence(left, right), units, units, SCALE)


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
    """Return the agreement of two raters on each unit: 0 or 1, or ½ for a tie with `halves`."""
    return np.asarray(1 - np.abs(first - second) / 2 if halves else first == second, dtype=np.float64)


def _weights(figure: PairFigure, halves: bool) -> Weights:
    if figure == "linear" or figure == "quadratic":
        return figure
    return "linear" if halves else "none"


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None
