"""From stored judgments to flat records: one number each, with interval, coverage and what it may be compared with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from personafit.statistics import (
    Estimate,
    choice_scores,
    length_controlled_rate,
    mean_by_item,
    paired_difference,
    prompts_recur,
)
from personafit.store import RunRecord, Store, gold_answers, item_rows, pair_lengths, run_answers

CONTROL_RATERS = {"rule:length": "longest answer", "rule:overlap": "most overlap"}
SYSTEM_COLUMNS = ("system", "given")


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


@dataclass(frozen=True)
class RunScores:
    """A run opened up: its benchmark's words about itself, and one row per item for every rater and view."""

    run: RunRecord
    info: dict[str, Any]
    items: pl.DataFrame
    """Every item of the run: item, person, prompt, slices, tier, gold."""
    scores: dict[tuple[str, str], pl.DataFrame]
    """(rater fingerprint, view) to per-item scores; items nobody answered are there with nulls."""
    answers: pl.DataFrame
    """Every answer, one row per job."""
    parts: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Parts of answers, such as marks by aspect, one row per job and target; reported apart."""

    @property
    def raters(self) -> list[dict[str, Any]]:
        """The raters of the run, those asked for first."""
        raters: list[dict[str, Any]] = self.run.config["raters"]
        return raters

    @property
    def headline_view(self) -> str:
        """The view whose scores count."""
        return headline_view(self.views, self.info)

    @property
    def views(self) -> list[str]:
        """The views of the run."""
        views: list[str] = self.run.config["views"]
        return views


def headline_view(views: Sequence[str], info: Mapping[str, Any]) -> str:
    """The benchmark's own view where it is there, or else the first that is no control."""
    if info["view"] in views:
        return str(info["view"])
    return next((view for view in views if view != "none" and not view.startswith("wrong:")), views[0])


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
    scores: dict[tuple[str, str], pl.DataFrame] = {}
    for rater in run.config["raters"]:
        for view in run.config["views"]:
            rows = _of(answers, rater["fingerprint"], view, run.config["question"])
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


def run_results(scores: RunScores) -> list[Result]:
    """Every number of a run."""
    return list(_results(scores))


def _results(scores: RunScores) -> Iterator[Result]:
    systems = _systems(scores.items)
    for rater in scores.raters:
        for view in scores.views:
            for system, given in systems:
                keep = _keep_system(system, given)
                frame = scores.scores[rater["fingerprint"], view].filter(keep)
                others = {
                    name: scores.scores[rater["fingerprint"], name].filter(keep)
                    for name in ("none", f"wrong:{view}")
                    if name in scores.views
                }
                yield from _Group(scores, rater, view, system, given, frame, others).results()


def _systems(items: pl.DataFrame) -> list[tuple[str | None, str | None]]:
    present = [name for name in SYSTEM_COLUMNS if name in items.columns]
    if not present:
        return [(None, None)]
    rows = items.select(present).unique(maintain_order=True).to_dicts()
    return [(row.get("system"), row.get("given")) for row in rows]


def _keep_system(system: str | None, given: str | None) -> pl.Expr:
    keep = pl.lit(True)
    for name, value in zip(SYSTEM_COLUMNS, (system, given), strict=True):
        if value is not None:
            keep = keep & (pl.col(name) == value)
    return keep


@dataclass(frozen=True)
class _Group:
    """The numbers of one rater under one view (and one system)."""

    scores: RunScores
    rater: dict[str, Any]
    view: str
    system: str | None
    given: str | None
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
            if not self._is_control_view:
                yield self._result("lift", where, part, self._lift(part))
        yield self._restraint()

    @property
    def _is_control_view(self) -> bool:
        return self.view == "none" or self.view.startswith("wrong:")

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
            missing = [name for name in ("none", f"wrong:{self.view}") if name not in self.others]
            return Estimate(None, None, None, 0, 0, f"lift needs --view {' and --view '.join(missing)}")
        parts = {
            name: frame.filter(pl.col("item").is_in(part["item"].to_list()))
            for name, frame in self.others.items()
        }
        means = {name: mean_by_item(frame, "accuracy").value for name, frame in parts.items()}
        known = {name: mean for name, mean in means.items() if mean is not None}
        if len(known) < 2:
            return Estimate(None, None, None, 0, 0, "lift needs answers under both control views")
        larger = max(known, key=lambda name: known[name])
        estimate = paired_difference(part, parts[larger], "accuracy")
        return _with_note(estimate, f"over {larger}, the larger of the two controls")

    def _length_controlled(self, part: pl.DataFrame) -> Estimate:
        scored = part.filter(pl.col("accuracy").is_not_null())
        if "length_difference" not in scored.columns:
            return Estimate(None, None, None, 0, 0, "the lengths are not known")
        return length_controlled_rate(scored["accuracy"], scored["length_difference"], scored["person"])

    def _restraint(self) -> Result:
        if "expect" not in self.frame.columns:
            nothing = Estimate(
                None, None, None, 0, 0, "no item is marked as better answered without the person"
            )
            return self._result("restraint", {}, self.frame, nothing)
        part = self.frame.filter(pl.col("expect") == "generic")
        if self.scores.info["metric"] == "win_rate":
            part = part.filter(pl.col("against") == "generic")
            kept = part.with_columns((pl.col("debiased") >= 0.5).cast(pl.Float64).alias("kept"))
            estimate = mean_by_item(kept, "kept")
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
            given=self.given,
            view=self.view,
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
        if self.view == "none":
            return "no view"
        return "wrong person" if self.view.startswith("wrong:") else None


def _with_note(estimate: Estimate, note: str) -> Estimate:
    joined = "; ".join(filter(None, [estimate.note, note]))
    return Estimate(estimate.value, estimate.low, estimate.high, estimate.n, estimate.people, joined)


def overall_coverage(scores: RunScores) -> float | None:
    """The share of all planned asks of the run that brought an answer."""
    asked = sum(int(frame["asked"].sum()) for frame in scores.scores.values())
    answered = sum(int(frame["answered"].sum()) for frame in scores.scores.values())
    return answered / asked if asked else None


def worst_coverage(scores: RunScores) -> tuple[str, float] | None:
    """The rater asked for, and the view, with the least coverage; free controls must not hide a judge that fails."""
    asked = [rater for rater in scores.raters if not rater["control"]] or scores.raters
    found = []
    for rater in asked:
        for view in scores.views:
            frame = scores.scores[rater["fingerprint"], view]
            if planned := int(frame["asked"].sum()):
                found.append((f"{rater['name']} ({view})", int(frame["answered"].sum()) / planned))
    return min(found, key=lambda one: one[1], default=None)
