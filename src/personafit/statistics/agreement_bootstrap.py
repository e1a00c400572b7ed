"""Intervals for agreement figures by resampling people, not judgments.

Judgments about one person hang together, so whole people are drawn with replacement. Every figure is a formula on
tables that add up over units; they are added up once by person, and a resample is then a product of how often each
person was drawn with those sums. Raters are taken as they are: the intervals say what other people (the ones the
answers are for) would change, not what other raters would.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.special import ndtr, ndtri

from personafit.statistics import agreement
from personafit.statistics.agreement import Figure, Floats, Ints
from personafit.statistics.clusters import FEWEST_PEOPLE, Estimate
from personafit.statistics.student import student_reach

TableFigure = Literal["percent", "fleiss", "nominal", "ordinal", "interval"]
PairFigure = Literal["percent", "kappa", "linear", "quadratic", "spearman"]
Formula = Callable[[Floats], Floats]

_NORMAL = float(ndtri(0.975))
_CHUNK = 4_000_000
_MOST_LABELS = 64


@dataclass(frozen=True)
class PairDraws:
    """One figure for every pair of raters, and its resamples (draws × pairs), drawn together for all pairs."""

    pairs: tuple[tuple[int, int], ...]
    figures: tuple[Figure, ...]
    units: tuple[int, ...]
    people: tuple[int, ...]
    draws: Floats
    floor: float

    def interval(self, pair: int) -> Estimate:
        """The figure of one pair with its interval."""
        return percentile_interval(
            self.figures[pair], self.draws[:, pair], self.units[pair], self.people[pair], self.floor
        )

    def mean(self, members: Sequence[int]) -> Estimate:
        """The mean over some pairs, leaving out those whose figure is undefined and saying how many."""
        defined = [pair for pair in members if self.figures[pair].value is not None]
        if not defined:
            reason = (
                self.figures[members[0]].note if members else "undefined: there is no such pair of raters"
            )
            return Estimate(None, None, None, 0, 0, reason)
        value = float(np.mean([self.figures[pair].value for pair in defined]))
        left_out = len(members) - len(defined)
        note = f"{left_out} of {len(members)} pairs left out as undefined" if left_out else None
        return percentile_interval(
            Figure(value, note),
            self.draws[:, defined].mean(1),
            sum(self.units[pair] for pair in defined),
            max(self.people[pair] for pair in defined),
            self.floor,
        )


def bootstrap_agreement(
    ratings: ArrayLike, people: ArrayLike, figure: TableFigure, resamples: int = 1000, seed: int = 0
) -> Estimate:
    """Percent agreement, Fleiss' kappa or Krippendorff's alpha (by its level) of all raters, with its interval."""
    table = agreement.as_ratings(ratings)
    person, count = people_index(people, len(table))
    present = (np.isfinite(table) if table.dtype.kind == "f" else table >= 0).sum(1) >= 2
    point = _table_point(table, figure)
    units, shared_people = int(present.sum()), len(np.unique(person[present]))
    if point.value is None or shared_people < FEWEST_PEOPLE:
        return percentile_interval(point, np.empty(0), units, shared_people)
    if figure == "ordinal" and agreement.ranked(table).max(initial=-1) >= _MOST_LABELS:
        draws = _ordinal_draws(agreement.ranked(table[present]), person[present], count, resamples, seed)
    else:
        sums, formula = _table_sums(table, person, count, figure)
        draws = _table_draws(sums, formula, resamples, seed)
    return percentile_interval(point, draws, units, shared_people, 0.0 if figure == "percent" else -1.0)


def bootstrap_pairs(
    ratings: ArrayLike, people: ArrayLike, figure: PairFigure, resamples: int = 1000, seed: int = 0
) -> PairDraws:
    """One figure for every pair of raters with joint resamples, so that means over pairs get intervals too."""
    table = agreement.as_ratings(ratings)
    codes = agreement.ranked(table) if figure == "spearman" else agreement.as_codes(table)
    person, count = people_index(people, len(table))
    pairs = tuple(combinations(range(codes.shape[1]), 2))
    labels = int(codes.max(initial=0)) + 1
    both = [(codes[:, i] >= 0) & (codes[:, j] >= 0) for i, j in pairs]
    if figure == "spearman" and labels > _MOST_LABELS:
        draws = _spearman_draws(codes, pairs, both, person, count, resamples, seed)
    else:
        blocks = [partial(_confusions, codes[:, i], codes[:, j], person, count, labels) for i, j in pairs]
        draws = resample(blocks, _pair_formula(figure, labels), count, resamples, seed)
    return PairDraws(
        pairs=pairs,
        figures=tuple(_pair_point(codes[:, i], codes[:, j], figure) for i, j in pairs),
        units=tuple(int(shared.sum()) for shared in both),
        people=tuple(int(np.count_nonzero(np.bincount(person[shared]))) for shared in both),
        draws=draws,
        floor=0.0 if figure == "percent" else -1.0,
    )


def percentile_interval(
    figure: Figure, draws: Floats, n: int, people: int, floor: float = -1.0, ceiling: float = 1.0
) -> Estimate:
    """The 95 % bias-corrected percentile interval, stretched for few people, within `floor` and `ceiling`."""

    def without(reason: str) -> Estimate:
        note = reason if figure.note is None else f"{figure.note}; {reason}"
        return Estimate(figure.value, None, None, n, people, note)

    if figure.value is None:
        return Estimate(None, None, None, n, people, figure.note)
    if people < FEWEST_PEOPLE:
        return without(
            f"no interval: it needs at least {FEWEST_PEOPLE} people, and there is a rating of {people}"
        )
    defined = draws[~np.isnan(draws)]
    if len(defined) < 0.95 * len(draws) or not len(defined):
        return without("no interval: the figure is undefined in more than 5 % of the resamples")
    below = np.mean(defined < figure.value) + np.mean(defined == figure.value) / 2
    # Kappas of resamples lie a little low; Efron's correction moves both ends by twice that. Bounded, for odd tables.
    shift = 2 * ndtri(np.clip(below, 0.01, 0.99))
    ends = np.quantile(defined, ndtr([shift - _NORMAL, shift + _NORMAL]))
    # Resamples of n people spread too little by √((n-1)/n), and Student's t is wider than the normal. Stretching, not
    # quantiles further out: resamples never leave the range of people's own figures.
    stretch = student_reach(people - 1) * np.sqrt(people / (people - 1)) / _NORMAL
    low, high = np.clip(figure.value + stretch * (ends - figure.value), floor, ceiling)
    if high - low < 1e-12:
        return without(
            "no interval: the figure is the same for all people, so there is no spread to learn from"
        )
    return Estimate(figure.value, float(low), float(high), n, people, figure.note)


def people_index(people: ArrayLike, units: int) -> tuple[Ints, int]:
    """Number the people the units belong to; gives each unit's number and how many people there are."""
    ids = np.asarray(people)
    if ids.shape != (units,):
        raise ValueError(f"people must name one person for each of the {units} units")
    names, index = np.unique(ids, return_inverse=True)
    return index.astype(np.int64), len(names)


