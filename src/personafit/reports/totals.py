"""A run of choices added up: what every table, figure and result is computed from, whatever the number of items.

The run is read a page at a time (see `line_results`). Apart from the sums there are the items that the report's browser shows, of which
there is a largest number, and what went wrong.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import polars as pl

from personafit.kinds.choice import (
    RESTRAINT,
    SYSTEM,
    JudgedRun,
    Page,
    choice_line,
    choice_metrics,
    open_items,
    score_items,
)
from personafit.kinds.lines import Line, RunLines
from personafit.reports.kind_report import ERRORS_SHOWN, LONGEST_ERROR, Endings
from personafit.reports.line_results import LINE, PLACE, AddedUp, add_lines_up, results_of
from personafit.reports.result import Result
from personafit.store import UNMADE, RunRecord, Status, Store, any_prompt_recurs, run_pages

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
        scored = scored.filter(pl.col("accuracy").is_not_null(), view=run.headline_view)
        scored = scored.select("position", "rater", "accuracy")
        asked_for = [one["fingerprint"] for one in run.raters if not one["control"]]
        judges = asked_for or [one["fingerprint"] for one in run.raters]
        wrong = scored.filter(pl.col("rater").is_in(judges) & (pl.col("accuracy") < 0.5))["position"]
        items = items.with_columns((~pl.col("position").is_in(wrong.implode())).alias("not_wrong"))
        answers = answers.drop("ask_status", "generation", "at", "parse")
        if self.items.is_empty():
            self.items, self.scores, self.answers = items, scored, answers
        else:
            self.items = pl.concat([self.items, items])
            self.scores = pl.concat([self.scores, scored])
            self.answers = pl.concat([self.answers, answers])
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


HELD = 400_000  # rows kept for the second order: some 60 MB
ERRORS_COUNTED = 1_000  # different sentences of what went wrong, per run


@dataclass
class RunTotals(JudgedRun):
    """The sums of a run."""

    items: int = 0
    people: int = 0
    lines: list[Line] = field(default_factory=list)
    """One per rater, view and system, without frames: the items are not held."""
    added: AddedUp = field(default_factory=AddedUp)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(rater, status) to the number of asks that ended so."""
    errors: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(rater, status, sentence) to how often it was met."""
    sample: Sample = field(default_factory=Sample)

    @property
    def opened(self) -> RunLines:
        """The lines and metrics of the run."""
        layouts = list(dict.fromkeys(tuple(names) for names in self.info["layout"]))
        metrics = choice_metrics(self.run, self.info)
        return RunLines(self.run, self.info, "choice", self.lines, metrics, layouts)

    @property
    def pages(self) -> list[Page] | None:
        """The whole run as one page, if the sample has kept all of it."""
        whole = len(self.sample.items) == self.items and not self.sample.answers.is_empty()
        return [(self.sample.items, self.sample.answers)] if whole else None

    def answered(self, rater: str, view: str) -> int:
        """How many asks brought an answer, over all systems."""
        own = [line for line in self.lines if (line.fingerprint, line.view) == (rater, view)]
        return int(sum(self.added.of(line, "answered").people.total for line in own))

    def asked(self, rater: dict[str, Any], view: str) -> int:
        """How many asks there are under a view; nobody can be mistaken for a person whose language nobody shares."""
        items = self.items
        if view.startswith("wrong:"):
            items -= self.run.config.get("without_wrong", 0)
        return int(items * rater["orders"] * self.run.config["samples"])

    def coverage(self) -> tuple[int, int]:
        """How many asks were planned, and how many brought an answer."""
        pairs = list(product(self.raters, self.views))
        answered = sum(self.answered(rater["fingerprint"], view) for rater, view in pairs)
        return sum(self.asked(rater, view) for rater, view in pairs), answered

    def endings(self, rater: str) -> Endings:
        """How a rater's asks ended, and the commonest sentences of what went wrong."""
        met = [(*key[1:], count) for key, count in self.errors.most_common() if key[0] == rater]
        return Endings([self.statuses[rater, status.value] for status in Status], met[:ERRORS_SHOWN])

    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """The values that occur together under these names, in the order of the source."""
        return [dict(where) for where in self.added.wheres(tuple(layout))]

    def note(self, items: pl.DataFrame, answers: pl.DataFrame) -> None:
        """Count how the asks about a page of items ended, and what went wrong."""
        for rater, status, count in answers.group_by("rater", "status").len().iter_rows():
            self.statuses[rater, status] += count
        wrong = answers.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
        placed = items.select("position").join(wrong, on="position", maintain_order="left")
        detail = pl.col("detail").str.slice(0, LONGEST_ERROR)
        counted = placed.group_by("rater", "status", detail, maintain_order=True).len()
        for rater, status, sentence, count in counted.iter_rows():
            if (rater, status, sentence) in self.errors or len(self.errors) < ERRORS_COUNTED:
                self.errors[rater, status, sentence] += count


def load_totals(store: Store, run: RunRecord) -> RunTotals:
    """Read a run back and add it up."""
    totals = RunTotals(run, store.dataset_info(run.dataset))
    rows = store.count_items(run.dataset) * len(totals.raters) * len(totals.views)
    recurs = any_prompt_recurs(store, run.dataset)
    totals.added = add_lines_up(totals.opened, lambda by: _pages(store, totals, by), recurs, rows > HELD)
    systems = list(dict.fromkeys((key[2], key[3]) for key in totals.added.lines())) or [(None, None)]
    totals.lines = [
        choice_line(rater, view, system, given, pl.DataFrame())
        for rater, view, (system, given) in product(totals.raters, totals.views, systems)
    ]
    return totals


def run_results(totals: RunTotals) -> list[Result]:
    """Every number of a run."""
    return results_of(totals.opened, totals.added)


def _pages(store: Store, totals: RunTotals, by: str) -> Iterator[pl.DataFrame]:
    """The run in the order of persons or prompts, a row per item, rater and view; on the first reading what is no sum is noted."""
    run, info, last_person = totals.run, totals.info, None
    sliced = {name for names in totals.opened.layouts for name in names}
    names = sliced | {"expect", "against", UNMADE, *SYSTEM}
    # Where scores are wins, restraint is over the comparisons with the generic answer, unless results are given by what is expected.
    restrained = pl.col("expect").ne_missing(pl.lit(RESTRAINT)) | pl.col("against").eq_missing(
        pl.lit(RESTRAINT)
    )
    counted = restrained | pl.lit(info["metric"] != "win_rate" or "expect" in sliced)
    for page, answers in run_pages(store, run, info["gold"], by):
        if page.is_empty():
            continue
        items = open_items(store, page, info, names)
        scored = score_items(run, info, items, answers)
        if by == "person":
            totals.items += len(items)
            totals.people += items["person"].n_unique() - (items["person"][0] == last_person)
            last_person = items["person"][-1]
            totals.note(items, answers)
            totals.sample.add(totals, page, scored, answers)
        yield (
            scored.with_columns(pl.when(counted).then("expect").alias("expect"))
            .rename({**dict(zip(("rater", "view", *SYSTEM), LINE, strict=True)), "position": PLACE})
            .with_columns(unit=pl.col(PLACE))
        )
    if by == "person":
        totals.sample.prune(totals)
