"""Choices: which of several answers fits the person.

Also the metrics of choices, and functions that load runs of choices and score their items, a page at a time or all at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import orjson
import polars as pl
from sqlalchemy import select

from personafit._errors import counted
from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.config import RunConfig
from personafit.items.choice import CHOICES, TESTED_ANSWER, UNMADE_NOTE
from personafit.items.reading import Part, QuestionSet
from personafit.kinds.kind import Kind, Made, RunPlan, note_fitted
from personafit.kinds.lines import (
    CONTROL_CONTEXTS,
    CONTROL_RATERS,
    Line,
    Metric,
    RunLines,
    at_equal_length,
    control_of,
    layouts_of,
    own_context,
)
from personafit.raters.rater import Rater, fitted_mark
from personafit.statistics import Estimate, choice_scores
from personafit.statistics.clusters import ClusteredSums
from personafit.store import (
    UNMADE,
    Item,
    RunRecord,
    Store,
    gold_answers,
    item_rows,
    read_slices,
    run_answers,
    run_items,
    run_pages,
)
from personafit.store import tables as t
from personafit.store.records import SCORED

if TYPE_CHECKING:
    from personafit.engine import ProgressView

SYSTEM = ("system", "system_context")
ORDERLESS = "scores each answer by itself: order cannot matter"
CLEAN = "clean"  # version of an attacked item: the item without the attack
RESTRAINT = "generic"
TIERS = ("easy", "medium", "hard")
HALVES = ("specific", "general")
Column = tuple[str, dict[str, str]]
"""A heading and the slice below it."""
WON = ("accuracy", "debiased")
"""Scores that count as wins if the metric is a win rate."""
SCORED_BY = ("position", "gold", "option_count", "expect", "against")
"""Columns of an item that its scores depend on."""


class ChoiceKind(Kind):
    """Which answer fits the person."""

    name = "choice"
    asks: ClassVar[QuestionSet] = CHOICES
    made_from: ClassVar[str | None] = "prompt"
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context"})
    strata: ClassVar[tuple[str, ...]] = ("half", "tier", "against", "expect")

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        return choice_lines(load_scores(store, run))

    bars: ClassVar[tuple[str, ...]] = (
        "accuracy",
        "accuracy_debiased",
        "consistency",
        "lift",
        "restraint",
        "win_rate",
        "win_rate_debiased",
    )

    def rows(self, plan: RunPlan) -> pl.DataFrame:
        return rows_with_tiers(plan.store, plan.dataset)

    def part(self, item: Item) -> Part:
        """Return the item as a part; if an answer was not made, with the consequence: a note, or the reason to skip it."""
        unmade = item.slices.get(UNMADE)
        if unmade is None:
            return Part(item.id, content=item.hash)
        if unmade == TESTED_ANSWER:
            return Part(item.id, content=item.hash, note=UNMADE_NOTE)
        why = f"there is no {unmade} answer to compare with: nobody was asked"
        return Part(item.id, content=item.hash, skip=why)

    def count(self, plan: RunPlan, rater: Rater) -> int:
        wrong = sum(name.startswith("wrong:") for name in plan.contexts)
        each = plan.config.samples * (2 if rater.order_matters else 1)
        return super().count(plan, rater) - _without_wrong(plan) * wrong * each

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        found = {name: value for name, value in super().facts(plan).items() if name != "kind"}
        if alone := _without_wrong(plan):
            found["without_wrong"] = alone
        return found | plan.context_prints

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        if any(rater.fitted_on for rater in plan.raters):
            people = plan.people if plan.selected is None else {item.person for item in plan.items()}
            yield from note_fitted(plan.raters, map(fitted_mark, people), "the people")
        if alone := _without_wrong(plan):
            yield (
                f"{counted(alone, 'item is', 'items are')} about people whose language and script nobody else has: no wrong person "
                "can stand in for them, so these items do not count in the lift over the wrong person."
            )

    async def make(
        self, store: Store, config: RunConfig, progress: "ProgressView", benchmark: Benchmark
    ) -> Made | None:
        from personafit.kinds.answering import make_choices

        return await make_choices(self, store, config, progress, benchmark)

    def estimate_making(self, config: RunConfig, benchmark: Benchmark) -> list[str] | None:
        from personafit.kinds.answering import estimate_choices

        return estimate_choices(config, benchmark)


def rows_with_tiers(store: Store, dataset: str) -> pl.DataFrame:
    """Return the items of a data set with their tiers."""
    gold = gold_answers(store, dataset, store.dataset_info(dataset)["gold"])
    return item_rows(store, dataset).join(gold.select("item", "tier"), on="item", how="left")


def _without_wrong(plan: RunPlan) -> int:
    """Return the number of items whose person has no wrong person, if a context needs one."""
    if not any(name.startswith("wrong:") for name in plan.contexts) or not plan.people.alone:
        return 0
    rows = item_rows(plan.store, plan.dataset).filter(pl.col("person").is_in(list(plan.people.alone)))
    if plan.selected is None:
        return len(rows)
    return len(rows.filter(pl.col("item").is_in(list(plan.selected))))


# -- loading a run ------------------------------------------------------------------------------------------------------


@dataclass
class JudgedRun(ABC):
    """A judged run with its raters and the contexts they were shown."""

    run: RunRecord
    info: dict[str, Any]
    """The benchmark's info, as stored."""

    @property
    def raters(self) -> list[dict[str, Any]]:
        """Return the raters of the run, those asked for first."""
        raters: list[dict[str, Any]] = self.run.config["raters"]
        return raters

    @property
    def headline_context(self) -> str:
        return headline_context(self.contexts, self.info)

    @property
    def contexts(self) -> list[str]:
        return self.run.contexts

    @abstractmethod
    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        """Return the combinations of values that occur under these names, in the order of the source."""