def sum_by_person(rows: NDArray[Any], person: Ints, count: int) -> Floats:
    """Add up the rows (units × columns) of each person."""
    sums = np.zeros((count, rows.shape[1]))
    for column, values in enumerate(rows.T):
        sums[:, column] = np.bincount(person, values, minlength=count)
    return sums


def resample(
    blocks: Sequence[Callable[[], Any]], formula: Formula, people: int, resamples: int, seed: int
) -> Floats:
    """Apply a formula to resampled person sums: draws × blocks; a block makes its sums (people × columns).

    The sums may be an array or a sparse one.
    """
    draws = np.full((resamples, len(blocks)), np.nan)
    start = 0
    for times in _times_drawn(people, resamples, seed):
        by_person = np.ascontiguousarray(times.T)
        for column, block in enumerate(blocks):
            # Blocks are made again for each chunk: keeping all pairs' tables of 100,000 people takes gigabytes.
            draws[start : start + len(times), column] = formula(np.asarray(block().T @ by_person).T)
        start += len(times)
    return draws


def _times_drawn(people: int, resamples: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // max(people, 1))
    for start in range(0, resamples if people else 0, chunk):
        rows = min(chunk, resamples - start)
        drawn = rng.integers(0, people, (rows, people)) + people * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * people).reshape(rows, people).astype(np.float64)


def _table_point(table: NDArray[Any], figure: TableFigure) -> Figure:
    if figure == "percent":
        return agreement.percent_agreement(table)
    return (
        agreement.fleiss_kappa(table) if figure == "fleiss" else agreement.krippendorff_alpha(table, figure)
    )


