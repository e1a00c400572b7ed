"""The items that a report shows one by one: all of them, or of a long run as many as a page can hold, those that were got wrong first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from personafit.reporting.judged_run import JudgedRun

MAX_ITEMS = 10_000
MAX_ASKS = (
    500_000  # about them, in a page of some 30 MB: of an item that was asked about often, fewer are shown
)
SPARE = 1.5  # times as many are held before the least wanted are let go


@dataclass
class Sample:
    """Items with their answers and their scores under the headline view, never more than a page can hold."""

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
        if len(self.items) > SPARE * most_items(run):
            self.prune(run)

    def prune(self, run: JudgedRun) -> None:
        """Keep no more than a page can hold, in the order of the source."""
        if self.items.is_empty():
            return
        most = most_items(run)
        places = self.items.select("not_wrong", "position").sort("not_wrong", "position")["position"]
        if len(places) > most:
            kept = pl.col("position").is_in(places.head(most).implode())
            self.items, self.scores, self.answers = (
                _copied(frame.filter(kept)) for frame in (self.items, self.scores, self.answers)
            )
        self.items = self.items.sort("position")


def most_items(run: JudgedRun) -> int:
    """How many items of the run a page can hold, given how often each was asked about."""
    asks = sum(int(rater["orders"]) for rater in run.raters) * len(run.views) * int(run.run.config["samples"])
    return max(1, min(MAX_ITEMS, MAX_ASKS // max(1, asks)))


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame by itself: filtered texts would hold on to the pages they were taken from."""
    written = frame.write_ipc(None, compat_level=pl.CompatLevel.oldest())
    written.seek(0)
    return pl.read_ipc(written)