def headline_context(contexts: Sequence[str], info: Mapping[str, Any]) -> str:
    """Return the benchmark's own context if the run has it, else the first that is no control."""
    if own_context(info) in contexts:
        return own_context(info)
    return next(
        (context for context in contexts if context != "none" and not context.startswith("wrong:")),
        contexts[0],
    )


def columns_of(scores: JudgedRun) -> list[Column]:
    """Return headings and slices of the benchmark's own table; a missing half keeps its columns."""
    names = {name for layout in scores.info["layout"] for name in layout}
    if {"half", "tier"} <= names:
        columns: list[Column] = []
        for half in HALVES:
            columns += [(f"{half} {tier}", {"half": half, "tier": tier}) for tier in TIERS]
            columns.append((f"{half} avg", {"half": half}))
        return [*columns, ("total", {})]
    columns = []
    for layout in layouts_of(scores.info):
        columns += [(" ".join(row.values()), row) for row in scores.slice_rows(layout)]
    return [*columns, ("total", {})]


def missing_halves(scores: JudgedRun) -> list[str]:
    """Return the halves that a benchmark of two halves lacks here."""
    if not any("half" in layout for layout in scores.info["layout"]):
        return []
    present = {row["half"] for row in scores.slice_rows(["half"])}
    return [half for half in HALVES if half not in present]


# -- metrics ------------------------------------------------------------------------------------------------------------


def choice_metrics(run: RunRecord, info: dict[str, Any]) -> list[Metric]:
    """Return the metrics of a run of choices: the headline is a share of right choices, or of comparisons won."""
    headline = info["metric"]
    win = headline == "win_rate"
    alone = {rater["fingerprint"] for rater in run.config["raters"] if rater["orders"] == 1}
    found = [
        Metric(headline, "accuracy"),
        Metric(f"{headline}_debiased", "debiased"),
        Metric("consistency", "consistent", only=lambda line: line.fingerprint not in alone),
        Metric("consistency", "kept", from_sums=_orderless, only=lambda line: line.fingerprint in alone),
        Metric("lift", "counted", over="context"),
        Metric(
            "restraint",
            where=(("expect", RESTRAINT),),
            note="share of marked questions where knowing the person did no harm" if win else "",
            empty="no item is marked as better answered without the person",
        ),
    ]
    if win:  # what is measured is the system's answer, which wins half of the time by chance
        found = [
            replace(one, about="product", even=0.5) if one.name in (headline, f"{headline}_debiased") else one
            for one in found
        ]
        name, held = "win_rate_length_controlled", ("accuracy", "length_difference")
        by = tuple(dict.fromkeys(layouts_of(info)))
        found.insert(
            4,
            Metric(
                name,
                "accuracy",
                estimate=at_equal_length("accuracy"),
                holds=held,
                by=by,
                about="product",
                even=0.5,
            ),
        )
    return found


def _orderless(kept: ClusteredSums) -> Estimate:
    if not kept.people.count:
        return kept.estimate()
    return Estimate(1.0, None, None, kept.people.count, kept.people.number, ORDERLESS)


