"""A preference run read back: a row per item, attribute and rater with the mark it gave and what people gave, and the figures.

Marks of both orders and all samples are averaged, so that the pull of a place cancels. Differences of scores are put on the scale
by rank, over all units of the run at once. `rating` is the mean mark (1 generic, 5 personalized); `no_better` the share of units
marked 3 or lower, `no_better_items` the share of answers whose mean mark over their attributes is. `mention_effect` is the mean mark
of answers that name the attribute minus that of the others; `position_effect` is how far a rater is pulled to the answer shown
first, in points of the scale.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import orjson
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import select

from personafit.benchmarks.recentering.responses import HUMAN, SIMULATED
from personafit.items.preference import GENERIC, HIGHEST, LOWEST, MENTION, MIDDLE, PERSONAL, PREFERENCE
from personafit.kinds.lines import Feature, Line, Metric, Reference, RunLines, control_of
from personafit.raters.rules import names_attribute
from personafit.statistics import Estimate, length_controlled_rate
from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_intervals import pair_agreement
from personafit.statistics.clusters import clustered
from personafit.statistics.preferences import group_difference, group_difference_gap, scale_by_rank
from personafit.store import Item, RunRecord, Status, Store, run_answers
from personafit.store import tables as t

VOTES = "votes in the data"
SHOWN = "attributes"
"""What raters are shown of the person."""
CONTROLS = {"rule:length": "longer answer", "rule:mention": "mention"}
BY_RANK = "its differences of scores are put on the scale by rank: none is 3, the largest either way 1 or 5"
PANEL = {"item": pl.String, "target": pl.String, "rater": pl.String, "voter": pl.String, "value": pl.Float64}
SCALE = (float(LOWEST), float(HIGHEST))
RULE = "rule"
WHOLE: tuple[tuple[str, ...], ...] = ((),)
PeopleFigure = Literal["spearman", "quadratic"]
WITH_PEOPLE: dict[str, PeopleFigure] = {"spearman": "spearman", "kappa_weighted": "quadratic"}
NO_PEOPLE = "undefined: nobody's ratings come with these answers"


@dataclass(frozen=True)
class PreferenceScores:
    """A run with all of its lines."""

    run: RunRecord
    info: dict[str, Any]
    units: pl.DataFrame
    """Every unit: item, target, person, prompt, group, generator, given, attribute, longer, names, human; `longer` and `names` are
    null where an answer was not made."""
    lines: list[Line]
    """One per rater, over the answers of all systems; frames have every unit with rating and what follows from it."""
    answers: pl.DataFrame
    panel: pl.DataFrame
    """Single votes of people, or of simulated ones where there are no others."""
    people_are: str | None = None
    """Whose marks `human` holds: human, simulated, or the name of the gold, such as author; None without any."""
    detectors: dict[str, str] = field(default_factory=dict)
    """Models that said which attributes are named: column of the units to the rater's name."""

    @property
    def made(self) -> pl.DataFrame:
        """The units whose answer was made."""
        return self.units.filter(pl.col("names").is_not_null())


def load_preferences(store: Store, run: RunRecord) -> PreferenceScores:
    """Read a preference run back."""
    info = store.dataset_info(run.dataset)
    units, answers = unit_rows(store, run), run_answers(store, run.id)
    gold, votes = said_before(store, run.dataset)
    people_are, panel, human = _people(gold, votes, info["gold"])
    units = units.join(human, on=["item", "target"], how="left", maintain_order="left")
    detectors: dict[str, str] = {}
    for rater in run.config["raters"]:
        if rater["question"] == MENTION:
            column = f"names_{len(detectors)}"
            detectors[column] = rater["name"]
            units = units.join(
                _named(answers, rater, column), on=["item", "target"], how="left", maintain_order="left"
            )
    samples = int(run.config["samples"])
    lines = [
        _line(units, answers, rater, samples)
        for rater in run.config["raters"]
        if rater["question"] == PREFERENCE
    ]
    lines += _voting_models(units, votes)
    return PreferenceScores(run, info, units, lines, answers, panel, people_are, detectors)


def _people(
    gold: pl.DataFrame, votes: pl.DataFrame, gold_name: str
) -> tuple[str | None, pl.DataFrame, pl.DataFrame]:
    """Whose marks count as people's, their single votes, and the mean of each unit."""
    mean = pl.col("value").mean().alias("human")
    for voter in (HUMAN, SIMULATED):
        panel = votes.filter(pl.col("voter") == voter)
        if not panel.is_empty():
            return voter, panel, panel.group_by("item", "target", maintain_order=True).agg(mean)
    own = gold.filter(pl.col("rater") == gold_name)
    own = gold if own.is_empty() else own
    name = None if own.is_empty() else str(own["rater"][0])
    return name, votes.clear(), own.group_by("item", "target", maintain_order=True).agg(mean)


