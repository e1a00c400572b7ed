"""From judged and counted dialogues to flat records: per assistant, context and judge, by kind of task, domain and turn.

Means are per dialogue, clustered by person (and by task where tasks recur); `*_by_person` gives every person the same
weight. Coverage counts against the dialogues that were planned: one that never ended is missing, not left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from personafit.reporting.dialogues.loading import (
    COUNTED,
    SHARES,
    WHOLE,
    DialogueRun,
    is_canned,
    judge_samples,
)
from personafit.reporting.results import Result
from personafit.statistics import Estimate, mean_by_item, prompts_recur

METRICS = {
    "completion": "completion",
    "personalization": "personalization",
    "naturalness.assistant": "naturalness",
    "naturalness.user": "naturalness_user",
    "coherence.assistant": "coherence",
    "coherence.user": "coherence_user",
}
"""Question to metric; without a side the assistant's is meant."""
BOUNDS = {"completion": (0.0, 1.0), "personalization": (1.0, 4.0)}
MARK = (1.0, 5.0)
LAST_TURN = 10
HEADLINES = ("completion", "personalization")


def mean_of(part: pl.DataFrame, column: str, metric: str) -> Estimate:
    """The clustered mean of a metric; intervals of counts do not fall below 0."""
    bounds = bounds_of(metric)
    estimate = mean_by_item(part, column, bounds)
    if estimate.low is None or bounds is not None or metric.endswith("_effect"):
        return estimate
    return replace(estimate, low=max(0.0, estimate.low))


def bounds_of(metric: str) -> tuple[float, float] | None:
    """The limits of a metric's scale, and of differences on it; None for counts."""
    if metric.endswith("_effect"):
        scale = bounds_of(metric.removesuffix("_effect"))
        return None if scale is None else (scale[0] - scale[1], scale[1] - scale[0])
    if metric in SHARES:
        return (0.0, 1.0)
    if metric in COUNTED:
        return None
    return BOUNDS.get(metric, MARK)


@dataclass
class Group:
    """The dialogues of one assistant told one thing."""

    run: DialogueRun
    system: dict[str, str]
    given: str

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Its dialogues."""
        return self.run.units.filter(self._here)

    @property
    def _here(self) -> pl.Expr:
        return (pl.col("system") == self.system["fingerprint"]) & (pl.col("given") == self.given)

    def planned(self, where: dict[str, str]) -> int:
        """How many dialogues there were to be, in a slice."""
        rows = self.run.planned.filter(self._here)
        for name, value in where.items():
            if name in rows.columns:
                rows = rows.filter(pl.col(name) == value)
        return int(rows["planned"].sum())

    def slices(self) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
        """All dialogues, those of one and of several domains, and each domain by itself."""
        frame = self.frame
        yield {}, frame
        for kind in ("SD", "MD"):
            if kind in set(self.run.planned["tasks"]):
                yield {"tasks": kind}, frame.filter(pl.col("tasks") == kind)
        single = frame.filter(pl.col("tasks") == "SD")
        for domain in single["domain"].unique(maintain_order=True):
            yield {"tasks": "SD", "domain": domain}, single.filter(pl.col("domain") == domain)

    def marked(self, rater: str, view: str, question: str) -> pl.DataFrame:
        """Its dialogues with a judge's marks for a question; null where there is none."""
        keep = (pl.col("rater") == rater) & (pl.col("view") == view) & (pl.col("question") == question)
        marks = self.run.marks.filter(keep).select("item", "value", "answered", "asked", "unparsed")
        return self.frame.join(marks, on="item", how="left", maintain_order="left")

    def result(self, metric: str, estimate: Estimate, **more: Any) -> Result:
        """A record of this group."""
        return Result.of(
            estimate,
            metric=metric,
            system=self.system["name"],
            given=self.given,
            control=self.control,
            **more,
        )

    @property
    def control(self) -> str | None:
        """What kind of control it is, if it is one."""
        if is_canned(self.system["name"]):
            return "canned assistant"
        if self.given.startswith("wrong:"):
            return "wrong person"
        return "no context" if self.given == "none" and len(self.run.givens) > 1 else None


def groups(run: DialogueRun) -> list[Group]:
    """Every assistant under every context."""
    return [Group(run, system, given) for system in run.systems for given in run.givens]


def dialogue_results(run: DialogueRun) -> list[Result]:
    """Every number of a run but differences between groups."""
    found: list[Result] = []
    for group in groups(run):
        for rater in run.raters:
            found += _judged(group, rater)
            found += _by_turn(group, rater)
        found += _counted(group)
        found += _stops(group)
    return found


def views_of(run: DialogueRun, question: str) -> list[str]:
    """The views a question was asked under: those that show the person, all; the others, once."""
    return run.views if question == "personalization" else run.views[:1]


