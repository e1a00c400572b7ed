"""From stored judgments to flat records: one number each, with interval, coverage and what it may be compared with."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from personafit.reporting.cluster_sums import SYSTEM, System, Where
from personafit.reporting.judged_run import headline_view
from personafit.reporting.result import Result, marked_met
from personafit.reporting.scores import RunScores, load_scores
from personafit.reporting.totals import RunTotals, load_totals
from personafit.statistics import Estimate, length_controlled_rate
from personafit.statistics.clusters import ClusteredSums

SYSTEM_COLUMNS = SYSTEM
CONTROL_RATERS = {"rule:length": "longest answer", "rule:overlap": "most overlap"}


def run_results(totals: RunTotals) -> list[Result]:
    """Every number of a run."""
    return marked_met(totals.run, _results(totals))


def _results(totals: RunTotals) -> Iterator[Result]:
    for rater in totals.raters:
        for view in totals.views:
            for system in totals.systems:
                yield from _Group(totals, rater, view, system).results()


@dataclass(frozen=True)
class _Group:
    """The numbers of one rater under one view (and one system)."""

    totals: RunTotals
    rater: dict[str, Any]
    view: str
    system: System

    def results(self) -> Iterator[Result]:
        headline = self.totals.info["metric"]
        for where in self.totals.slices(self.system):
            yield self._result(headline, where, self._sums("accuracy", where).estimate())
            yield self._result(f"{headline}_debiased", where, self._sums("debiased", where).estimate())
            yield self._result("consistency", where, self._consistency(where))
            if headline == "win_rate" and where:
                yield self._result("win_rate_length_controlled", where, self._length_controlled(where))
            if not self._is_control_view:
                yield self._result("lift", where, self._lift(where))
        yield self._restraint()

    @property
    def _is_control_view(self) -> bool:
        return self.view == "none" or self.view.startswith("wrong:")

    def _sums(self, metric: str, where: Where, view: str | None = None) -> ClusteredSums:
        return self.totals.of(self.rater["fingerprint"], view or self.view, metric, where, self.system)

    def _consistency(self, where: Where) -> Estimate:
        scored = self._sums(
            "kept", where
        ).people  # which every item has that was answered, restraint included
        if self.rater["orders"] == 1 and scored.count:
            note = "scores each answer by itself: order cannot matter"
            return Estimate(1.0, None, None, scored.count, scored.number, note)
        return self._sums("consistent", where).estimate()

    def _lift(self, where: Where) -> Estimate:
        others = ("none", f"wrong:{self.view}")
        if missing := [name for name in others if name not in self.totals.views]:
            return Estimate(None, None, None, 0, 0, f"lift needs --view {' and --view '.join(missing)}")
        over = dict(
            zip(others, (self._sums(name, where) for name in ("over_none", "over_wrong")), strict=True)
        )
        if not all(sums.people.count for sums in over.values()):
            return Estimate(None, None, None, 0, 0, "lift needs answers under both control views")
        larger = min(over, key=lambda name: over[name].people.mean)  # less is left over the larger control
        estimate = over[larger].estimate((-1.0, 1.0))
        return _with_note(estimate, f"over {larger}, the larger of the two controls")

    def _length_controlled(self, where: Where) -> Estimate:
        rows = self.totals.lengths.get(where, pl.DataFrame())
        if rows.is_empty():
            return length_controlled_rate([], [], [])
        system, given = self.system
        ours = rows.filter(rater=self.rater["fingerprint"], view=self.view).filter(
            pl.col("system").eq_missing(system), pl.col("given").eq_missing(given)
        )
        return length_controlled_rate(
            ours["accuracy"], ours["length_difference"], ours["person"], ours["prompt"]
        )

    def _restraint(self) -> Result:
        if "expect" not in self.totals.names:
            nothing = Estimate(
                None, None, None, 0, 0, "no item is marked as better answered without the person"
            )
            return self._result("restraint", (), nothing)
        where: Where = (("expect", "generic"),)
        if self.totals.info["metric"] == "win_rate":
            part: Where = (*where, ("against", "generic"))
            note = "share of marked questions where knowing the person did no harm"
            return self._result(
                "restraint", part, _with_note(self._sums("kept", part).estimate(), note), where
            )
        return self._result("restraint", where, self._sums("accuracy", where).estimate())

    def _result(self, metric: str, part: Where, estimate: Estimate, where: Where | None = None) -> Result:
        """A result over a part of the items, under the slice's name."""
        items = self.totals.count(part, self.system)
        asked = items.people.count * self.rater["orders"] * self.totals.run.config["samples"]
        note = estimate.note
        if estimate.low is not None and items.prompts_recur:
            note = "; ".join(filter(None, [note, "interval clustered by person and prompt"]))
        return Result.of(
            estimate,
            rater=self.rater["name"],
            system=self.system[0],
            given=self.system[1],
            view=self.view,
            metric=metric,
            slice=dict(part if where is None else where),
            coverage=self._sums("answered", part).people.total / asked if asked else None,
            control=self._control(),
            fingerprint=self.rater["fingerprint"],
            note=note,
        )

    def _control(self) -> str | None:
        if self.rater["name"] in CONTROL_RATERS:
            return CONTROL_RATERS[self.rater["name"]]
        if self.view == "none":
            return "no view"
        return "wrong person" if self.view.startswith("wrong:") else None


def _with_note(estimate: Estimate, note: str) -> Estimate:
    joined = "; ".join(filter(None, [estimate.note, note]))
    return replace(estimate, note=joined)


def overall_coverage(totals: RunTotals) -> float | None:
    """The share of all planned asks of the run that brought an answer."""
    asked = sum(totals.asked(rater, view) for rater in totals.raters for view in totals.views)
    return answered(totals) / asked if asked else None


def answered(totals: RunTotals) -> int:
    """How many asks of the run brought an answer."""
    return sum(totals.answered(r["fingerprint"], view) for r in totals.raters for view in totals.views)


def worst_coverage(totals: RunTotals) -> tuple[str, float] | None:
    """The rater asked for, and the view, with the least coverage; free controls must not hide a judge that fails."""
    asked_for = [rater for rater in totals.raters if not rater["control"]] or totals.raters
    found = []
    for rater in asked_for:
        for view in totals.views:
            if planned := totals.asked(rater, view):
                share = totals.answered(rater["fingerprint"], view) / planned
                found.append((f"{rater['name']} ({view})", share))
    return min(found, key=lambda one: one[1], default=None)


__all__ = [
    "CONTROL_RATERS",
    "SYSTEM_COLUMNS",
    "Result",
    "RunScores",
    "answered",
    "headline_view",
    "load_scores",
    "load_totals",
    "marked_met",
    "overall_coverage",
    "run_results",
    "worst_coverage",
]
