"""A run of choices added up: what every table, figure and result is computed from, whatever the number of items.

The run is read a page at a time (see `line_sums`). Apart from the sums there are the items that the report's browser shows, of which there
is a largest number, and what went wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.kinds.choice_scores import RESTRAINT, SYSTEM, WON, JudgedRun, choice_metrics, is_restraint
from personafit.kinds.lines import CONTROL_CONTEXTS, CONTROL_RATERS, Line, RunLines, control_of
from personafit.reports.asked import ERRORS_SHOWN, Endings
from personafit.reports.line_results import add_lines_up, results_of
from personafit.reports.line_sums import LINE, PLACE, AddedUp, Layout
from personafit.reports.result import Result
from personafit.statistics import choice_scores
from personafit.statistics.clusters import ClusteredSums
from personafit.store import UNMADE, RunRecord, Status, Store, any_prompt_recurs, run_pages
from personafit.store import tables as t

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
    statuses: dict[tuple[str, str], int] = field(default_factory=dict)
    """(rater, status) to the number of asks that ended so."""
    errors: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """(rater, status, sentence) to how often it was met."""
    sample: Sample = field(default_factory=Sample)

    @property
    def opened(self) -> RunLines:
        """The lines and metrics of the run."""
        layouts = list(dict.fromkeys(tuple(names) for names in self.info["layout"]))
        return RunLines(
            self.run, self.info, "choice", self.lines, choice_metrics(self.run, self.info), layouts
        )

    def of(self, rater: str, view: str, column: str) -> ClusteredSums:
        """One column of scores, added up over the answers of all systems: a person is one cluster whoever answered."""
        return self.added.sums((rater, view), column)

    def answered(self, rater: str, view: str) -> int:
        """How many asks brought an answer, over all systems."""
        return int(self.of(rater, view, "answered").people.total)

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
        met = [(*key[1:], count) for key, count in self.errors.items() if key[0] == rater]
        return Endings(
            [self.statuses.get((rater, status.value), 0) for status in Status],
            sorted(met, key=lambda error: -error[2])[:ERRORS_SHOWN],
        )

    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """The values that occur together under these names, in the order of the source."""
        return [dict(where) for where in self.added.wheres(tuple(layout))]


def load_totals(store: Store, run: RunRecord) -> RunTotals:
    """Read a run back and add it up."""
    totals = RunTotals(run, store.dataset_info(run.dataset))
    rows = store.count_items(run.dataset) * len(totals.raters) * len(totals.views)
    totals.added = add_lines_up(
        totals.opened,
        _Walk(store, totals).pages,
        [LINE[:2]],
        any_prompt_recurs(store, run.dataset),
        again=rows > HELD,
    )
    systems = list(dict.fromkeys((key[2], key[3]) for key in totals.added.lines())) or [(None, None)]
    totals.lines = [
        Line(
            rater["name"],
            rater["fingerprint"],
            view,
            system,
            given,
            pl.DataFrame(),
            control_of(rater["name"], view, CONTROL_RATERS, CONTROL_CONTEXTS),
            not rater["control"],
        )
        for rater, view, (system, given) in product(totals.raters, totals.views, systems)
    ]
    return totals


def run_results(totals: RunTotals) -> list[Result]:
    """Every number of a run."""
    return results_of(totals.opened, totals.added)


class _Walk:
    """Pages of a run: a row per item, rater and view, asked or not."""

    def __init__(self, store: Store, totals: RunTotals) -> None:
        self._store = store
        self._totals = totals
        info = totals.info
        self._win = info["metric"] == "win_rate"
        self._layouts: list[Layout] = totals.opened.layouts
        sliced = {name for names in self._layouts for name in names}
        self._names = sorted(sliced | {"expect", "against", *SYSTEM})
        self._marks = "expect" not in sliced
        asks = [
            (rater["fingerprint"], view, rater["orders"] * int(totals.run.config["samples"]))
            for rater, view in product(totals.raters, totals.views)
        ]
        schema = {"rater": pl.String, "view": pl.String, "asked": pl.Int64}
        self._planned = pl.DataFrame(asks, schema=schema, orient="row")

    def pages(self, by: str) -> Iterator[pl.DataFrame]:
        """The run in the order of persons or prompts; on the first reading what is no sum is noted."""
        last_person = None
        for page, answers in run_pages(self._store, self._totals.run, self._totals.info["gold"], by):
            items = self._sliced(page)
            if items.is_empty():
                continue
            scored = self._scored(items, answers)
            if by == "person":
                self._totals.items += len(items)
                self._totals.people += items["person"].n_unique() - (items["person"][0] == last_person)
                last_person = items["person"][-1]
                self._note_answers(items, answers)
                met = scored.filter(pl.col("answered").is_not_null())
                self._totals.sample.add(self._totals, page, met, answers)
            names = {"rater": LINE[0], "view": LINE[1], "system": LINE[2], "given": LINE[3]}
            yield scored.rename({**names, "position": PLACE}).with_columns(unit=pl.col(PLACE))
        if by == "person":
            self._totals.sample.prune(self._totals)

    def _sliced(self, page: pl.DataFrame) -> pl.DataFrame:
        slices = [orjson.loads(text) for text in page["slices"]]
        columns = [
            pl.Series(name, [row.get(name) for row in slices], dtype=pl.String)
            for name in self._names
            if name != "tier" or any("tier" in row for row in slices)
        ]
        options = pl.Series("option_count", [len(orjson.loads(text)) for text in page["products"]])
        kept = page.drop("slices", "products").with_columns(*columns, options)
        if not self._win:
            return kept.with_columns(pl.lit(None, pl.Float64).alias("length_difference"))
        pairs = [orjson.loads(text) for text in page["products"]]
        lengths = self._store.lengths({product for pair in pairs for product in pair})
        longer = pl.Series(
            [float(lengths[p[0]] - lengths[p[1]]) if len(p) == 2 else None for p in pairs], dtype=pl.Float64
        )
        made = pl.Series([UNMADE not in row for row in slices], dtype=pl.Boolean)
        tested = pl.when(made).then(pl.when(pl.col("gold") == "0").then(1.0).otherwise(-1.0))
        # An answer that was not made has no length.
        return kept.with_columns((tested * longer).fill_null(float("nan")).alias("length_difference"))

    def _scored(self, items: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """A row per rater, view and item; `answered` is null where nothing was asked."""
        joined = answers.select(
            "position", "rater", "view", "order", "sample", "status", "label", "value"
        ).join(items.select("position", "gold", "option_count"), on="position", how="inner")
        keys = ["rater", "view", "position"]
        scored = choice_scores(joined, keys).drop("asked")
        planned = items.drop("item", "gold", "option_count").join(self._planned, how="cross")
        whole = planned.join(scored, on=keys, how="left", maintain_order="left")
        marked = is_restraint() & (pl.col("against").eq_missing(pl.lit(RESTRAINT)) | ~pl.lit(self._win))
        kept = (pl.col("debiased") >= 0.5).cast(pl.Float64)
        counted = pl.when(~is_restraint()).then(pl.col("accuracy"))
        return whole.with_columns(
            kept=kept,
            counted=counted,
            restraint=pl.when(marked).then(kept if self._win else pl.col("accuracy")),
        ).with_columns(
            pl.when(~is_restraint()).then(pl.col(WON)) if self._win else pl.col(WON),
            pl.when(~is_restraint() | marked | pl.lit(not self._marks)).then("expect").alias("expect"),
        )

    def _note_answers(self, items: pl.DataFrame, answers: pl.DataFrame) -> None:
        for rater, status, count in answers.group_by("rater", "status").len().iter_rows():
            self._totals.statuses[rater, status] = self._totals.statuses.get((rater, status), 0) + count
        failed = answers.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
        places = items.select("position").with_row_index("place")
        failed = failed.join(places, on="position", how="left", maintain_order="left").sort(
            "place", maintain_order=True
        )
        errors = self._totals.errors
        counted = failed.group_by("rater", "status", pl.col("detail").str.slice(0, 400), maintain_order=True)
        for *key, count in counted.len().iter_rows():
            rater, status, detail = key
            if (rater, status, detail) in errors or len(errors) < ERRORS_COUNTED:
                errors[rater, status, detail] = errors.get((rater, status, detail), 0) + count


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
