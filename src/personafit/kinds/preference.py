"""Preferences: which of two answers somebody with an attribute would prefer.

A run is loaded as a row per item, attribute and rater. Marks of both orders and all samples are averaged, so that position bias
cancels. Differences of scores are mapped to the scale by rank, over all units of the run at once. `rating` is the mean mark
(1 generic, 5 personalized); `no_better` the share of units marked 3 or lower, `no_better_items` the share of answers whose mean mark
over their attributes is. `mention_effect` is the mean mark of answers that name the attribute minus that of the others;
`position_effect` is how far a rater is pulled to the answer shown first, in points of the scale.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import orjson
import polars as pl
from sqlalchemy import select

from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.responses import (
    GENERATOR,
    HUMAN,
    INFO,
    SIMULATED,
    STORED_CONTEXT,
    ResponsePrompts,
)
from personafit.items.preference import (
    CONTEXT,
    GENERIC,
    HIGHEST,
    LOWEST,
    MENTION,
    MIDDLE,
    NAMED,
    PERSONAL,
    PREFER,
    PREFERENCE,
    PREFERENCES,
    shown_content,
)
from personafit.items.reading import Part, Question, QuestionSet, Shown, order_places
from personafit.kinds.kind import Kind, Made, RunPlan, ShownAgain, items_of, order_name, orders
from personafit.kinds.lines import (
    Feature,
    Line,
    Metric,
    Reference,
    RunLines,
    at_equal_length,
    control_of,
    over_median,
)
from personafit.raters import Rater
from personafit.raters.naming import names_attribute
from personafit.statistics import Estimate
from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_intervals import pair_agreement
from personafit.statistics.clusters import cluster_mean
from personafit.statistics.preferences import group_difference, group_difference_gap, scale_by_rank
from personafit.store import Item, RunRecord, Status, Store, run_answers
from personafit.store import tables as t

if TYPE_CHECKING:
    from personafit.engine import ProgressView

PAGE = 200


class PreferenceKind(Kind):
    """Whether using the attributes helps."""

    name = PREFERENCE
    asks: ClassVar[QuestionSet] = PREFERENCES
    made_from: ClassVar[str | None] = "prompt"
    own_contexts: ClassVar[dict[str, str] | None] = {
        CONTEXT.name: "the attributes of each item and nothing else of the person"
    }
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context"})
    controls: ClassVar[Controls | None] = INFO.controls
    strata: ClassVar[tuple[str, ...]] = (GENERATOR, "system_context")
    bars: ClassVar[tuple[str, ...]] = (
        "rating",
        "no_better",
        "win_rate",
        "win_rate_length_controlled",
        "spearman",
    )

    def default_contexts(self, info: BenchmarkInfo) -> list[str]:
        return [CONTEXT.name]

    def shown(self, plan: RunPlan, rater: Rater) -> Iterator[Shown]:
        """Yield every pair with all attributes at once, in both orders if the order matters to the rater."""
        items = plan.items()
        while page := list(islice(items, PAGE)):
            texts = plan.store.texts({product for item in page for product in item.products})
            for item in page:
                pair = shown_pair(item, texts, rater.questions[0])
                for order in orders(item.id, 2, rater, plan.config.seed):
                    place = order_name(order) if rater.order_matters else ""
                    for sample in range(plan.config.samples):
                        yield replace(pair, order=order, place=place, sample=sample)

    def rater_facts(self, plan: RunPlan, rater: Rater) -> dict[str, Any]:
        return {"question": rater.questions[0].name, "orders": 2 if rater.order_matters else 1}

    def shown_again(self, store: Store, run: RunRecord) -> ShownAgain:
        """Return a function that rebuilds the pair with its attributes, in the stored order."""
        items = {item.id: item for item in store.items(run.dataset)}
        questions = {question.name: question for question in (PREFER, NAMED)}

        def again(rows: Sequence[Any]) -> Shown | None:
            item = items.get(rows[0].item)
            if item is None:
                return None
            texts = dict.fromkeys(item.products, "")
            order = tuple(order_places(rows[0].order)) or (0, 1)
            return replace(shown_pair(item, texts, questions[rows[0].question]), order=order)

        return again

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """Return a line per rater over the answers of every system, whose names are in the columns `system` and `system_context`."""
        return opened_preferences(load_preferences(store, run))

    async def make(
        self, store: Store, config: RunConfig, progress: "ProgressView", benchmark: Benchmark
    ) -> Made | None:
        from personafit.kinds.responding import make_responses

        assert isinstance(benchmark, ResponsePrompts)
        return await make_responses(self, store, config, progress, benchmark)

    def estimate_making(self, config: RunConfig, benchmark: Benchmark) -> list[str] | None:
        from personafit.kinds.responding import estimate_responses

        return estimate_responses(config, benchmark)


def shown_pair(item: Item, texts: Mapping[str, str], question: Question) -> Shown:
    """Return a preference item with its texts, as shown to raters."""
    generic, personal, *attributes = item.products
    answers = (texts[generic], texts[personal])
    parts = tuple(Part(item.id, one, texts[one]) for one in dict.fromkeys(attributes))
    return Shown(
        question=question,
        about=item.id,
        content=shown_content(item.hash, item.prompt, answers, parts),
        person=item.person,
        prompt=item.prompt,
        parts=parts,
        texts=answers,
        context=CONTEXT,
        order=tuple(range(PERSONAL + 1)),
    )


# -- loading a run -----------------------------------------------------------------------------------------------------

SHOWN = "attributes"
"""The one context of raters."""
RULES = {"rule:length": "longer answer", "rule:mention": "mention"}
BY_RANK = "its differences of scores are put on the scale by rank: none is 3, the largest either way 1 or 5"
SCALE = (float(LOWEST), float(HIGHEST))
RULE = "rule"
WHOLE: tuple[tuple[str, ...], ...] = ((),)
NO_PEOPLE = "undefined: nobody's ratings come with these answers"
UNIT = ["item", "target"]


@dataclass(frozen=True)
class PreferenceScores:
    """Results of a preference run: units, a line per rater, people's votes."""

    run: RunRecord
    info: dict[str, Any]
    units: pl.DataFrame
    """Every unit: item, target, person, prompt, group, generator, system_context, attribute, longer, names, human; `longer` and `names` are
    null if an answer was not made."""
    lines: list[Line]
    """One per rater, over the answers of all systems; frames have every unit with its rating and derived columns."""
    answers: pl.DataFrame
    panel: pl.DataFrame
    """Single votes of people, or simulated ones if there are no others."""
    people_are: str | None
    """Whose marks `human` holds: human, simulated, or the name of the gold, such as author; None without any."""
    detectors: dict[str, str]
    """Detectors of named attributes, the rule first: name to the column of the units that holds the result."""

    @property
    def made(self) -> pl.DataFrame:
        """Return the units whose answer was made."""
        return self.units.filter(pl.col("names").is_not_null())


