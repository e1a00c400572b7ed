"""Judges beside people: rank correlation and weighted kappa with people's marks, the ceiling, and the effect of mention."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from personafit.items.preference import LOWEST
from personafit.reporting.preference.scores import Line, PreferenceScores
from personafit.statistics import Estimate
from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_intervals import pair_agreement
from personafit.statistics.preferences import clustered, group_difference_gap

NO_PEOPLE = "undefined: nobody's ratings come with these answers"


def against_people(scores: PreferenceScores, line: Line) -> Iterator[tuple[str, Estimate]]:
    """Spearman, quadratic kappa, mean gap and the gap of the mention effects of one rater and people, on shared units."""
    shared = line.frame.filter(pl.all_horizontal(pl.col("rating", "human", "names").is_not_null()))
    if shared.is_empty():
        yield "spearman", Estimate(None, None, None, 0, 0, NO_PEOPLE)
        yield "kappa_weighted", Estimate(None, None, None, 0, 0, NO_PEOPLE)
        return
    people = shared["person"].to_numpy()
    marks = shared.select(pl.col("rating", "human").cast(pl.Float64)).to_numpy()
    prompts = shared["prompt"].to_numpy()
    yield "spearman", pair_agreement(marks, people, prompts, "spearman").interval(0)
    yield "kappa_weighted", pair_agreement(as_codes(marks), people, prompts, "quadratic").interval(0)
    yield "rating_over_people", clustered(marks[:, 0] - marks[:, 1], people, prompts)
    gap = group_difference_gap(marks[:, 0], marks[:, 1], shared["names"].to_numpy(), people, prompts)
    yield "mention_effect_over_people", gap


def human_ceiling(scores: PreferenceScores) -> Iterator[tuple[str, Estimate]]:
    """How far single raters agree: mean over pairs, and each against the mean of the others, which is how judges are scored."""
    table, people, prompts = panel_table(scores)
    if table.shape[1] < 2:
        note = "undefined: it takes two raters whose single marks are known"
        yield "human_spearman", Estimate(None, None, None, 0, 0, note)
        return
    ranks = pair_agreement(table, people, prompts, "spearman")
    yield "human_spearman", ranks.mean(range(len(ranks.pairs)))
    kappas = pair_agreement(as_codes(table), people, prompts, "quadratic")
    yield "human_kappa_weighted", kappas.mean(range(len(kappas.pairs)))
    yield "human_spearman_rest", _against_rest(table, people, prompts)


def panel_table(scores: PreferenceScores) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
    """Units × raters of the panel, nan where a rater gave no mark, and the person and prompt of each row."""
    raters = scores.panel["rater"].unique(maintain_order=True).sort().to_list()
    table = scores.units.select("item", "target", "person", "prompt")
    for place, rater in enumerate(raters):
        mine = scores.panel.filter(pl.col("rater") == rater).select(
            "item", "target", pl.col("value").alias(f"r{place}")
        )
        table = table.join(mine, on=["item", "target"], how="left", maintain_order="left")
    values = table.select(
        pl.col(f"r{place}").cast(pl.Float64).fill_null(np.nan) for place in range(len(raters))
    ).to_numpy()
    marks = values.reshape(len(table), len(raters))
    return marks, table["person"].to_numpy(), table["prompt"].to_numpy()


def as_codes(marks: Floats) -> Ints:
    """Marks as whole numbers from 0; halves go to the even side as Python rounds, nothing to -1."""
    codes = np.where(np.isfinite(marks), np.rint(np.where(np.isfinite(marks), marks, LOWEST)) - LOWEST, -1)
    return codes.astype(np.int64)


def _against_rest(table: Floats, people: NDArray[Any], prompts: NDArray[Any]) -> Estimate:
    """The mean over raters of the correlation of each with the mean of the others."""
    raters = table.shape[1]
    columns = []
    for rater in range(raters):
        others = np.delete(table, rater, axis=1)
        known = np.isfinite(others).any(1)
        rest = np.full(len(table), np.nan)
        rest[known] = np.nanmean(others[known], axis=1)
        columns += [table[:, rater], rest]
    ranks = pair_agreement(np.column_stack(columns), people, prompts, "spearman")
    places = {pair: place for place, pair in enumerate(combinations(range(2 * raters), 2))}
    return ranks.mean([places[2 * rater, 2 * rater + 1] for rater in range(raters)])
