"""From single answers to tables of units × raters, the shape all agreement figures take.

A rater's answers over orders and samples are made one here: summed margins decide between two answers, numbers are
averaged, otherwise the most frequent label counts. Where nothing decides between two answers, as when a judge without margins
names one answer in each order, the rating is a tie, which half agrees with either answer. Each question is a table of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from personafit.items.relevance import NO, YES
from personafit.reporting.agree_ratings import GOLD, Source, VotingRater
from personafit.statistics.agreement import Floats, Ints, ranked
from personafit.store import TIE

_WIDEST_SCALE = 64
_PAIR_LABELS = {"0", "1", TIE}


@dataclass(frozen=True)
class Ratings:
    """Units × raters: integer codes (-1 for none), and numbers (nan for none) where the answers carry any."""

    question: str
    raters: tuple[VotingRater, ...]
    people: NDArray[Any]
    prompts: NDArray[Any]
    codes: Ints
    values: Floats
    ordinal: bool
    halves: bool = False
    """Whether the labels are two answers and a tie, coded 0, 2 and 1; a tie half agrees with either answer."""
    flips: Mapping[str, int] = field(default_factory=dict)
    """Rater to the number of units on which its orders named different answers and no margin decided."""
    yes_no: bool = False
    """Whether the labels are yes and no, coded 1 and 0."""
    by_margin: tuple[str, ...] = ()
    """Raters whose orders differed somewhere and were decided by the mean margin."""

    def columns(self, *kinds: str) -> list[int]:
        """The raters of these kinds."""
        return [place for place, rater in enumerate(self.raters) if rater.kind in kinds]

    @property
    def judges(self) -> list[int]:
        """Everyone who rated by themselves: neither gold nor an ensemble."""
        return [place for place, rater in enumerate(self.raters) if rater.kind != GOLD and rater.of is None]


def rating_tables(source: Source) -> list[Ratings]:
    """One table per question."""
    names = _distinct_names(source.raters)
    return [
        _table(source, names, str(question[0]), part)
        for question, part in source.votes().group_by("question", maintain_order=True)
    ]


def _distinct_names(raters: Mapping[str, VotingRater]) -> dict[str, VotingRater]:
    """Raters whose names recur are told apart by the beginning of their key."""
    names = [rater.name for rater in raters.values()]
    return {
        key: rater if names.count(rater.name) == 1 else replace(rater, name=f"{rater.name} [{key[:12]}]")
        for key, rater in raters.items()
    }


def _table(source: Source, names: Mapping[str, VotingRater], question: str, votes: pl.DataFrame) -> Ratings:
    choice = set(votes["item"].unique()) <= source.choices
    number = pl.coalesce(
        pl.col("label").cast(pl.Float64, strict=False), pl.when(pl.col("label").is_null()).then("value")
    )
    votes = votes.with_columns(number.alias("number"))
    numeric = not choice and votes["number"].null_count() == 0 and bool(votes["number"].is_finite().all())
    made_one = votes.group_by("item", "target", "rater", maintain_order=True).agg(
        pl.col("number").mean(),
        pl.col("value").mean(),
        (pl.col("value").is_not_null().all() & (pl.len() > 1)).alias("weighed"),
        pl.col("label").drop_nulls().mode().sort().alias("most"),
        (pl.col("label").drop_nulls().n_unique() > 1).alias("differ"),
    )
    pairs = choice and set(votes["label"].drop_nulls().unique()) <= _PAIR_LABELS
    by_margin = pl.lit(pairs)
    most = pl.col("most").list.first()
    undecided = pl.lit(TIE if choice else None, pl.String)
    plural = pl.when(pl.col("most").list.len() == 1).then(most).otherwise(undecided)
    sign = pl.when(pl.col("value") > 0).then(pl.lit("0")).otherwise(pl.lit("1"))
    sign = pl.when(pl.col("value") == 0).then(pl.lit(TIE)).otherwise(sign)
    made_one = made_one.with_columns(
        pl.when(by_margin & pl.col("weighed")).then(sign).otherwise(plural).alias("label")
    )
    present = set(made_one["rater"].unique())
    keys = [key for key in names if key in present]
    units = made_one.select("item", "target").unique(maintain_order=True).with_row_index("unit")
    rows = made_one.join(units, on=["item", "target"], how="left")
    unit = rows["unit"].to_numpy()
    places = {key: place for place, key in enumerate(keys)}
    rater = rows["rater"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    values = np.full((len(units), len(keys)), np.nan)
    values[unit, rater] = rows["number" if numeric else "value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    codes = np.full(values.shape, -1, dtype=np.int64)
    halves = yes_no = False
    if numeric:
        low = source.scales.get(question, (None,))[0]
        codes = _number_codes(values) if low is None else _nearest_marks(values, low)
    else:
        halves = pairs and TIE in rows["label"]
        known = ["0", TIE, "1"] if halves else sorted(rows["label"].drop_nulls().unique())
        yes_no = set(known) <= {NO, YES}
        known = [NO, YES] if yes_no else known
        labels = {label: code for code, label in enumerate(known)}
        codes[unit, rater] = rows["label"].replace_strict(labels, default=-1, return_dtype=pl.Int64)
    differing = rows.filter(pl.col("differ") & pl.lit(pairs))
    flips = differing.filter(pl.col("label") == TIE)["rater"].value_counts()
    decided = set(differing.filter(pl.col("label") != TIE, "weighed")["rater"])
    return Ratings(
        question=question,
        raters=tuple(names[key] for key in keys),
        people=np.array([source.people[item] for item in units["item"]], dtype=object).astype(str),
        prompts=np.array([source.prompts.get(item, item) for item in units["item"]], dtype=object).astype(
            str
        ),
        codes=codes,
        values=values,
        ordinal=numeric and len(np.unique(codes[codes >= 0])) > 2,
        halves=halves,
        yes_no=yes_no,
        flips={names[key].name: count for key, count in flips.iter_rows()},
        by_margin=tuple(names[key].name for key in keys if key in decided),
    )


def _nearest_marks(values: Floats, low: float) -> Ints:
    """Means of marks as the nearest mark, from 0 for the lowest."""
    present = np.isfinite(values)
    return np.where(present, np.rint(np.where(present, values, low)) - low, -1).astype(np.int64)


def _number_codes(values: Floats) -> Ints:
    """Whole numbers keep their distances, which weighted kappa counts; others become places in their order."""
    present = np.isfinite(values)
    known = values[present]
    if not len(known) or (known % 1).any() or known.max() - known.min() >= _WIDEST_SCALE:
        return ranked(values)
    return np.where(present, np.where(present, values, 0) - known.min(), -1).astype(np.int64)