# -- scores -------------------------------------------------------------------------------------------------------------


@dataclass
class RunScores(JudgedRun):
    """A run loaded for analyses by item: one row per item for every rater and context."""

    items: pl.DataFrame
    """Every item of the run: item, person, prompt, slices, tier, gold."""
    scores: dict[tuple[str, str], pl.DataFrame]
    """(rater fingerprint, context) to per-item scores; items without an answer are included with nulls."""
    answers: pl.DataFrame
    """Every answer, one row per job."""
    parts: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Parts of answers, such as marks by aspect, one row per job and target; reported apart."""

    def slice_rows(self, layout: Sequence[str]) -> list[dict[str, str]]:
        if not all(name in self.items.columns for name in layout):
            return []
        return self.items.select(layout).drop_nulls().unique(maintain_order=True).to_dicts()


Page = tuple[pl.DataFrame, pl.DataFrame]
"""Items and the answers about them, as `run_pages` gives them."""


def load_scores(store: Store, run: RunRecord, pages: Iterable[Page] | None = None) -> RunScores:
    """Load a run and score every item; its pages are read from the store unless they are given."""
    info = store.dataset_info(run.dataset)
    read = list(run_pages(store, run, info["gold"]) if pages is None else pages)
    page = pl.concat(items for items, _ in read).sort("position")
    answers = pl.concat(found for _, found in read).join(page.select("position", "item"), on="position")
    items = open_items(store, page, info)
    empty = [name for name in ("tier", "length_difference") if items[name].null_count() == len(items)]
    items = items.drop(empty)
    needed = items.select(name for name in items.columns if name in SCORED_BY)
    scored = score_items(run, info, needed, answers).drop(needed.columns)
    items = items.drop("position")
    parts = scored.partition_by("rater", "context", as_dict=True, include_key=False)
    # The frames share the columns of the items.
    scores = {(str(rater), str(context)): items.hstack(part) for (rater, context), part in parts.items()}
    said = answers.with_columns(question=pl.lit(run.config["question"]), target=pl.lit("")).sort("job")
    return RunScores(run, info, items, scores, said, _parts(store, run))


def _parts(store: Store, run: RunRecord) -> pl.DataFrame:
    """Return judgments on parts of items, which only few raters give."""
    judgment, own = t.judgments.c, [rater["fingerprint"] for rater in run.config["raters"]]
    some = select(judgment.ask).where(judgment.rater.in_(own), judgment.target != "").limit(1)
    if store.frame(some).is_empty():
        return pl.DataFrame(schema={"target": pl.String, "rater": pl.String})
    return run_answers(store, run.id).filter(pl.col("target") != "")


def with_slices(page: pl.DataFrame, names: Iterable[str] | None = None) -> pl.DataFrame:
    """Return a page of items with these slices as columns, or with all that occur; a slice `tier` takes the place of the gold's tier."""
    slices = [read_slices(text) for text in page["slices"]]
    found = {name for row in slices for name in row}
    wanted = (found if names is None else set(names)) - (set(page.columns) - found & {"tier"}) - SCORED
    columns = (pl.Series(name, [row.get(name) for row in slices], dtype=pl.String) for name in sorted(wanted))
    return page.drop("slices").with_columns(*columns)


def open_items(
    store: Store, page: pl.DataFrame, info: Mapping[str, Any], names: Iterable[str] | None = None
) -> pl.DataFrame:
    """Return a page of items with their slices, number of answers and, if scores are wins, how much longer the tested answer is."""
    pairs = [orjson.loads(text) for text in page["products"]]
    items = with_slices(page, names).drop("products", "not_wrong", strict=False)
    items = items.with_columns(
        pl.Series("option_count", map(len, pairs), dtype=pl.Int64),
        pl.lit(None, pl.Float64).alias("length_difference"),
    )
    if info["metric"] != "win_rate":
        return items
    lengths = store.lengths({product for pair in pairs for product in pair})
    longer = [lengths[pair[0]] - lengths[pair[1]] if len(pair) == 2 else None for pair in pairs]
    tested = pl.when(pl.col("gold") == "0").then(1.0).otherwise(-1.0)
    made = pl.col(UNMADE).is_null() if UNMADE in items.columns else pl.lit(True)
    # An answer that was not made has no length.
    difference = pl.when(made).then(tested * pl.Series(longer, dtype=pl.Float64)).fill_null(float("nan"))
    return items.with_columns(length_difference=difference)


