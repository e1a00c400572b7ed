"""Judges beside people: rank correlation and weighted kappa with people's marks, the ceiling, and the effect of mention."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from personafit.items.preference import LOWEST
from personafit.reporting.preference.scores import PreferenceScores
from personafit.statistics import Estimate
from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_intervals import pair_agreement
from personafit.statistics.preferences import clustered, group_difference_gap

PeopleFigure = Literal["spearman", "quadratic"]


def with_people(figure: PeopleFigure) -> Callable[[pl.DataFrame], Estimate]:
    """Rank correlation, or quadratic kappa, of a rater's marks and people's."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        marks = rows.select(pl.col("rating", "human").cast(pl.Float64)).to_numpy()
        table = marks if figure == "spearman" else as_codes(marks)
        people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
        return pair_agreement(table, people, prompts, figure).interval(0)

    return estimate


def mention_gap(rows: pl.DataFrame) -> Estimate:
    """How much larger the effect of mention is for a rater than for people."""
    return group_difference_gap(rows["rating"], rows["human"], rows["names"], rows["person"], rows["prompt"])


def over_people(rows: pl.DataFrame) -> Estimate:
    """How much higher a rater marks than people do."""
    return clustered(rows["rating"] - rows["human"], rows["person"], rows["prompt"])


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