def load_preferences(store: Store, run: RunRecord) -> PreferenceScores:
    """Load a preference run."""
    info, answers = store.dataset_info(run.dataset), run_answers(store, run.id)
    votes = _votes(store, run.dataset)
    people_are, panel, human = _people(votes, info["gold"])
    units = _joined(unit_rows(store, run), human)
    ok = answers.filter(pl.col("target") != "", status=Status.OK.value)
    detectors = {RULE: "names"}
    for rater in run.config["raters"]:
        if rater["question"] == MENTION:
            column = detectors[rater["name"]] = f"names_{len(detectors) - 1}"
            said = ok.filter(rater=rater["fingerprint"]).group_by(UNIT, maintain_order=True)
            units = _joined(units, said.agg((pl.col("value").mean() >= 0.5).alias(column)))
    samples = int(run.config["samples"])
    asked = [rater for rater in run.config["raters"] if rater["question"] == PREFERENCE]
    lines = [_line(units, ok.drop_nulls("value"), rater, samples) for rater in asked]
    return PreferenceScores(run, info, units, lines, answers, panel, people_are, detectors)


def _joined(units: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return units.join(more, on=UNIT, how="left", maintain_order="left")


def _people(votes: pl.DataFrame, gold: str) -> tuple[str | None, pl.DataFrame, pl.DataFrame]:
    """Return whose marks count as people's (votes of people, else simulated ones, else gold), their single votes, and each unit's mean."""
    own = votes.filter(pl.col("voter").is_null())
    named = own.filter(rater=gold)
    own = own if named.is_empty() else named
    name, panel = None if own.is_empty() else str(own["rater"][0]), votes.clear()
    for voter in (SIMULATED, HUMAN):
        voted = votes.filter(voter=voter)
        if not voted.is_empty():
            name, panel, own = voter, voted, voted
    return name, panel, own.group_by(UNIT, maintain_order=True).agg(human=pl.col("value").mean())


def _line(units: pl.DataFrame, answers: pl.DataFrame, rater: dict[str, Any], samples: int) -> Line:
    ok = answers.filter(rater=rater["fingerprint"])
    by_order = ok.group_by(*UNIT, "order", maintain_order=True).agg(
        pl.col("value").mean(), pl.len().alias("answered"), pl.col("label").is_null().any().alias("scored")
    )
    per_unit = by_order.group_by(UNIT, maintain_order=True).agg(
        pl.col("value").mean().alias("rating"),
        pl.col("value").filter(pl.col("order") == "10").first().alias("first"),
        pl.col("value").filter(pl.col("order") == "01").first().alias("last"),
        pl.col("answered").sum().cast(pl.Int64),
        pl.col("scored").any(),
    )
    frame = _joined(units, per_unit).with_columns(
        pl.col("answered").fill_null(0), pl.lit(rater["orders"] * samples).alias("asked")
    )
    notes: tuple[str, ...] = ()
    if bool(frame["scored"].any()):
        # A unit that has a mark already, because its answer was not made, is on the scale.
        differences = frame.select(pl.when("scored").then("rating").cast(pl.Float64).fill_null(np.nan))
        marks = pl.Series(scale_by_rank(differences.to_series().to_numpy())).fill_nan(None)
        frame = frame.with_columns(pl.when("scored").then(marks).otherwise("rating").alias("rating"))
        notes = (BY_RANK,)
    frame = rated_units(frame.drop("scored"))
    if rater["orders"] == 2:  # position bias, and whether both orders give the same result
        both = pl.all_horizontal(pl.col("first", "last", "longer").is_not_null())
        same = (pl.col("first") - MIDDLE).sign() == (pl.col("last") - MIDDLE).sign()
        frame = frame.with_columns(
            pl.when(both).then((pl.col("first") - pl.col("last")) / 2).alias("pull"),
            pl.when(both).then(same.cast(pl.Float64)).alias("same"),
        )
    return Line.of(rater, SHOWN, frame, control_of(rater["name"], None, RULES, {}), notes)


def rated_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Add a line's columns to rated units: the system and its context, and what follows from the rating.

    Columns about an answer, and not about its attributes, have values in the answer's first row only.
    """
    mark, longer = pl.col("rating").cast(pl.Float64), pl.col("longer").cast(pl.Float64)
    win = pl.when(mark > MIDDLE).then(1.0).when(mark < MIDDLE).then(0.0).when(mark == MIDDLE).then(0.5)
    no_better = (mark.mean().over("item") <= MIDDLE).cast(pl.Float64)
    return frame.with_columns(
        rating=mark,
        unit=pl.concat_str("item", "target", separator="|"),
        system=pl.col("generator").fill_null(""),
        system_context=pl.col("system_context").fill_null(""),
        no_better=(mark <= MIDDLE).cast(pl.Float64),
        no_better_items=once_an_item(no_better),
        win=win,
        length_difference=longer.fill_null(float("nan")),
    )


def once_an_item(value: pl.Expr) -> pl.Expr:
    """Return a value in the first row of each item, and null in the others."""
    return pl.when(pl.col("item").is_first_distinct()).then(value)


def unit_rows(store: Store, run: RunRecord) -> pl.DataFrame:
    """Return one row per item and attribute: person, system, how much longer the answer is, and whether it names the attribute.

    For an answer that was not made, `longer` and `names` are null.
    """
    items = items_of(store, run)
    rows: list[dict[str, Any]] = []
    while page := list(islice(items, PAGE)):
        texts = store.texts({product for item in page for product in item.products})
        rows += [row for item in page for row in _units(item, texts)]
    words = ("item", "target", "person", "prompt", "group", "generator", "system_context", "attribute")
    schema: dict[str, Any] = dict.fromkeys(words, pl.String)
    return pl.DataFrame(rows, schema=schema | {"longer": pl.Int64, "names": pl.Boolean})


def _units(item: Item, texts: dict[str, str]) -> Iterator[dict[str, Any]]:
    generic, personal = texts[item.products[GENERIC]], texts[item.products[PERSONAL]]
    for target in dict.fromkeys(item.products[PERSONAL + 1 :]):
        yield {
            "item": item.id,
            "target": target,
            "person": item.person,
            "prompt": item.prompt,
            "group": item.group,
            "generator": item.slices.get("generator"),
            "system_context": item.slices.get(STORED_CONTEXT),
            "attribute": texts[target],
            "longer": len(personal) - len(generic) if personal else None,
            "names": names_attribute(texts[target], item.prompt, generic, personal) if personal else None,
        }


def _votes(store: Store, dataset: str) -> pl.DataFrame:
    """Return the gold and the single votes that came with the data: item, target, rater, voter (null for gold) and value."""
    one = t.judgments.c
    query = select(one.item, one.target, one.rater, one.label, one.value, one.extra).where(
        one.ask.like(f"{dataset}#%"), one.question == PREFERENCE, one.status == Status.OK.value
    )
    rows = []
    for item, target, rater, label, value, extra in store.frame(query).iter_rows():
        number = value if value is not None else float(label) if label else None
        if number is not None:
            voter = (orjson.loads(extra) if extra else {}).get("voter")
            rows.append((item, target, rater, voter, float(number)))
    schema: dict[str, Any] = dict.fromkeys((*UNIT, "rater", "voter"), pl.String)
    return pl.DataFrame(rows, schema=schema | {"value": pl.Float64}, orient="row")


# -- metrics -----------------------------------------------------------------------------------------------------------


def opened_preferences(scores: PreferenceScores) -> RunLines:
    """Return the lines of a preference run with their metrics, and people's marks of the same units."""
    people = Reference(
        "preference", "rating", "rating", "human", scores.people_are, SCALE, orders=("first", "last")
    )
    features = [
        Feature("length", "longer answers", lambda frame: over_median(frame["longer"])),
        Feature("mention", "answers that name the attribute", lambda frame: frame["names"]),
    ]
    return RunLines(
        scores.run,
        scores.info,
        PREFERENCE,
        scores.lines,
        preference_metrics(scores.detectors),
        by_system(scores.units),
        references=[people],
        features=features,
        made_alike=("group", "target"),
    )


def by_system(units: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return the slice by system and its context, if there are several."""
    return (
        [("system", "system_context")] if units.select("generator", "system_context").n_unique() > 1 else []
    )


def preference_metrics(detectors: Mapping[str, str]) -> list[Metric]:
    """Return the metrics of a rater's marks; the effect of mention once for each detector, each needing its own column."""
    people = partial(Metric, column="human", holds=("rating", "human", "names"), by=WHOLE)
    agrees = partial(people, empty=NO_PEOPLE, how="")
    over = partial(people, only=_meets_people)
    lengths = ("win", "length_difference")
    found = [
        Metric("rating", bounds=SCALE, compared=True, even=float(MIDDLE)),
        Metric("no_better", better="lower"),
        Metric("no_better_items", better="lower"),
        Metric("win_rate", "win", even=0.5),
        Metric("win_rate_length_controlled", "win", estimate=at_equal_length("win"), holds=lengths),
        Metric("position_effect", "pull", None, better=None, even=0.0),
        Metric("consistency", "same"),
        *(_mention_effect(detector, column) for detector, column in detectors.items()),
        agrees("spearman", estimate=_with_people("spearman")),
        agrees("kappa_weighted", estimate=_with_people("quadratic")),
        over("rating_over_people", estimate=_over_people),
        over("mention_effect_over_people", estimate=_mention_over_people),
    ]
    of_rater = ("position_effect", "consistency")
    return [replace(one, about="rater" if one.name in of_rater else "product") for one in found]


def _mention_effect(detector: str, column: str) -> Metric:
    """Return the metric of how much higher answers are marked that name the attribute, according to the detector."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        return group_difference(rows["rating"], rows[column], rows["person"], rows["prompt"])

    holds = tuple(dict.fromkeys(("rating", "names", column)))
    return Metric(
        "mention_effect", "rating", estimate=estimate, holds=holds, by=WHOLE, under=(("detector", detector),)
    )


def _meets_people(line: Line) -> bool:
    return len(line.frame.drop_nulls(["rating", "human", "names"])) > 0


def _with_people(figure: Literal["spearman", "quadratic"]) -> Callable[[pl.DataFrame], Estimate]:
    """Estimate rank correlation, or quadratic kappa, of a rater's marks and people's."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        marks = rows.select(pl.col("rating", "human").cast(pl.Float64)).to_numpy()
        table = marks if figure == "spearman" else as_codes(marks)
        people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
        return pair_agreement(table, people, prompts, figure).interval(0)

    return estimate


def _mention_over_people(rows: pl.DataFrame) -> Estimate:
    """Estimate how much larger the effect of mention is for a rater than for people."""
    return group_difference_gap(rows["rating"], rows["human"], rows["names"], rows["person"], rows["prompt"])


def _over_people(rows: pl.DataFrame) -> Estimate:
    """Estimate how much higher a rater marks than people do."""
    return cluster_mean(rows["rating"] - rows["human"], rows["person"], rows["prompt"])


def human_ceiling(scores: PreferenceScores) -> Iterator[tuple[str, Estimate]]:
    """Estimate the agreement of single raters: rank correlation and quadratic kappa, the mean over pairs of raters."""
    votes = scores.panel.pivot("rater", index=UNIT, values="value", aggregate_function="mean")
    raters = [name for name in votes.columns if name not in UNIT]
    if len(raters) < 2:
        note = "undefined: it takes two raters whose single marks are known"
        yield "human_spearman", Estimate(None, None, None, 0, 0, note)
        return
    rows = _joined(scores.units, votes)
    marks = rows.select(pl.col(raters).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
    ranks = pair_agreement(marks, people, prompts, "spearman")
    yield "human_spearman", ranks.mean(range(len(ranks.pairs)))
    kappas = pair_agreement(as_codes(marks), people, prompts, "quadratic")
    yield "human_kappa_weighted", kappas.mean(range(len(kappas.pairs)))


def as_codes(marks: Floats) -> Ints:
    """Return marks as whole numbers from 0, rounded half to even as Python does, and -1 for missing ones."""
    codes = np.where(np.isfinite(marks), np.rint(np.where(np.isfinite(marks), marks, LOWEST)) - LOWEST, -1)
    return codes.astype(np.int64)