def _named(answers: pl.DataFrame, rater: dict[str, Any], column: str) -> pl.DataFrame:
    mine = answers.filter(
        (pl.col("rater") == rater["fingerprint"])
        & (pl.col("status") == Status.OK.value)
        & (pl.col("target") != "")
    )
    return mine.group_by("item", "target", maintain_order=True).agg(
        (pl.col("value").mean() >= 0.5).alias(column)
    )


def _line(units: pl.DataFrame, answers: pl.DataFrame, rater: dict[str, Any], samples: int) -> Line:
    mine = answers.filter((pl.col("rater") == rater["fingerprint"]) & (pl.col("target") != ""))
    ok = mine.filter((pl.col("status") == Status.OK.value) & pl.col("value").is_not_null())
    by_order = ok.group_by("item", "target", "order", maintain_order=True).agg(
        pl.col("value").mean(), pl.len().alias("answered"), pl.col("label").is_null().any().alias("scored")
    )
    per_unit = by_order.group_by("item", "target", maintain_order=True).agg(
        pl.col("value").mean().alias("rating"),
        pl.col("value").filter(pl.col("order") == "10").first().alias("first"),
        pl.col("value").filter(pl.col("order") == "01").first().alias("last"),
        pl.col("answered").sum().cast(pl.Int64),
        pl.col("scored").any(),
    )
    frame = units.join(per_unit, on=["item", "target"], how="left", maintain_order="left").with_columns(
        pl.col("answered").fill_null(0), pl.lit(rater["orders"] * samples).alias("asked")
    )
    notes: tuple[str, ...] = ()
    if bool(frame["scored"].any()):
        # A unit with a mark, as that of an answer that was not made, is on the scale already.
        differences = frame.select(pl.when("scored").then("rating").cast(pl.Float64).fill_null(np.nan))
        marks = pl.Series(scale_by_rank(differences.to_series().to_numpy())).fill_nan(None)
        frame = frame.with_columns(pl.when("scored").then(marks).otherwise("rating").alias("rating"))
        notes = (BY_RANK,)
    frame = rated_units(frame.drop("scored"))
    if rater["orders"] == 2:  # the pull to the answer shown first, and whether both orders say the same
        both = pl.all_horizontal(pl.col("first", "last", "longer").is_not_null())
        same = (pl.col("first") - MIDDLE).sign() == (pl.col("last") - MIDDLE).sign()
        frame = frame.with_columns(
            pl.when(both).then((pl.col("first") - pl.col("last")) / 2).alias("pull"),
            pl.when(both).then(same.cast(pl.Float64)).alias("same"),
        )
    control = control_of(rater["name"], None, CONTROLS, {})
    return Line.of(rater, SHOWN, frame, control, notes)


