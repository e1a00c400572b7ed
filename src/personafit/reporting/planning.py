"""Planning a run from a stored one: the smallest difference it can detect, and what a difference would take.

The stored run is the pilot. Each plan rests on the paired differences of two of its contestants, or of one and the best
control beside it, because what will be tested is a difference and pairing makes it vary far less than either score. Where
prompts recur across people, prompts limit what more people can show, and the plan says how many it takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from personafit._errors import UserError
from personafit.reporting.compare import Contestant, contestants, paired_items
from personafit.reporting.results import RunScores
from personafit.statistics import mean_by_item
from personafit.statistics.agreement import Figure
from personafit.statistics.power import (
    Spread,
    items_needed,
    people_needed,
    prompts_needed,
    smallest_difference,
    spread,
)
from personafit.store import MET

EVEN = "an even win rate"


@dataclass(frozen=True)
class Plan:
    """What two contestants' paired differences say about a run of so many people with so many items each.

    `prompts` is None where prompts do not recur across people.
    """

    first: str
    second: str
    n: int
    pilot_people: int
    observed: float
    spread: Spread
    people: int
    items: float
    prompts: int | None
    smallest: Figure
    difference: float | None
    people_needed: Figure | None
    prompts_needed: Figure | None
    items_needed: Figure | None
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The plan as a plain object."""
        wanted: dict[str, int | str | None] = {}
        for name, figure in (
            ("people_needed", self.people_needed),
            ("prompts_needed", self.prompts_needed),
            ("items_needed", self.items_needed),
        ):
            wanted[name] = None if figure is None or figure.value is None else int(figure.value)
            wanted[f"{name}_note"] = None if figure is None else figure.note
        correlation, effect = self.spread.correlation(), self.spread.design_effect(self.items)
        return {
            "first": self.first,
            "second": self.second,
            "pilot": {
                "n": self.n,
                "people": self.pilot_people,
                "difference": self.observed,
                "variance_between": self.spread.between,
                "variance_prompts": self.spread.prompt,
                "variance_within": self.spread.within,
                "correlation": correlation.value,
            },
            "people": self.people,
            "items": self.items,
            "prompts": self.prompts,
            "design_effect": effect.value,
            "smallest_difference": self.smallest.value,
            "difference": self.difference,
            **wanted,
            "note": "; ".join(filter(None, [self.smallest.note, *self.notes])) or None,
        }

    def sentence(self) -> str:
        """The plan in words."""
        pair = f"{self.first} against {self.second}"
        if self.smallest.value is None:
            return f"{pair}: nothing can be planned ({self.smallest.note})."
        each = f"with {_counted(self.items, 'item')} each"
        if self.prompts is not None:
            each += f" on {_counted(self.prompts, 'prompt')}"
        said = f"{pair}: {self.people:,} people {each}"
        if self.smallest.value >= 1:
            said += " cannot show any difference four times in five."
        else:
            points = f"{100 * self.smallest.value:.1f} points"
            said += f" show a true difference of {points} or more four times in five."
        return said if self.difference is None else f"{said} {self._what_it_takes(each)}"

    def _what_it_takes(self, each: str) -> str:
        """What shows the wanted difference: more people, more prompts or more items, each by itself."""
        ways = [(self.people_needed, "people", each)]
        if self.prompts is not None:
            items = f"{_counted(self.items, 'item')} each"
            ways.append((self.prompts_needed, "prompt", f"for {self.people:,} people with {items}"))
        ways.append((self.items_needed, "item", f"from each of {self.people:,} people"))
        enough = [
            f"{_counted(figure.value, what)} {where}"
            for figure, what, where in ways
            if figure is not None and figure.value is not None
        ]
        never = [
            f"{figure.note[0].upper()}{figure.note[1:]}."
            for figure, _, _ in ways
            if figure is not None and figure.value is None and figure.note
        ]
        wanted = f"difference of {100 * (self.difference or 0.0):.1f} points"
        takes = f"A {wanted} takes {', or '.join(enough)}." if enough else f"For a {wanted}:"
        return " ".join([takes, *never])


def plan_run(
    scores: RunScores,
    people: int | None = None,
    items: int | None = None,
    difference: float | None = None,
    prompts: int | None = None,
) -> list[Plan]:
    """A plan for every pair the run has; people, items each and prompts are the run's own unless given."""
    if difference is not None and not 0 < difference < 1:
        raise UserError("--difference must be above 0 and below 1, as a fraction: 0.03 is three points.")
    met = tuple(note.rstrip(".") for note in scores.run.met_people.values())
    found = [_plan(*pair, people, items, prompts, difference, met) for pair in _pairs(scores)]
    plans = [plan for plan in found if plan is not None]
    if not plans:
        raise UserError(
            f"{scores.run.name} has no two sets of answers to the same items, so no difference can be planned from it."
        )
    return plans


