"""The totals of a run of choices, from which its tables, figures and results are computed, for any number of items.

The run is read in pages (see `line_results`). Besides the sums, the totals keep a limited sample of items for the report's browser, and
counts of error messages.
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
from personafit.kinds.lines import Line, RunLines, layouts_of
from personafit.reports.kind_report import ERRORS_SHOWN, LONGEST_ERROR, Endings
from personafit.reports.line_results import LINE, PLACE, AddedUp, add_lines_up
from personafit.store import UNMADE, RunRecord, Status, Store, any_prompt_recurs, run_pages

MAX_ITEMS = 10_000
MAX_ASKS = 500_000  # asks about these items, some 30 MB of page: fewer items are shown if each has many asks
SPARE = 1.5  # the sample is pruned when it exceeds the maximum by this factor


@dataclass
class Sample:
    """Items with their answers and scores under the headline context, at most as many as a page can hold."""

    items: pl.DataFrame = field(default_factory=pl.DataFrame)
    """position, item, person, prompt, products, slices (both JSON), gold, tier, in the order of the source."""
    scores: pl.DataFrame = field(default_factory=pl.DataFrame)
    """position, rater, accuracy."""
    answers: pl.DataFrame = field(default_factory=pl.DataFrame)
    """One row per job about these items."""

    def add(self, run: JudgedRun, items: pl.DataFrame, scored: pl.DataFrame, answers: pl.DataFrame) -> None:
        """Add a page of the run, and prune the sample if it is too large."""
        scored = scored.filter(pl.col("accuracy").is_not_null(), context=run.headline_context)
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
        """Keep at most as many items as a page can hold (wrong ones first), in the order of the source."""
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
    """Return the number of items a page can hold, given the number of asks per item."""
    asks = (
        sum(int(rater["orders"]) for rater in run.raters) * len(run.contexts) * int(run.run.config["samples"])
    )
    return max(1, min(MAX_ITEMS, MAX_ASKS // max(1, asks)))


def _copied(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy the frame: filtered strings would keep the whole pages in memory."""
    written = frame.write_ipc(None, compat_level=pl.CompatLevel.oldest())
    written.seek(0)
    return pl.read_ipc(written)


HELD = 400_000  # rows kept for the second order, some 60 MB
ERRORS_COUNTED = 1_000  # distinct error messages per run


@dataclass
class RunTotals(JudgedRun):
    """The totals of a run of choices."""

    items: int = 0
    people: int = 0
    lines: list[Line] = field(default_factory=list)
    """One line per rater, context and system, with empty frames, as items are not kept."""
    added: AddedUp = field(default_factory=AddedUp)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(rater, status) → number of asks."""
    errors: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(rater, status, message) → number of occurrences."""
    sample: Sample = field(default_factory=Sample)

    @property
    def opened(self) -> RunLines:
        layouts = list(dict.fromkeys(layouts_of(self.info)))
        metrics = choice_metrics(self.run, self.info)
        return RunLines(self.run, self.info, "choice", self.lines, metrics, layouts)

    @property
    def pages(self) -> list[Page] | None:
        """The whole run as one page, if the sample holds all of it."""
        whole = len(self.sample.items) == self.items and not self.sample.answers.is_empty()
        return [(self.sample.items, self.sample.answers)] if whole else None

    def answered(self, rater: str, context: str) -> int:
        """Return the number of answered asks, over all systems."""
        own = [line for line in self.lines if (line.fingerprint, line.context) == (rater, context)]
        return int(sum(self.added.of(line, "answered").people.total for line in own))

    def asked(self, rater: dict[str, Any], context: str) -> int:
        """Return the number of asks under a context; people with nobody else of their language have no wrong person."""
        items = self.items
        if context.startswith("wrong:"):
            items -= self.run.config.get("without_wrong", 0)
        return int(items * rater["orders"] * self.run.config["samples"])

    def coverage(self) -> tuple[int, int]:
        """Return the number of planned asks and of those answered."""
        pairs = list(product(self.raters, self.contexts))
        answered = sum(self.answered(rater["fingerprint"], context) for rater, context in pairs)
        return sum(self.asked(rater, context) for rater, context in pairs), answered

    def endings(self, rater: str) -> Endings:
        """Return a rater's asks by status, and its most frequent error messages."""
        met = [(*key[1:], count) for key, count in self.errors.most_common() if key[0] == rater]
        return Endings([self.statuses[rater, status.value] for status in Status], met[:ERRORS_SHOWN])

    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """Return the combinations of values of these slices that occur, in the order of the source."""
        return [dict(where) for where in self.added.wheres(tuple(layout))]

    def note(self, items: pl.DataFrame, answers: pl.DataFrame) -> None:
        """Count the statuses and error messages of the asks about a page of items."""
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
    """Read a run and add it up."""
    totals = RunTotals(run, store.dataset_info(run.dataset))
    rows = store.count_items(run.dataset) * len(totals.raters) * len(totals.contexts)
    recurs = any_prompt_recurs(store, run.dataset)
    totals.added = add_lines_up(totals.opened, lambda by: _pages(store, totals, by), recurs, rows > HELD)
    systems = list(dict.fromkeys((key[2], key[3]) for key in totals.added.lines())) or [(None, None)]
    totals.lines = [
        choice_line(rater, context, system, system_context, pl.DataFrame())
        for rater, context, (system, system_context) in product(totals.raters, totals.contexts, systems)
    ]
    return totals


def _pages(store: Store, totals: RunTotals, by: str) -> Iterator[pl.DataFrame]:
    """Yield the run in the order of persons or prompts, a row per item, rater and context; the first pass also fills counts and sample."""
    run, info, last_person = totals.run, totals.info, None
    sliced = {name for names in totals.opened.layouts for name in names}
    names = sliced | {"expect", "against", UNMADE, *SYSTEM}
    # For win rates, restraint is over the comparisons with the generic answer, unless results are sliced by `expect`.
    restrained = pl.col("expect").ne_missing(pl.lit(RESTRAINT)) | pl.col("against").eq_missing(
        pl.lit(RESTRAINT)
    )
    counted = restrained | pl.lit(info["metric"] != "win_rate" or "expect" in sliced)
    for page, answers in run_pages(store, run, info["gold"], by):
        if page.is_empty():
            continue
        items = open_items(store, page, info, names)
        apart: dict[str, str] = {
            name: f"slice {name}" for name in ("rater", "context") if name in items.columns
        }
        scored = score_items(run, info, items.rename(apart), answers)
        if by == "person":
            totals.items += len(items)
            totals.people += items["person"].n_unique() - (items["person"][0] == last_person)
            last_person = items["person"][-1]
            totals.note(items, answers)
            totals.sample.add(totals, page, scored, answers)
        yield (
            scored.with_columns(pl.when(counted).then("expect").alias("expect"))
            .rename({**dict(zip(("rater", "context", *SYSTEM), LINE, strict=True)), "position": PLACE})
            .rename({held: name for name, held in apart.items()})
            .with_columns(unit=pl.col(PLACE))
        )
    if by == "person":
        totals.sample.prune(totals)
