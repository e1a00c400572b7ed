"""From stored judgments to flat records: one number each, with interval, coverage and what it may be compared with."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from personafit.reporting.cluster_sums import SYSTEM, System, Where
from personafit.reporting.judged_run import JudgedRun, headline_view
from personafit.reporting.totals import RunTotals, load_totals
from personafit.statistics import Estimate, choice_scores, length_controlled_rate
from personafit.statistics.moments import ClusteredSums
from personafit.store import (
    RunRecord,
    Store,
    gold_answers,
    item_rows,
    option_counts,
    pair_lengths,
    run_answers,
)

SYSTEM_COLUMNS = SYSTEM
CONTROL_RATERS = {"rule:length": "longest answer", "rule:overlap": "most overlap"}


@dataclass(frozen=True, slots=True)
class Result:
    """One number, as `--json` prints it."""

    rater: str | None
    system: str | None
    given: str | None
    view: str | None
    metric: str
    slice: dict[str, str]
    value: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    coverage: float | None
    control: str | None
    fingerprint: str | None
    note: str | None

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        *,
        metric: str,
        rater: str | None = None,
        system: str | None = None,
        given: str | None = None,
        view: str | None = None,
        slice: dict[str, str] | None = None,
        coverage: float | None = None,
        control: str | None = None,
        fingerprint: str | None = None,
        note: str | None = None,
    ) -> "Result":
        """The record of an estimate; its own note stands unless another is given."""
        return cls(
            rater=rater,
            system=system,
            given=given,
            view=view,
            metric=metric,
            slice=slice or {},
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n=estimate.n,
            people=estimate.people,
            coverage=coverage,
            control=control,
            fingerprint=fingerprint,
            note=note if note is not None else estimate.note,
        )

    def as_dict(self) -> dict[str, Any]:
        """The record as a plain object."""
        return asdict(self)


@dataclass
class RunScores(JudgedRun):
    """A run opened up for analyses that go by the item: one row per item for every rater and view."""

    items: pl.DataFrame
    """Every item of the run: item, person, prompt, slices, tier, gold."""
    scores: dict[tuple[str, str], pl.DataFrame]
    """(rater fingerprint, view) to per-item scores; items nobody answered are there with nulls."""
    answers: pl.DataFrame
    """Every answer, one row per job."""
    parts: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Parts of answers, such as marks by aspect, one row per job and target; reported apart."""

    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """The values that occur together under these names, in the order of the source."""
        if not all(name in self.items.columns for name in layout):
            return []
        return self.items.select(layout).drop_nulls().unique(maintain_order=True).to_dicts()


def load_scores(store: Store, run: RunRecord) -> RunScores:
    """Read a run back and score every item."""
    info = store.dataset_info(run.dataset)
    gold = gold_answers(store, run.dataset, info["gold"]).select("item", "gold", "tier")
    items = item_rows(store, run.dataset).join(gold, on="item", how="left", maintain_order="left")
    if info["metric"] == "win_rate":
        tested_longer = pl.when(pl.col("gold") == "0").then(pl.col("longer")).otherwise(-pl.col("longer"))
        items = items.join(pair_lengths(store, run.dataset), on="item", how="left", maintain_order="left")
        items = items.with_columns(tested_longer.alias("length_difference")).drop("longer")
    if items["tier"].null_count() == len(items):
        items = items.drop("tier")
    if run.config["selected"] is not None:
        items = items.filter(pl.col("item").is_in(run.config["selected"]))
    everything = run_answers(store, run.id)
    whole = pl.col("target") == ""
    answers, parts = (
        (everything, everything)
        if everything.is_empty()
        else (everything.filter(whole), everything.filter(~whole))
    )
    options = option_counts(store, run.dataset)
    scores: dict[tuple[str, str], pl.DataFrame] = {}
    for rater in run.config["raters"]:
        for view in run.config["views"]:
            rows = _of(answers, rater["fingerprint"], view, run.config["question"])
            rows = rows.join(options, on="item", how="left", maintain_order="left")
            scores[rater["fingerprint"], view] = _per_item(
                items, rows, rater["orders"] * run.config["samples"]
            )
    return RunScores(run, info, items, scores, answers, parts)


def _of(answers: pl.DataFrame, rater: str, view: str, question: str) -> pl.DataFrame:
    columns = ["item", "order", "sample", "status", "label", "value"]
    if answers.is_empty():
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    wanted = (pl.col("rater") == rater) & (pl.col("view") == view) & (pl.col("question") == question)
    return answers.filter(wanted).select(columns)


def _per_item(items: pl.DataFrame, answers: pl.DataFrame, asks: int) -> pl.DataFrame:
    joined = items.join(answers, on="item", how="inner", maintain_order="left")
    columns = ["item", "accuracy", "debiased", "consistent", "answered"]
    if joined.is_empty():
        empty = [pl.lit(None, pl.Float64).alias(name) for name in columns[1:4]]
        scored = items.with_columns(*empty, pl.lit(0).alias("answered"))
    else:
        scored = items.join(
            choice_scores(joined).select(columns), on="item", how="left", maintain_order="left"
        )
    return scored.with_columns(pl.col("answered").fill_null(0), pl.lit(asks).alias("asked"))


def run_results(totals: RunTotals) -> list[Result]:
    """Every number of a run."""
    return list(_results(totals))


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
        scored = self._sums("accuracy", where).people
        if self.rater["orders"] == 1 and scored.count:
            note = "scores each answer by itself: order cannot matter"
            return Estimate(1.0, None, None, scored.count, scored.clusters, note)
        return self._sums("consistent", where).estimate()

    def _lift(self, where: Where) -> Estimate:
        others = ("none", f"wrong:{self.view}")
        if missing := [name for name in others if name not in self.totals.views]:
            return Estimate(None, None, None, 0, 0, f"lift needs --view {' and --view '.join(missing)}")
        means = {name: self._sums("accuracy", where, name).people for name in others}
        if not all(mean.count for mean in means.values()):
            return Estimate(None, None, None, 0, 0, "lift needs answers under both control views")
        larger = max(means, key=lambda name: means[name].mean)
        over = "over_none" if larger == "none" else "over_wrong"
        estimate = self._sums(over, where).estimate((-1.0, 1.0))
        return _with_note(estimate, f"over {larger}, the larger of the two controls")

    def _length_controlled(self, where: Where) -> Estimate:
        rows = self.totals.lengths.get(where, pl.DataFrame())
        if rows.is_empty():
            return length_controlled_rate([], [], [])
        system, given = self.system
        ours = rows.filter(rater=self.rater["fingerprint"], view=self.view).filter(
            pl.col("system").eq_missing(system), pl.col("given").eq_missing(given)
        )
        return length_controlled_rate(ours["accuracy"], ours["length_difference"], ours["person"])

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
    return Estimate(estimate.value, estimate.low, estimate.high, estimate.n, estimate.people, joined)


def overall_coverage(totals: RunTotals) -> float | None:
    """The share of all planned asks of the run that brought an answer."""
    asked = sum(totals.asked(rater) for rater in totals.raters) * len(totals.views)
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
            if planned := totals.asked(rater):
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
    "overall_coverage",
    "run_results",
    "worst_coverage",
]
