"""The results of a run computed item by item from whole frames: the long way, which the sums must agree with."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from personafit.kinds.choice import SYSTEM, RunScores
from personafit.kinds.lines import CONTROL_RATERS
from personafit.reports.result import Result
from personafit.statistics import (
    Estimate,
    length_controlled_rate,
    mean_by_item,
    prompts_recur,
)


def results_by_item(scores: RunScores) -> list[Result]:
    """Every number of a run."""
    return list(_results(scores))


def _results(scores: RunScores) -> Iterator[Result]:
    systems = _systems(scores.items)
    for rater in scores.raters:
        for context in scores.contexts:
            for system, system_context in systems:
                keep = _keep_system(system, system_context)
                frame = scores.scores[rater["fingerprint"], context].filter(keep)
                others = {
                    name: scores.scores[rater["fingerprint"], name].filter(keep)
                    for name in ("none", f"wrong:{context}")
                    if name in scores.contexts
                }
                yield from _Group(scores, rater, context, system, system_context, frame, others).results()


def _systems(items: pl.DataFrame) -> list[tuple[str | None, str | None]]:
    present = [name for name in SYSTEM if name in items.columns]
    if not present:
        return [(None, None)]
    rows = items.select(present).unique(maintain_order=True).to_dicts()
    return [(row.get("system"), row.get("system_context")) for row in rows]


def _keep_system(system: str | None, system_context: str | None) -> pl.Expr:
    keep = pl.lit(True)
    for name, value in zip(SYSTEM, (system, system_context), strict=True):
        if value is not None:
            keep = keep & (pl.col(name) == value)
    return keep


@dataclass(frozen=True)
class _Group:
    """The numbers of one rater under one context (and one system)."""

    scores: RunScores
    rater: dict[str, Any]
    context: str
    system: str | None
    system_context: str | None
    frame: pl.DataFrame
    others: dict[str, pl.DataFrame]

    def results(self) -> Iterator[Result]:
        headline = self.scores.info["metric"]
        for where, part in self._slices():
            yield self._result(headline, where, part, mean_by_item(part, "accuracy"))
            yield self._result(f"{headline}_debiased", where, part, mean_by_item(part, "debiased"))
            yield self._result("consistency", where, part, self._consistency(part))
            if headline == "win_rate" and where:
                yield self._result("win_rate_length_controlled", where, part, self._length_controlled(part))
            if not self._is_control_context:
                yield self._result("lift", where, part, self._lift(part))
        yield self._restraint()

    @property
    def _is_control_context(self) -> bool:
        return self.context == "none" or self.context.startswith("wrong:")

    def _slices(self) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
        yield {}, self.frame
        for names in self.scores.info["layout"]:
            if not all(name in self.frame.columns for name in names):
                continue
            for row in self.frame.select(names).drop_nulls().unique(maintain_order=True).to_dicts():
                keep = pl.all_horizontal(*(pl.col(name) == value for name, value in row.items()))
                yield row, self.frame.filter(keep)

    def _consistency(self, part: pl.DataFrame) -> Estimate:
        if self.rater["orders"] == 1:
            scored = part.filter(pl.col("answered") > 0)
            if len(scored):
                people = scored["person"].n_unique()
                note = "scores each answer by itself: order cannot matter"
                return Estimate(1.0, None, None, len(scored), people, note)
        return mean_by_item(part, "consistent")

    def _lift(self, part: pl.DataFrame) -> Estimate:
        if len(self.others) < 2:
            missing = [name for name in ("none", f"wrong:{self.context}") if name not in self.others]
            return Estimate(None, None, None, 0, 0, f"lift needs --context {' and --context '.join(missing)}")
        if "expect" in part.columns:
            part = part.filter(pl.col("expect").ne_missing("generic"))
        over = {name: paired_difference(part, frame, "accuracy") for name, frame in self.others.items()}
        known = {name: gap.value for name, gap in over.items() if gap.value is not None}
        if len(known) < 2:
            return Estimate(None, None, None, 0, 0, "lift needs answers under both control contexts")
        larger = min(known, key=lambda name: known[name])
        return _with_note(over[larger], f"over {larger}, the larger of the two controls")

    def _length_controlled(self, part: pl.DataFrame) -> Estimate:
        scored = part.filter(pl.col("accuracy").is_not_null())
        if "length_difference" not in scored.columns:
            return Estimate(None, None, None, 0, 0, "the lengths are not known")
        return length_controlled_rate(
            scored["accuracy"], scored["length_difference"], scored["person"], scored["prompt"]
        )

    def _restraint(self) -> Result:
        if "expect" not in self.frame.columns:
            nothing = Estimate(
                None, None, None, 0, 0, "no item is marked as better answered without the person"
            )
            return self._result("restraint", {}, self.frame, nothing)
        part = self.frame.filter(pl.col("expect") == "generic")
        if self.scores.info["metric"] == "win_rate":
            part = part.filter(pl.col("against") == "generic")
            estimate = mean_by_item(part, "kept")
            estimate = _with_note(estimate, "share of marked questions where knowing the person did no harm")
        else:
            estimate = mean_by_item(part, "accuracy")
        return self._result("restraint", {"expect": "generic"}, part, estimate)

    def _result(self, metric: str, where: dict[str, str], part: pl.DataFrame, estimate: Estimate) -> Result:
        asked = int(part["asked"].sum())
        note = estimate.note
        if estimate.low is not None and prompts_recur(part["person"], part["prompt"]):
            note = "; ".join(filter(None, [note, "interval clustered by person and prompt"]))
        return Result.of(
            estimate,
            rater=self.rater["name"],
            system=self.system,
            system_context=self.system_context,
            context=self.context,
            metric=metric,
            slice=where,
            coverage=int(part["answered"].sum()) / asked if asked else None,
            control=self._control(),
            fingerprint=self.rater["fingerprint"],
            note=note,
        )

    def _control(self) -> str | None:
        if self.rater["name"] in CONTROL_RATERS:
            return CONTROL_RATERS[self.rater["name"]]
        if self.context == "none":
            return "no view"
        return "wrong person" if self.context.startswith("wrong:") else None


def _with_note(estimate: Estimate, note: str) -> Estimate:
    joined = "; ".join(filter(None, [estimate.note, note]))
    return replace(estimate, note=joined)


def paired_difference(first: pl.DataFrame, second: pl.DataFrame, column: str) -> Estimate:
    """The clustered mean of first minus second over the items both have."""
    both = first.join(second.select("item", pl.col(column).alias("other")), on="item", how="inner")
    gaps = both.with_columns((pl.col(column) - pl.col("other")).alias("difference"))
    return mean_by_item(gaps, "difference", (-1.0, 1.0))
