"""A run opened up by the item, for analyses that need more than sums."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import polars as pl
from sqlalchemy import select

from personafit.reporting.judged_run import WON, JudgedRun, is_restraint
from personafit.reporting.totals import RunTotals
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

    def by_item_only(self) -> Self:
        """The same without the answers themselves, which fill most of the memory."""
        return replace(self, answers=pl.DataFrame(), parts=pl.DataFrame())

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
