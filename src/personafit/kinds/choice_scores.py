"""Runs of choices read back: what every item scored, the metrics, and how a table of such a run is laid out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import polars as pl

from personafit.kinds.lines import CONTROL_CONTEXTS, CONTROL_RATERS, Line, Metric, RunLines, control_of
from personafit.statistics import Estimate, choice_scores, length_controlled_rate
from personafit.statistics.clusters import ClusteredSums
from personafit.store import (
    UNMADE,
    RunRecord,
    Store,
    gold_answers,
    item_rows,
    option_counts,
    pair_lengths,
    run_answers,
    run_items,
)

SYSTEM = ("system", "given")
ORDERLESS = "scores each answer by itself: order cannot matter"
CLEAN = "clean"  # the version of an attacked item as it was


@dataclass
class JudgedRun(ABC):
    """A run, its raters and its views."""

    run: RunRecord
    info: dict[str, Any]
    """What the benchmark says of itself."""

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

    @abstractmethod
    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """The values that occur together under these names, in the order of the source."""


RESTRAINT = "generic"
TIERS = ("easy", "medium", "hard")
HALVES = ("specific", "general")
Column = tuple[str, dict[str, str]]
"""A heading and the slice below it."""
WON = ("accuracy", "debiased")
"""Scores that count as wins where the metric is a win rate."""


def is_restraint() -> pl.Expr:
    """Whether an item's good answer is the less personal one: it counts in restraint, and not in win rate or lift."""
    return pl.col("expect").eq_missing(pl.lit(RESTRAINT))


def headline_view(views: Sequence[str], info: Mapping[str, Any]) -> str:
    """The benchmark's own view where it is there, or else the first that is no control."""
    if info["view"] in views:
        return str(info["view"])
    return next((view for view in views if view != "none" and not view.startswith("wrong:")), views[0])


def columns_of(scores: JudgedRun) -> list[Column]:
    """Headings and slices of the benchmark's own table; a missing half keeps its columns."""
    names = {name for layout in scores.info["layout"] for name in layout}
    if {"half", "tier"} <= names:
        columns: list[Column] = []
        for half in HALVES:
            columns += [(f"{half} {tier}", {"half": half, "tier": tier}) for tier in TIERS]
            columns.append((f"{half} avg", {"half": half}))
        return [*columns, ("total", {})]
    columns = []
    for layout in scores.info["layout"]:
        columns += [(" ".join(row.values()), row) for row in scores.slice_rows(layout)]
    return [*columns, ("total", {})]


def missing_halves(scores: JudgedRun) -> list[str]:
    """The halves that a benchmark of two halves lacks here."""
    if not any("half" in layout for layout in scores.info["layout"]):
        return []
    present = {row["half"] for row in scores.slice_rows(["half"])}
    return [half for half in HALVES if half not in present]


# -- metrics ------------------------------------------------------------------------------------------------------------


def choice_metrics(run: RunRecord, info: dict[str, Any]) -> list[Metric]:
    """The figures of a run of choices: its headline is a share of right choices, or of comparisons won."""
    headline = info["metric"]
    win = headline == "win_rate"
    alone = {rater["fingerprint"] for rater in run.config["raters"] if rater["orders"] == 1}
    found = [
        Metric(headline, "accuracy"),
        Metric(f"{headline}_debiased", "debiased"),
        Metric("consistency", "consistent", only=lambda line: line.fingerprint not in alone),
        Metric("consistency", "kept", from_sums=_orderless, only=lambda line: line.fingerprint in alone),
        Metric("lift", "counted", over="view"),
        Metric(
            "restraint",
            where=(("expect", RESTRAINT),),
            note="share of marked questions where knowing the person did no harm" if win else "",
            empty="no item is marked as better answered without the person",
        ),
        Metric("first", by=()),  # for the figure about positions only
    ]
    if win:  # what is measured is the system's answer, which wins half of the time by chance
        found = [
            replace(one, about="product", even=0.5) if one.name in (headline, f"{headline}_debiased") else one
            for one in found
        ]
        name, held = "win_rate_length_controlled", ("accuracy", "length_difference")
        by = tuple(dict.fromkeys(map(tuple, info["layout"])))
        found.insert(
            4,
            Metric(name, "accuracy", estimate=_at_equal_length, holds=held, by=by, about="product", even=0.5),
        )
    return found


def _orderless(kept: ClusteredSums) -> Estimate:
    if not kept.people.count:
        return kept.estimate()
    return Estimate(1.0, None, None, kept.people.count, kept.people.number, ORDERLESS)


def _at_equal_length(rows: pl.DataFrame) -> Estimate:
    return length_controlled_rate(rows["accuracy"], rows["length_difference"], rows["person"], rows["prompt"])


# -- scores -------------------------------------------------------------------------------------------------------------


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