def _judged(group: Group, rater: dict[str, Any]) -> Iterator[Result]:
    run = group.run
    for question in WHOLE:
        metric = METRICS[question]
        for view in views_of(run, question):
            marked = group.marked(rater["fingerprint"], view, question)
            samples = judge_samples(run.run, rater)
            for where, part in group.slices():
                part = marked.filter(pl.col("item").is_in(part["item"].to_list()))
                asked = group.planned(where) * samples
                shared = {
                    "rater": rater["name"],
                    "view": view,
                    "slice": where,
                    "coverage": int(part["answered"].sum()) / asked if asked else None,
                    "fingerprint": rater["fingerprint"],
                }
                estimate = mean_of(part, "value", metric)
                yield group.result(metric, estimate, note=_note(estimate, part), **shared)
                if "domain" not in where:
                    yield group.result(f"{metric}_by_person", by_person(part, "value", metric), **shared)
                    unparsed = int(part["unparsed"].sum())
                    share = Estimate(
                        unparsed / asked if asked else None, None, None, asked, part["person"].n_unique()
                    )
                    yield group.result(f"{metric}_unparsed", share, **shared)


def by_person(part: pl.DataFrame, column: str, metric: str) -> Estimate:
    """The mean of people's means: everybody counts the same, however many tasks they have."""
    means = (
        part.filter(pl.col(column).is_not_null())
        .group_by("person", maintain_order=True)
        .agg(pl.col(column).mean())
    )
    if means.is_empty():
        return Estimate(None, None, None, 0, 0, "no dialogue has an answer")
    one_each = means.with_columns(pl.col("person").alias("prompt"))  # nothing recurs here
    return mean_of(one_each, column, metric)


def _by_turn(group: Group, rater: dict[str, Any]) -> Iterator[Result]:
    """Personalization exchange by exchange, as far as enough dialogues go."""
    for view in group.run.views:
        marks = group.run.turn_marks.filter(
            (pl.col("rater") == rater["fingerprint"]) & (pl.col("view") == view)
        )
        joined = group.frame.join(marks, on="item", how="inner", maintain_order="left")
        for exchange in range(1, LAST_TURN + 1):
            part = joined.filter(pl.col("exchange") == exchange)
            if part.is_empty():
                break
            estimate = mean_of(part, "value", "personalization")
            yield group.result(
                "personalization",
                estimate,
                rater=rater["name"],
                view=view,
                slice={"turn": str(exchange)},
                fingerprint=rater["fingerprint"],
                note="marks of single turns; longer dialogues are other dialogues",
            )


def _counted(group: Group) -> Iterator[Result]:
    for where, part in group.slices():
        planned = group.planned(where)
        for metric in COUNTED:
            if part[metric].is_null().all():
                continue
            estimate = mean_of(part, metric, metric)
            yield group.result(
                metric,
                estimate,
                slice=where,
                coverage=int(part["whole"].sum()) / planned if planned else None,
                note="counted, not judged",
            )
    yield from _domains_of_several(group)


def _domains_of_several(group: Group) -> Iterator[Result]:
    """In tasks of several domains, how much of each domain's preferences was brought in."""
    rows = []
    for unit in group.frame.filter(pl.col("whole"), pl.col("tasks") == "MD").iter_rows(named=True):
        counted = group.run.counted[unit["item"]]
        for domain in counted.dialogue.task.domains:
            share = counted.coverage(domain=domain)
            if share is not None:
                rows.append(
                    {"person": unit["person"], "prompt": unit["prompt"], "domain": domain, "share": share}
                )
    frame = pl.DataFrame(
        rows, schema={"person": pl.String, "prompt": pl.String, "domain": pl.String, "share": pl.Float64}
    )
    for domain in sorted(set(frame["domain"])):
        estimate = mean_of(frame.filter(pl.col("domain") == domain), "share", "coverage")
        yield group.result(
            "coverage", estimate, slice={"tasks": "MD", "domain": domain}, note="counted, not judged"
        )


def _stops(group: Group) -> Iterator[Result]:
    """How dialogues ended, as shares of those planned."""
    frame, planned = group.frame, group.planned({})
    counts = dict(frame["stop"].value_counts().iter_rows())
    for stop, count in sorted(counts.items()):
        share = Estimate(
            count / planned if planned else None, None, None, planned, frame["person"].n_unique()
        )
        yield group.result(
            "stopped", share, slice={"stop": stop}, note=f"{count} of {planned} planned dialogues"
        )


def _note(estimate: Estimate, part: pl.DataFrame) -> str | None:
    if estimate.low is not None and prompts_recur(part["person"], part["prompt"]):
        return "; ".join(filter(None, [estimate.note, "interval clustered by person and task"]))
    return estimate.note


def worst_coverage(run: DialogueRun) -> tuple[str, float] | None:
    """The assistant, context and judge with the least coverage."""
    found = []
    for group in groups(run):
        for rater in run.raters:
            asked = group.planned({}) * judge_samples(run.run, rater)
            for question in WHOLE:
                answered = int(group.marked(rater["fingerprint"], run.views[0], question)["answered"].sum())
                if asked:
                    name = (
                        f"{group.system['name']} given {group.given}, judged by {rater['name']} ({question})"
                    )
                    found.append((name, answered / asked))
    return min(found, key=lambda one: one[1], default=None)
