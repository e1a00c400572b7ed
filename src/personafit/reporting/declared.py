"""What analyses have to know of a kind of run beyond its lines: what sums it up, what people can say of it, what may pull at raters.

Nothing else in the analyses asks of which kind a run is. A kind that is not named here is summed up by its first metric, which says how
good raters are. The rooms of the kinds are loaded when a run of theirs is.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from personafit.kinds.lines import Feature, Line, Metric, Reference, RunLines
from personafit.reporting.scores import RunScores, load_scores, opened_choices
from personafit.store import RunRecord, Store, item_rows

PRODUCT: dict[str, Any] = {"about": "product"}
NEITHER: dict[str, Any] = {"better": None}
LOWER: dict[str, Any] = {"better": "lower"}


def declared(store: Store, opened: RunLines) -> RunLines:
    """The lines of a run with what its kind declares."""
    declare = DECLARATIONS.get(opened.kind)
    return opened if declare is None else declare(store, opened)


def _with(opened: RunLines, common: Mapping[str, Any], **named: Mapping[str, Any]) -> RunLines:
    """The run with its metrics described: all alike, and some by name."""
    metrics = [replace(one, **{**common, **named.get(one.name, {})}) for one in opened.metrics]
    return replace(opened, metrics=metrics)


# -- choices -----------------------------------------------------------------------------------------------------------


def choice_lines_of(scores: RunScores) -> RunLines:
    """A run of choices that is open already, as lines."""
    return _choices(opened_choices(scores))


def _choices(opened: RunLines) -> RunLines:
    if opened.info["metric"] != "win_rate":
        return opened
    won = {**PRODUCT, "even": 0.5}
    return _with(opened, {}, win_rate=won, win_rate_debiased=won, win_rate_length_controlled=won)


def choices_of(store: Store, run: RunRecord) -> RunScores | None:
    """The scores of a run whose items are choices; of attacked ones those as they were, each of the person it was written for.

    None for runs of other kinds.
    """
    kind = run.config.get("kind", "choice")
    if kind == "choice":
        return load_scores(store, run)
    if kind != "injection":
        return None
    from personafit.reporting.injection.scores import clean_scores

    return clean_scores(load_scores(store, run))


def choice_items(store: Store, run: RunRecord) -> pl.DataFrame | None:
    """The items of such a run without their scores; None for runs of other kinds."""
    kind = run.config.get("kind", "choice")
    if kind not in ("choice", "injection"):
        return None
    items = item_rows(store, run.dataset)
    if run.config["selected"] is not None:
        items = items.filter(pl.col("item").is_in(run.config["selected"]))
    if kind == "choice":
        return items
    from personafit.reporting.injection.scores import clean_items

    return clean_items(items)


# -- other kinds -------------------------------------------------------------------------------------------------------


def _injection(_store: Store, opened: RunLines) -> RunLines:
    none = {"even": 0.0}
    return _with(opened, LOWER, unmoved={"better": "higher"}, moved_beyond_placebo=none, pull=none)


def _relevance(_store: Store, opened: RunLines) -> RunLines:
    people = Reference("relevance", "yes_rate", "yes", "relevant", opened.info["gold"], margin="score")
    features = [
        Feature("hedged", "hedged attributes", lambda frame: frame["hedged"] == "hedged"),
        Feature("list_length", "attributes on long lists", _on_long_lists),
    ]
    told = _with(opened, {}, yes_rate=NEITHER, over_selection=NEITHER)
    return replace(told, references=[people], features=features)


def _on_long_lists(frame: pl.DataFrame) -> pl.Series:
    """Whether the list is longer than those that most attributes are on."""
    size = frame.select(pl.len().over("list_name")).to_series()
    return size > size.median()


def _preference(store: Store, opened: RunLines) -> RunLines:
    from personafit.items.preference import MIDDLE
    from personafit.reporting.preference.reading import said_before
    from personafit.reporting.preference.results import SCALE
    from personafit.reporting.preference.scores import people_of

    who = people_of(*said_before(store, opened.run.dataset), opened.info["gold"])
    people = Reference("preference", "rating", "rating", "human", who, SCALE, orders=("first", "last"))
    features = [
        Feature("length", "longer answers", lambda frame: frame["longer"] > frame["longer"].median()),
        Feature("mention", "answers that name the attribute", lambda frame: frame["names"]),
    ]
    won = {**PRODUCT, "even": 0.5}
    told = _with(
        opened,
        PRODUCT,
        rating={"even": float(MIDDLE)},
        win_rate=won,
        no_better=LOWER,
        no_better_items=LOWER,
        position_effect={"about": "rater", "better": None, "even": 0.0},
        consistency={"about": "rater"},
    )
    return replace(told, references=[people], features=features, made_alike=("group", "target"))


def _writing(_store: Store, opened: RunLines) -> RunLines:
    return _with(opened, PRODUCT)


def _dialogue(store: Store, opened: RunLines) -> RunLines:
    from personafit.reporting.dialogues.agreement import human_votes
    from personafit.reporting.dialogues.results import BOUNDS, HEADLINES, MARK, METRICS

    items = {item for line in opened.lines for item in line.frame["item"] if item is not None}
    votes = human_votes(store, sorted(items))
    lines = [_with_votes(line, votes, METRICS) for line in opened.lines]
    references = [
        Reference(question, name, name, f"{name}.people", "human", BOUNDS.get(name, MARK))
        for question, name in METRICS.items()
    ]
    metrics = [replace(one, about="product", better=_good_end(one)) for one in opened.metrics]
    return replace(opened, lines=lines, metrics=metrics, references=references, summed=HEADLINES)


def _with_votes(line: Line, votes: pl.DataFrame, metrics: Mapping[str, str]) -> Line:
    """A judge's line with the median of what people said of each dialogue; `metrics` are those of the questions."""
    frame = line.frame
    for question, name in metrics.items():
        if name in frame.columns:
            people = votes.filter(question=question).select("item", pl.col("vote").alias(f"{name}.people"))
            frame = frame.join(people, on="item", how="left", maintain_order="left")
    return replace(line, frame=frame)


def _good_end(metric: Metric) -> Any:
    """Which end is the good one: of marks and of preferences brought in the high one, of faults the low one, of lengths neither."""
    name = metric.name
    neither = ("exchanges", "exchanges_to_completion", "majority_coverage", "coverage_after")
    if name in neither or "leakage" in name:
        return None
    faults = ("contradictions", "reasking", "invented_memories", "lost_after_switch", "carried_wrongly")
    return "lower" if name in faults or name.endswith("_unparsed") else "higher"


DECLARATIONS: dict[str, Callable[[Store, RunLines], RunLines]] = {
    "choice": lambda _store, opened: _choices(opened),
    "injection": _injection,
    "relevance": _relevance,
    "preference": _preference,
    "writing": _writing,
    "dialogue": _dialogue,
}
