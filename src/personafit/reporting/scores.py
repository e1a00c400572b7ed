"""A run opened up by the item, for analyses that need more than sums."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import polars as pl
from sqlalchemy import select

from personafit.kinds.lines import CONTROL_CONTEXTS, Line, RunLines, control_of
from personafit.reporting.judged_run import WON, JudgedRun, is_restraint
from personafit.reporting.totals import (
    CONTROL_RATERS,
    SYSTEM,
    RunTotals,
    choice_metrics,
)
from personafit.statistics import choice_scores
from personafit.store import (
    UNMADE,
    RunRecord,
    Store,
    gold_answers,
    item_rows,
    option_counts,
    pair_lengths,
    run_answers,
)
from personafit.store import tables as t


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
    answers, parts = (
        (everything, everything)
        if everything.is_empty()
        else (everything.filter(whole), everything.filter(~whole))
    )
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


def choice_lines(store: Store, run: RunRecord) -> RunLines:
    """A line per rater, view and system whose answers were judged, every item of the run held in memory."""
    return opened_choices(load_scores(store, run))


def opened_choices(scores: RunScores) -> RunLines:
    """The lines of a run of choices with their metrics."""
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


def held_answers(store: Store, totals: RunTotals) -> pl.DataFrame | None:
    """What `run_answers` gives, without costs, if adding the run up has kept all of it; nothing if not, or if answers have parts."""
    sample, judgment = totals.sample, t.judgments.c
    if sample.answers.is_empty() or len(sample.items) < totals.items:
        return None
    own = judgment.rater.in_([rater["fingerprint"] for rater in totals.raters])
    if len(store.frame(select(judgment.ask).where(own, judgment.target != "").limit(1))):
        return None
    question = pl.lit(totals.run.config["question"]).alias("question")
    items = sample.items.select("position", "item")
    answers = sample.answers.join(items, on="position", maintain_order="left").with_columns(
        question, pl.lit("").alias("target")
    )
    return answers if answers["job"].is_sorted() else answers.sort("job")


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