def score_items(
    run: RunRecord, info: Mapping[str, Any], items: pl.DataFrame, answers: pl.DataFrame
) -> pl.DataFrame:
    """Return a row for every item, rater and context of the run, with its scores; null if there is no answer.

    If scores are wins, items whose right answer is the less personal one have no score but `restraint`.
    """
    win, config = info["metric"] == "win_rate", run.config
    asks = [
        (rater["fingerprint"], context, rater["orders"] * int(config["samples"]))
        for rater, context in product(config["raters"], run.contexts)
    ]
    planned = pl.DataFrame(
        asks, schema={"rater": pl.String, "context": pl.String, "asked": pl.Int64}, orient="row"
    )
    said = answers.select("position", "rater", "context", "order", "sample", "status", "label", "value")
    keys = ["rater", "context", "position"]
    scored = choice_scores(said.join(items.select("position", "gold", "option_count"), on="position"), keys)
    whole = items.join(planned, how="cross").join(
        scored.drop("asked", "first"), on=keys, how="left", maintain_order="left"
    )
    expect, against = (
        pl.col(name) if name in items.columns else pl.lit(None, pl.String) for name in ("expect", "against")
    )
    less_personal = expect.eq_missing(pl.lit(RESTRAINT))
    marked = less_personal & (against.eq_missing(pl.lit(RESTRAINT)) if win else pl.lit(True))
    kept = (pl.col("debiased") >= 0.5).cast(pl.Float64)
    return whole.with_columns(
        answered=pl.col("answered").fill_null(0),
        kept=kept,
        counted=pl.when(~less_personal).then("accuracy"),
        restraint=pl.when(marked).then(kept if win else pl.col("accuracy")),
    ).with_columns(pl.when(~less_personal | pl.lit(not win)).then(pl.col(WON)))


def choice_lines(scores: RunScores) -> RunLines:
    """Return a line per rater, context and system whose answers were judged, with every item of the run held in memory."""
    layouts = layouts_of(scores.info)
    lines, metrics = list(_lines(scores)), choice_metrics(scores.run, scores.info)
    return RunLines(scores.run, scores.info, "choice", lines, metrics, layouts)


def _lines(scores: RunScores) -> Iterator[Line]:
    present = [name for name in SYSTEM if name in scores.items.columns]
    systems = scores.items.select(present).unique(maintain_order=True).to_dicts() if present else [{}]
    keys = ["item"]
    if scores.info["metric"] == "win_rate":  # answers of two systems share their question and their opponent
        keys = [name for name in ("person", "prompt", "against") if name in scores.items.columns]
    for rater, context, system in product(scores.raters, scores.contexts, systems):
        own = [pl.col(name).eq_missing(pl.lit(value)) for name, value in system.items()]
        frame = scores.scores[rater["fingerprint"], context].filter(pl.lit(True), *own)
        frame = frame.with_columns(pl.concat_str(keys, separator="|").alias("unit"))
        yield choice_line(rater, context, system.get("system"), system.get("system_context"), frame)


def choice_line(
    rater: Mapping[str, Any],
    context: str,
    system: str | None,
    system_context: str | None,
    frame: pl.DataFrame,
) -> Line:
    """Return the line of a rater under a context, over one system's answers if systems answered."""
    control = control_of(rater["name"], context, CONTROL_RATERS, CONTROL_CONTEXTS)
    return replace(Line.of(rater, context, frame, control), system=system, system_context=system_context)


def choices_of(store: Store, run: RunRecord) -> RunScores | None:
    """Return the scores of a run of choices; of attacked ones, those of the clean versions, each with the person it was written for.

    None for runs of other kinds.
    """
    kind = run.config.get("kind", "choice")
    if kind == "choice":
        return load_scores(store, run)
    if kind != "injection":
        return None
    return _clean_scores(load_scores(store, run))


def _clean_scores(scores: RunScores) -> RunScores:
    """Return the scores of the clean versions of attacked items."""
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
    """Return the items of a run of choices without their scores; None for runs of other kinds."""
    kind = run.config.get("kind", "choice")
    if kind not in ("choice", "injection"):
        return None
    items = run_items(store, run)
    return items if kind == "choice" else clean_items(items)


def clean_items(items: pl.DataFrame) -> pl.DataFrame:
    """Return the clean versions of an attacked run's items, each with the person it was written for."""
    return items.filter(version=CLEAN).drop("person").rename({"of": "person"})
