"""What a context does: differences between contexts, paired by task, and the curve over worse and worse histories."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from personafit.reporting.dialogues.loading import WHOLE, DialogueRun
from personafit.reporting.dialogues.results import METRICS, Group, groups, mean_of, views_of
from personafit.reporting.results import Result

COUNTED_EFFECTS = ("coverage_before", "coverage", "contradictions", "reasking", "invented_memories")
_WORSE = re.compile(r"I~(?P<kind>[a-z]+):(?P<amount>[\d.]+)")


def context_effects(run: DialogueRun) -> list[Result]:
    """Each context against none, a wrong person's against the right one, a worse history against the full one."""
    found: list[Result] = []
    here = groups(run)
    for group in here:
        for base in _bases(group.given):
            other = next((g for g in here if g.system == group.system and g.given == base), None)
            if other is not None:
                found += _effects(group, other)
    return found


def _bases(given: str) -> list[str]:
    """What a context is compared with."""
    bases = [] if given == "none" else ["none"]
    if not given.startswith("wrong:") and given != "none":
        bases.append(f"wrong:{given}")
    plain = _WORSE.sub("I", given)
    return [*bases, plain] if plain != given else bases


def _effects(group: Group, other: Group) -> Iterator[Result]:
    run = group.run
    for rater in run.raters:
        for question in WHOLE:
            for view in views_of(run, question):
                first = group.marked(rater["fingerprint"], view, question)
                second = other.marked(rater["fingerprint"], view, question)
                who = {"rater": rater["name"], "view": view, "fingerprint": rater["fingerprint"]}
                yield from _differences(group, other, METRICS[question], first, second, "value", who)
    for metric in COUNTED_EFFECTS:
        yield from _differences(group, other, metric, group.frame, other.frame, metric, {})


def _differences(
    group: Group,
    other: Group,
    metric: str,
    first: pl.DataFrame,
    second: pl.DataFrame,
    column: str,
    who: dict[str, str],
) -> Iterator[Result]:
    key = ["person", "prompt", "sample"]
    theirs = second.select(*key, pl.col(column).alias("other"))
    both = first.join(theirs, on=key, how="inner", maintain_order="left")
    both = both.with_columns((pl.col(column) - pl.col("other")).alias("difference"))
    for where in ({}, {"tasks": "SD"}, {"tasks": "MD"}):
        part = both.filter(pl.col("tasks") == where["tasks"]) if where else both
        if part.is_empty():
            continue
        yield group.result(
            f"{metric}_effect",
            mean_of(part, "difference", f"{metric}_effect"),
            slice={"against": other.given, **where},
            note=f"{group.given} minus {other.given}, paired by task",
            **who,
        )


@dataclass(frozen=True)
class CurvePoint:
    """One point of the curve over worse histories."""

    system: str
    rater: str
    kind: str
    amount: float
    completion: Result | None
    personalization: Result | None
    coverage: Result | None


def history_curve(results: list[Result]) -> list[CurvePoint]:
    """How scores fall as the history gets worse; empty where no such contexts were run."""
    found: list[CurvePoint] = []
    totals = [result for result in results if not result.slice]
    kinds = dict.fromkeys(m["kind"] for result in totals if (m := _WORSE.fullmatch(result.given or "")))
    for system in dict.fromkeys(result.system for result in totals):
        for rater in dict.fromkeys(r.rater for r in totals if r.system == system and r.rater):
            for kind in kinds:
                here = [r for r in totals if r.system == system and r.rater in (rater, None)]
                for given in dict.fromkeys(r.given for r in here):
                    match = _WORSE.fullmatch(given or "")
                    if given == "I" or (match and match["kind"] == kind):
                        by_metric = {r.metric: r for r in reversed(here) if r.given == given}
                        found.append(
                            CurvePoint(
                                str(system),
                                str(rater),
                                kind,
                                float(match["amount"]) if match else 0.0,
                                by_metric.get("completion"),
                                by_metric.get("personalization"),
                                by_metric.get("coverage_before"),
                            )
                        )
    return sorted(found, key=lambda one: (one.system, one.rater, one.kind, one.amount))
