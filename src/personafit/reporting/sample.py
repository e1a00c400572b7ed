"""The items that a report shows one by one: all of them, or of a long run so many, those that were got wrong first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from personafit.reporting.judged_run import JudgedRun

MAX_ITEMS = 10_000
SPARE = 1.5  # times as many are held before the least wanted are let go


@dataclass
class Sample:
    """Items with their answers and their scores under the headline view, never more than `MAX_ITEMS`."""

    items: pl.DataFrame = field(default_factory=pl.DataFrame)
    """position, item, person, prompt, products, slices (both JSON), gold, tier, in the order of the source."""
    scores: pl.DataFrame = field(default_factory=pl.DataFrame)
    """position, rater, accuracy."""
    answers: pl.DataFrame = field(default_factory=pl.DataFrame)
    """One row per job about these items."""

    def add(self, run: JudgedRun, items: pl.DataFrame, scored: pl.DataFrame, answers: pl.DataFrame) -> None:
        """Take in a page of the run, and let go of what is too much."""
        scored = scored.filter(pl.col("view") == run.headline_view).select("position", "rater", "accuracy")
        controls = [rater["fingerprint"] for rater in run.raters if rater["control"]]
        asked_for = [rater["fingerprint"] for rater in run.raters if not rater["control"]] or controls
        wrong = scored.filter(pl.col("rater").is_in(asked_for) & (pl.col("accuracy") < 0.5))["position"]
        items = items.with_columns((~pl.col("position").is_in(wrong.implode())).alias("not_wrong"))
        answers = answers.drop("ask_status", "generation", "at", "parse")
        parts: Sequence[tuple[pl.DataFrame, pl.DataFrame]] = (
            (self.items, items),
            (self.scores, scored),
            (self.answers, answers),
        )
        self.items, self.scores, self.answers = (
            new if old.is_empty() else pl.concat([old, new]) for old, new in parts
        )
        if len(self.items) > SPARE * MAX_ITEMS:
            self.prune()

    def prune(self) -> None:
        """Keep no more than `MAX_ITEMS`, in the order of the source."""
        if self.items.is_empty():
            return
        places = self.items.select("not_wrong", "position").sort("not_wrong", "position")["position"]
        if len(places) > MAX_ITEMS:
            kept = pl.col("position").is_in(places.head(MAX_ITEMS).implode())
            self.items, self.scores, self.answers = (
                _copied(frame.filter(kept)) for frame in (self.items, self.scores, self.answers)
            )
        self.items = self.items.sort("position")


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame by itself: filtered texts would hold on to the pages they were taken from."""
    written = frame.write_ipc(None, compat_level=pl.CompatLevel.oldest())
    written.seek(0)
    return pl.read_ipc(written)