def _table_sums(table: NDArray[Any], person: Ints, count: int, figure: TableFigure) -> tuple[Floats, Formula]:
    if figure == "interval":
        return sum_by_person(agreement.interval_sums(table), person, count), agreement.interval_alpha_of
    counts = agreement.label_counts(agreement.ranked(table))
    if figure == "percent" or figure == "fleiss":
        formula = agreement.percent_of if figure == "percent" else agreement.fleiss_of
        return sum_by_person(agreement.unit_sums(counts), person, count), formula
    raters, labels = counts.sum(1), counts.shape[1]
    scaled = np.where(raters[:, None] >= 2, counts / np.maximum(raters - 1, 1)[:, None], 0.0)
    columns = [scaled[:, i] * (counts[:, j] - (i == j)) for i in range(labels) for j in range(labels)]
    sums = sum_by_person(np.array(columns).T, person, count)
    return sums, lambda rows: agreement.alpha_of(rows.reshape(-1, labels, labels), figure)


def _table_draws(sums: Floats, formula: Formula, resamples: int, seed: int) -> Floats:
    people = len(sums)
    if people * resamples > _CHUNK:
        # Many people with few units each often have the same sums, and can be drawn as one kind of person.
        rows = np.ascontiguousarray(sums).view(np.dtype((np.void, sums.itemsize * sums.shape[1]))).ravel()
        _, one, sizes = np.unique(rows, return_index=True, return_counts=True)
        if len(one) * resamples <= _CHUNK:
            times = np.random.default_rng(seed).multinomial(people, sizes / people, resamples)
            return formula(times @ sums[one])
    return resample([lambda: sums], formula, people, resamples, seed)[:, 0]


def _ordinal_draws(codes: Ints, person: Ints, count: int, resamples: int, seed: int) -> Floats:
    """Resamples of ordinal alpha where labels are too many for tables of coincidences."""
    present, draws = codes >= 0, []
    for times in _times_drawn(count, resamples, seed):
        for weight in times[:, person]:
            totals = np.bincount(codes[present], np.broadcast_to(weight[:, None], codes.shape)[present])
            place = np.where(present, (np.cumsum(totals) - totals / 2)[codes], np.nan)
            draws.append(agreement.interval_alpha_of(weight @ agreement.interval_sums(place)))
    return np.array(draws)


def _spearman_draws(
    codes: Ints,
    pairs: Sequence[tuple[int, int]],
    both: Sequence[NDArray[np.bool_]],
    person: Ints,
    count: int,
    resamples: int,
    seed: int,
) -> Floats:
    """Resamples of Spearman's correlation where ratings are too many for confusion tables."""
    if all(shared.all() for shared in both):
        first, second = np.array(pairs).T
        whole = np.column_stack([np.unique(column, return_inverse=True)[1] for column in codes.T])
        draws = [
            agreement.weighted_spearman_matrix(whole, weight[person])[first, second]
            for times in _times_drawn(count, resamples, seed)
            for weight in times
        ]
        return np.array(draws).reshape(resamples, len(pairs))
    lists = [
        (*(np.unique(codes[shared, rater], return_inverse=True)[1] for rater in pair), person[shared])
        for pair, shared in zip(pairs, both, strict=True)
    ]
    draws = [
        [agreement.weighted_spearman(left, right, weight[owner]) for left, right, owner in lists]
        for times in _times_drawn(count, resamples, seed)
        for weight in times
    ]
    return np.array(draws).reshape(resamples, len(pairs))


def _confusions(first: Ints, second: Ints, person: Ints, count: int, labels: int) -> Any:
    both = (first >= 0) & (second >= 0)
    owner, cell = person[both], first[both] * labels + second[both]
    if count * labels**2 > 4 * len(person):
        return coo_array((np.ones(len(owner)), (owner, cell)), shape=(count, labels**2)).tocsr()
    flat = np.bincount(owner * labels**2 + cell, minlength=count * labels**2)
    return flat.reshape(count, labels**2).astype(np.float64)


def _pair_formula(figure: PairFigure, labels: int) -> Formula:
    def formula(rows: Floats) -> Floats:
        tables = rows.reshape(-1, labels, labels)
        if figure == "percent":
            return agreement.ratio(np.trace(tables, axis1=1, axis2=2), tables.sum((1, 2)))
        if figure == "spearman":
            return agreement.spearman_of(tables)
        return agreement.kappa_of(tables, "none" if figure == "kappa" else figure)

    return formula


def _pair_point(first: Ints, second: Ints, figure: PairFigure) -> Figure:
    if figure == "spearman":
        return agreement.spearman(first, second)
    if figure == "percent":
        return agreement.percent_agreement(np.column_stack([first, second]))
    return agreement.cohen_kappa(first, second, "none" if figure == "kappa" else figure)