def rated_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Units with a rating as a line has them: whose answers they are, and what follows from the rating.

    What is said of an answer and not of its attributes stands in its first row.
    """
    mark, longer = pl.col("rating").cast(pl.Float64), pl.col("longer").cast(pl.Float64)
    win = pl.when(mark > MIDDLE).then(1.0).when(mark < MIDDLE).then(0.0).when(mark == MIDDLE).then(0.5)
    no_better = (mark.mean().over("item") <= MIDDLE).cast(pl.Float64)
    return frame.with_columns(
        rating=mark,
        unit=pl.concat_str("item", "target", separator="|"),
        system=pl.col("generator").fill_null(""),
        given=pl.col("given").fill_null(""),
        no_better=(mark <= MIDDLE).cast(pl.Float64),
        no_better_items=once_an_item(no_better),
        win=win,
        length_difference=longer.fill_null(float("nan")),
    )


def once_an_item(value: pl.Expr) -> pl.Expr:
    """A value in the first row of each item, and null in the others."""
    return pl.when(pl.col("item").is_first_distinct()).then(value)


def _voting_models(units: pl.DataFrame, votes: pl.DataFrame) -> list[Line]:
    """Models whose votes came with the data: nobody was asked here."""
    lines = []
    machines = votes.filter(~pl.col("voter").is_in([HUMAN, SIMULATED]))
    for name in machines["rater"].unique(maintain_order=True).sort():
        mine = machines.filter(pl.col("rater") == name)
        said = mine.select("item", "target", pl.col("value").alias("rating"))
        frame = units.join(said, on=["item", "target"], how="left", maintain_order="left").with_columns(
            pl.col("rating").is_not_null().cast(pl.Int64).alias("answered"),
            pl.lit(1).alias("asked"),
        )
        note = "votes that came with the data; nobody was asked here"
        lines.append(Line(name, name, SHOWN, None, None, rated_units(frame), VOTES, False, (note,)))
    return lines


# -- what was said ----------------------------------------------------------------------------------------------------------


def unit_rows(store: Store, run: RunRecord) -> pl.DataFrame:
    """One row per item and attribute: whose it is, who wrote the answer, its lengths, and whether it names the attribute.

    An answer that was not made has neither length nor names: both are null.
    """
    selected = None if run.config["selected"] is None else set(run.config["selected"])
    items = [item for item in store.items(run.dataset) if selected is None or item.id in selected]
    rows: list[dict[str, Any]] = []
    for start in range(0, len(items), 200):
        page = items[start : start + 200]
        texts = store.texts({product for item in page for product in item.products})
        for item in page:
            rows += _units(item, texts)
    schema: dict[str, Any] = {
        **dict.fromkeys(
            ("item", "target", "person", "prompt", "group", "generator", "given", "attribute"), pl.String
        ),
        "longer": pl.Int64,
        "names": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema)


def _units(item: Item, texts: dict[str, str]) -> list[dict[str, Any]]:
    generic, personal = texts[item.products[GENERIC]], texts[item.products[PERSONAL]]
    return [
        {
            "item": item.id,
            "target": target,
            "person": item.person,
            "prompt": item.prompt,
            "group": item.group,
            "generator": item.slices.get("generator"),
            "given": item.slices.get("given"),
            "attribute": texts[target],
            "longer": len(personal) - len(generic) if personal else None,
            "names": names_attribute(texts[target], item.prompt, generic, personal) if personal else None,
        }
        for target in dict.fromkeys(item.products[PERSONAL + 1 :])
    ]


def said_before(store: Store, dataset: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The gold that came with the data, and the single votes: item, target, rater, voter (null for gold) and value."""
    judgment = t.judgments
    frame = store.frame(
        select(
            judgment.c.item,
            judgment.c.target,
            judgment.c.rater,
            judgment.c.label,
            judgment.c.value,
            judgment.c.extra,
        ).where(
            judgment.c.ask.like(f"{dataset}#%"),
            judgment.c.question == PREFERENCE,
            judgment.c.status == Status.OK.value,
        )
    )
    rows = []
    for item, target, rater, label, value, extra in frame.iter_rows():
        number = value if value is not None else float(label) if label else None
        if number is not None:
            voter = (orjson.loads(extra) if extra else {}).get("voter")
            rows.append((item, target, rater, voter, float(number)))
    every = pl.DataFrame(rows, schema=PANEL, orient="row")
    return every.filter(pl.col("voter").is_null()), every.filter(pl.col("voter").is_not_null())


# -- figures ----------------------------------------------------------------------------------------------------------------


def opened_preferences(scores: PreferenceScores) -> RunLines:
    """The lines of a preference run with their metrics, and what people said of the same units."""
    people = Reference(
        "preference", "rating", "rating", "human", scores.people_are, SCALE, orders=("first", "last")
    )
    features = [
        Feature("length", "longer answers", lambda frame: frame["longer"] > frame["longer"].median()),
        Feature("mention", "answers that name the attribute", lambda frame: frame["names"]),
    ]
    return RunLines(
        scores.run,
        scores.info,
        PREFERENCE,
        scores.lines,
        preference_metrics(detectors(scores)),
        by_system(scores.units),
        references=[people],
        features=features,
        made_alike=("group", "target"),
    )


def by_system(units: pl.DataFrame) -> list[tuple[str, ...]]:
    """The slice by system and what it was given, where there are several."""
    return [("system", "given")] if units.select("generator", "given").n_unique() > 1 else []


def detectors(scores: PreferenceScores) -> dict[str, str]:
    """Who says whether an attribute is named: detector to column of the units."""
    return {RULE: "names", **{name: column for column, name in scores.detectors.items()}}


def preference_metrics(named_by: dict[str, str]) -> list[Metric]:
    """The figures of a rater's marks; the effect of mention once for each detector, which comes with its column."""
    lengths, people = ("win", "length_difference"), ("rating", "human", "names")
    found = [
        Metric("rating", bounds=SCALE, compared=True, even=float(MIDDLE)),
        Metric("no_better", better="lower"),
        Metric("no_better_items", better="lower"),
        Metric("win_rate", "win", even=0.5),
        Metric("win_rate_length_controlled", "win", estimate=_at_equal_length, holds=lengths),
        Metric("position_effect", "pull", None, better=None, even=0.0),
        Metric("consistency", "same"),
        *(_mention_effect(detector, column) for detector, column in named_by.items()),
        *(
            Metric(
                name, "human", estimate=with_people(figure), holds=people, by=WHOLE, empty=NO_PEOPLE, how=""
            )
            for name, figure in WITH_PEOPLE.items()
        ),
        *(
            Metric(name, "human", estimate=gap, holds=people, by=WHOLE, only=_meets_people)
            for name, gap in (
                ("rating_over_people", over_people),
                ("mention_effect_over_people", mention_gap),
            )
        ),
    ]
    of_rater = ("position_effect", "consistency")
    return [replace(one, about="rater" if one.name in of_rater else "product") for one in found]