def load_scores(store: Store, run: RunRecord, answers: pl.DataFrame | None = None) -> RunScores:
    """Read a run back and score every item; answers are read unless they are here already."""
    info = store.dataset_info(run.dataset)
    gold = gold_answers(store, run.dataset, info["gold"]).select("item", "gold", "tier")
    items = item_rows(store, run.dataset).join(gold, on="item", how="left", maintain_order="left")
    if info["metric"] == "win_rate":
        tested_longer = pl.when(pl.col("gold") == "0").then(pl.col("longer")).otherwise(-pl.col("longer"))
        items = items.join(pair_lengths(store, run.dataset), on="item", how="left", maintain_order="left")
        if UNMADE in items.columns:  # an answer that was not made has no length
            tested_longer = pl.when(pl.col(UNMADE).is_null()).then(tested_longer)
        items = items.with_columns(tested_longer.alias("length_difference")).drop("longer")
    if items["tier"].null_count() == len(items):
        items = items.drop("tier")
    if run.config["selected"] is not None:
        items = items.filter(pl.col("item").is_in(run.config["selected"]))
    everything = run_answers(store, run.id) if answers is None else answers
    whole = pl.col("target") == ""
    answers, parts = everything.filter(whole), everything.filter(~whole)
    scored = _scored(answers, items, option_counts(store, run.dataset), run.config["question"])
    scores = {
        (rater["fingerprint"], view): _per_item(
            items,
            scored.get((rater["fingerprint"], view)),
            rater["orders"] * run.config["samples"],
            info["metric"] == "win_rate",
        )
        for rater in run.config["raters"]
        for view in run.config["views"]
    }
    return RunScores(run, info, items, scores, answers, parts)


def choice_lines(scores: RunScores) -> RunLines:
    """A line per rater, context and system whose answers were judged, every item of the run held in memory."""
    layouts = [tuple(names) for names in scores.info["layout"]]
    lines, metrics = list(_lines(scores)), choice_metrics(scores.run, scores.info)
    return RunLines(scores.run, scores.info, "choice", lines, metrics, layouts)


def _lines(scores: RunScores) -> Iterator[Line]:
    present = [name for name in SYSTEM if name in scores.items.columns]
    systems = scores.items.select(present).unique(maintain_order=True).to_dicts() if present else [{}]
    keys = ["item"]
    if scores.info["metric"] == "win_rate":  # answers of two systems share their question and their opponent
        keys = [name for name in ("person", "prompt", "against") if name in scores.items.columns]
    for rater, view, system in product(scores.raters, scores.views, systems):
        own = [pl.col(name).eq_missing(pl.lit(value)) for name, value in system.items()]
        frame = scores.scores[rater["fingerprint"], view].filter(pl.lit(True), *own)
        counted = pl.col("accuracy")
        if "expect" in frame.columns:
            counted = pl.when(~is_restraint()).then(counted)
        yield Line(
            rater["name"],
            rater["fingerprint"],
            view,
            system.get("system"),
            system.get("given"),
            frame.with_columns(counted.alias("counted"), pl.concat_str(keys, separator="|").alias("unit")),
            control_of(rater["name"], view, CONTROL_RATERS, CONTROL_CONTEXTS),
            not rater["control"],
        )


_SCORES = ("accuracy", "debiased", "consistent", "answered")


def _scored(
    answers: pl.DataFrame, items: pl.DataFrame, options: pl.DataFrame, question: str
) -> dict[tuple[str, str], pl.DataFrame]:
    """(rater fingerprint, view) to the scores of the items they answered."""
    if answers.is_empty():
        return {}
    columns = ["item", "rater", "view", "order", "sample", "status", "label", "value"]
    rows = (
        answers.filter(pl.col("question") == question)
        .select(columns)
        .join(items.select("item", "gold"), on="item")
        .join(options, on="item", how="left")
    )
    scored = choice_scores(rows, ("rater", "view", "item")).select("rater", "view", "item", *_SCORES)
    parts = scored.partition_by("rater", "view", as_dict=True, include_key=False)
    return {(str(rater), str(view)): part for (rater, view), part in parts.items()}


def _per_item(items: pl.DataFrame, scored: pl.DataFrame | None, asks: int, won: bool) -> pl.DataFrame:
    """Every item with its scores; `kept` is restraint's, whose items have no other score where scores are wins."""
    if scored is None:
        empty = [pl.lit(None, pl.Float64).alias(name) for name in _SCORES[:3]]
        whole = items.with_columns(*empty, pl.lit(0).alias("answered"))
    else:
        whole = items.join(scored, on="item", how="left", maintain_order="left")
    whole = whole.with_columns(
        pl.col("answered").fill_null(0),
        pl.lit(asks).alias("asked"),
        (pl.col("debiased") >= 0.5).cast(pl.Float64).alias("kept"),
    )
    if not won or "expect" not in whole.columns:
        return whole
    return whole.with_columns(pl.when(~is_restraint()).then(pl.col(WON)))


def choices_of(store: Store, run: RunRecord) -> RunScores | None:
    """The scores of a run whose items are choices; of attacked ones those as they were, each of the person it was written for.

    None for runs of other kinds.
    """
    kind = run.config.get("kind", "choice")
    if kind == "choice":
        return load_scores(store, run)
    if kind != "injection":
        return None
    return _clean_scores(load_scores(store, run))


def _clean_scores(scores: RunScores) -> RunScores:
    """The same over the items as they were before anything was put into them."""
    own = clean_items(scores.items)
    kept = own.select("item", "person")

    def only(frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame.drop("person", "of", strict=False)
        return rows.join(kept, on="item", how="inner", maintain_order="left")

    answers = scores.answers.join(kept, on="item", how="semi", maintain_order="left")
    return replace(
        scores,
        items=own,
        scores={key: only(frame) for key, frame in scores.scores.items()},
        answers=answers,
    )


def choice_items(store: Store, run: RunRecord) -> pl.DataFrame | None:
    """The items of such a run without their scores; None for runs of other kinds."""
    kind = run.config.get("kind", "choice")
    if kind not in ("choice", "injection"):
        return None
    items = run_items(store, run)
    return items if kind == "choice" else clean_items(items)


def clean_items(items: pl.DataFrame) -> pl.DataFrame:
    """The items of an attacked run as they were, each of the person it was written for."""
    return items.filter(version=CLEAN).drop("person").rename({"of": "person"})