def plans_table(plans: list[Plan]) -> Table:
    """The plans for the terminal, in points."""
    table = Table(title="Paired differences of the stored run, and what they allow", title_justify="left")
    for heading in ("contestant", "against"):
        table.add_column(heading, overflow="fold")
    shares = ("between people", "between prompts")
    for heading in ("observed", "items", "people", *shares, "smallest to detect"):
        table.add_column(heading, justify="right")
    for plan in plans:
        parts = (plan.spread.correlation().value, plan.spread.prompt_share().value)
        smallest = "–" if plan.smallest.value is None else f"{100 * plan.smallest.value:.1f}"
        table.add_row(
            Text(plan.first),
            Text(plan.second),
            f"{100 * plan.observed:+.1f}",
            f"{plan.n:,}",
            f"{plan.pilot_people:,}",
            *("–" if share is None else f"{100 * share:.0f} %" for share in parts),
            smallest,
        )
    return table


def _pairs(scores: RunScores) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Names and paired items: each contestant with its best control, then contestants with each other."""
    everyone = list(contestants(scores))
    for contestant in everyone:
        if scores.info["metric"] == "win_rate":
            known = contestant.scores.filter(pl.col("accuracy").is_not_null())
            yield contestant.name, EVEN, known.with_columns((pl.col("accuracy") - 0.5).alias("gap"))
        elif best := _best_control(scores, contestant):
            yield contestant.name, best.name, paired_items(contestant, best)
    for one, two in combinations(everyone, 2):
        if scores.info["metric"] != "win_rate" or one.rater == two.rater:
            yield one.name, two.name, paired_items(one, two)


def _best_control(scores: RunScores, contestant: Contestant) -> Contestant | None:
    """The highest of the control raters and of the contestant's own control views."""
    controls = [
        replace(contestant, rater=rater["name"], scores=scores.scores[rater["fingerprint"], contestant.view])
        for rater in scores.raters
        if rater["control"] and rater["name"] != contestant.rater
    ]
    own = next(rater["fingerprint"] for rater in scores.raters if rater["name"] == contestant.rater)
    controls += [
        replace(contestant, view=view, scores=scores.scores[own, view])
        for view in scores.views
        if view in ("none", f"wrong:{contestant.view}")
    ]
    means = [(mean_by_item(control.scores, "accuracy").value, control) for control in controls]
    known = [(mean, control) for mean, control in means if mean is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _plan(
    first: str,
    second: str,
    both: pl.DataFrame,
    people: int | None,
    items: int | None,
    prompts: int | None,
    difference: float | None,
    met: tuple[str, ...],
) -> Plan | None:
    if both.is_empty():
        return None
    pilot_people = both["person"].n_unique()
    planned_people = people or pilot_people
    planned_items = float(items or len(both) / pilot_people)
    parts = spread(both["gap"].to_numpy(), both["person"].to_numpy(), both["prompt"].to_numpy())
    planned_prompts = None if parts.prompt is None else prompts or both["prompt"].n_unique()
    notes = [parts.note] if parts.note and parts.between is not None else []
    smallest = smallest_difference(parts, planned_people, planned_items, planned_prompts)
    more_people = more_prompts = more_items = None
    if difference is not None:
        more_people = more_prompts = more_items = Figure(None, smallest.note)
        if smallest.value is not None:
            more_people = people_needed(parts, difference, planned_items, planned_prompts)
            more_prompts = prompts_needed(parts, difference, planned_people, planned_items)
            more_items = items_needed(parts, difference, planned_people, planned_prompts)
    return Plan(
        first=first,
        second=second,
        n=len(both),
        pilot_people=pilot_people,
        observed=float(both["gap"].to_numpy().mean()),
        spread=parts,
        people=planned_people,
        items=round(planned_items, 1),
        prompts=planned_prompts,
        smallest=smallest,
        difference=difference,
        people_needed=more_people,
        prompts_needed=more_prompts,
        items_needed=more_items,
        notes=(*notes, *(note for note in met if note.split(MET)[0] in f"{first}, {second}")),
    )


def _counted(number: float, what: str) -> str:
    """A number, rounded, of things: 1 item, 27 items."""
    shown = f"{number:,.0f}"
    return f"{shown} {what}" if shown == "1" or what == "people" else f"{shown} {what}s"