def _at_equal_length(rows: pl.DataFrame) -> Estimate:
    return length_controlled_rate(rows["win"], rows["length_difference"], rows["person"], rows["prompt"])


def _mention_effect(detector: str, column: str) -> Metric:
    """How much higher answers are marked that name the attribute, as the detector says."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        return group_difference(rows["rating"], rows[column], rows["person"], rows["prompt"])

    holds = tuple(dict.fromkeys(("rating", "names", column)))
    return Metric(
        "mention_effect", "rating", estimate=estimate, holds=holds, by=WHOLE, under=(("detector", detector),)
    )


def _meets_people(line: Line) -> bool:
    return len(line.frame.drop_nulls(["rating", "human", "names"])) > 0


def with_people(figure: PeopleFigure) -> Callable[[pl.DataFrame], Estimate]:
    """Rank correlation, or quadratic kappa, of a rater's marks and people's."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        marks = rows.select(pl.col("rating", "human").cast(pl.Float64)).to_numpy()
        table = marks if figure == "spearman" else as_codes(marks)
        people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
        return pair_agreement(table, people, prompts, figure).interval(0)

    return estimate


def mention_gap(rows: pl.DataFrame) -> Estimate:
    """How much larger the effect of mention is for a rater than for people."""
    return group_difference_gap(rows["rating"], rows["human"], rows["names"], rows["person"], rows["prompt"])


def over_people(rows: pl.DataFrame) -> Estimate:
    """How much higher a rater marks than people do."""
    return clustered(rows["rating"] - rows["human"], rows["person"], rows["prompt"])


def human_ceiling(scores: PreferenceScores) -> Iterator[tuple[str, Estimate]]:
    """How far single raters agree: mean over pairs, and each against the mean of the others, which is how judges are scored."""
    table, people, prompts = panel_table(scores)
    if table.shape[1] < 2:
        note = "undefined: it takes two raters whose single marks are known"
        yield "human_spearman", Estimate(None, None, None, 0, 0, note)
        return
    ranks = pair_agreement(table, people, prompts, "spearman")
    yield "human_spearman", ranks.mean(range(len(ranks.pairs)))
    kappas = pair_agreement(as_codes(table), people, prompts, "quadratic")
    yield "human_kappa_weighted", kappas.mean(range(len(kappas.pairs)))
    yield "human_spearman_rest", _against_rest(table, people, prompts)


def panel_table(scores: PreferenceScores) -> tuple[Floats, NDArray[Any], NDArray[Any]]:
    """Units × raters of the panel, nan where a rater gave no mark, and the person and prompt of each row."""
    raters = scores.panel["rater"].unique(maintain_order=True).sort().to_list()
    table = scores.units.select("item", "target", "person", "prompt")
    for place, rater in enumerate(raters):
        mine = scores.panel.filter(pl.col("rater") == rater).select(
            "item", "target", pl.col("value").alias(f"r{place}")
        )
        table = table.join(mine, on=["item", "target"], how="left", maintain_order="left")
    values = table.select(
        pl.col(f"r{place}").cast(pl.Float64).fill_null(np.nan) for place in range(len(raters))
    ).to_numpy()
    marks = values.reshape(len(table), len(raters))
    return marks, table["person"].to_numpy(), table["prompt"].to_numpy()


def as_codes(marks: Floats) -> Ints:
    """Marks as whole numbers from 0; halves go to the even side as Python rounds, nothing to -1."""
    codes = np.where(np.isfinite(marks), np.rint(np.where(np.isfinite(marks), marks, LOWEST)) - LOWEST, -1)
    return codes.astype(np.int64)


def _against_rest(table: Floats, people: NDArray[Any], prompts: NDArray[Any]) -> Estimate:
    """The mean over raters of the correlation of each with the mean of the others."""
    raters = table.shape[1]
    columns = []
    for rater in range(raters):
        others = np.delete(table, rater, axis=1)
        known = np.isfinite(others).any(1)
        rest = np.full(len(table), np.nan)
        rest[known] = np.nanmean(others[known], axis=1)
        columns += [table[:, rater], rest]
    ranks = pair_agreement(np.column_stack(columns), people, prompts, "spearman")
    places = {pair: place for place, pair in enumerate(combinations(range(2 * raters), 2))}
    return ranks.mean([places[2 * rater, 2 * rater + 1] for rater in range(raters)])
