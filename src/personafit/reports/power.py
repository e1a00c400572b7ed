"""Power analysis for a run of any kind from a stored pilot: the smallest detectable difference, and what a difference would take.

The stored run is the pilot. Each plan is based on the paired differences of two of its contestants, or of one and its best
control, because a difference will be tested, and pairing makes it vary far less than either score. Where prompts recur across
people, prompts limit what more people can show, and the plan says how many are needed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit.kinds import run_lines
from personafit.kinds.lines import UNIT_SCALE, Line, Metric, RunLines, paired_rows
from personafit.reports.analysis import Analysis, count_cell
from personafit.reports.claims import people_words
from personafit.reports.compare import (
    Contestant,
    contestants,
    scale_width,
    scaled_name,
    unit_of,
    wanted_metrics,
)
from personafit.reports.pieces import Cell, Grid, Row
from personafit.reports.report import ReportPart
from personafit.reports.result import plain, signed
from personafit.statistics.agreement import Figure
from personafit.statistics.power import (
    Spread,
    items_needed,
    people_needed,
    prompts_needed,
    smallest_difference,
    spread,
)
from personafit.store import MET, RunRecord, Store

EVEN = "an even win rate"
NO_PREFERENCE, NO_EFFECT = "no preference", "no effect"


@dataclass(frozen=True)
class Plan:
    """What the paired differences of two contestants imply for a run of `people` with `items` each.

    `prompts` is None if prompts do not recur across people.
    """

    metric: Metric
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
    needed: Mapping[str, Figure]
    """How many `people`, `prompts` or `items`, each alone, detect the wanted difference."""
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        wanted: dict[str, int | str | None] = {}
        for name in ("people", "prompts", "items"):
            figure = self.needed.get(name, Figure(None))
            wanted[f"{name}_needed"] = None if figure.value is None else int(figure.value)
            wanted[f"{name}_needed_note"] = figure.note
        return {
            "metric": self.metric.name,
            "first": self.first,
            "second": self.second,
            "pilot": {
                "n": self.n,
                "people": self.pilot_people,
                "difference": self.observed,
                "variance_between": self.spread.between,
                "variance_prompts": self.spread.prompt,
                "variance_within": self.spread.within,
            },
            "people": self.people,
            "items": self.items,
            "prompts": self.prompts,
            "smallest_difference": self.smallest.value,
            "difference": self.difference,
            **wanted,
            "note": "; ".join(filter(None, [self.smallest.note, *self.notes])) or None,
        }

    def sentence(self) -> str:
        pair = f"{self.first} against {self.second}"
        if self.smallest.value is None:
            return f"{pair}: nothing can be planned ({self.smallest.note})."
        each = f"with {_counted(self.items, 'item')} each"
        if self.prompts is not None:
            each += f" on {_counted(self.prompts, 'prompt')}"
        said = f"{pair}: {people_words(self.people)} {each}"
        if self.smallest.value >= scale_width(self.metric) and self.metric.bounds is not None:
            said += f" cannot detect any difference{self._of} with 80 % power."
        else:
            points = unit_of(self.metric).plain(self.smallest.value)
            said += f" detect a true difference of {points}{self._of} or more with 80 % power."
        return said if self.difference is None else f"{said} {self._what_it_takes(each)}"

    @property
    def _of(self) -> str:
        """The metric the difference is in; empty for the score of single choices."""
        return "" if self.metric.source == "accuracy" else f" of {scaled_name(self.metric)}"

    def _what_it_takes(self, each: str) -> str:
        """Describe what detects the wanted difference: more people, more prompts or more items, each alone."""
        of_each = f"for {people_words(self.people)} with {_counted(self.items, 'item')} each"
        by_prompts = [] if self.prompts is None else [("prompts", "prompt", of_each)]
        by_items = ("items", "item", f"from each of {people_words(self.people)}")
        ways = [("people", "people", each), *by_prompts, by_items]
        found = [(self.needed[name], what, where) for name, what, where in ways]
        enough = [
            f"{_counted(one.value, what)} {where}" for one, what, where in found if one.value is not None
        ]
        never = [
            f"{one.note[0].upper()}{one.note[1:]}." for one, _, _ in found if one.value is None and one.note
        ]
        wanted = f"difference of {unit_of(self.metric).plain(self.difference or 0.0)}"
        takes = f"A {wanted} takes {', or '.join(enough)}." if enough else f"For a {wanted}:"
        return " ".join([takes, *never])


def plan_run(
    opened: RunLines,
    people: int | None = None,
    items: int | None = None,
    difference: float | None = None,
    prompts: int | None = None,
    metric: str | None = None,
) -> list[Plan]:
    """Plan every pair of contestants of the run, on each headline metric or on the one that is named.

    People, items each and prompts are the run's own unless given. `difference` is a share of the metric's scale.
    """
    if difference is not None and not (isinstance(difference, int | float) and 0 < difference < 1):
        raise UserError("--difference must be above 0 and below 1, as a fraction: 0.03 is three points.")
    met = tuple(note.rstrip(".") for note in opened.run.met_people.values())
    plans = []
    for measured in wanted_metrics(opened, metric):
        if not measured.paired:
            raise UserError(f"{measured.name} is not a mean over items, so no run can be planned by it.")
        wanted = None if difference is None else difference * scale_width(measured)
        for pair in _pairs(opened, measured):
            found = _plan(measured, *pair, people, items, prompts, wanted, met)
            plans += [] if found is None else [found]
    if not plans:
        raise UserError(
            f"{opened.run.name} has no two sets of answers to the same items, so no difference can be planned from it; "
            "a second rater or system, or a control, makes a pair."
        )
    return plans


def analyze_power(store: Store, run: RunRecord, **planned: Any) -> Analysis:
    """Analyse what a planned run could show: a sentence per plan, and the stored run's paired differences.

    `planned` are the arguments of `plan_run`.
    """
    pilot = run_lines(store, run)
    plans = plan_run(pilot, **planned)
    several = any(plan.metric.source != "accuracy" for plan in plans)
    rows = []
    for plan in plans:
        unit, smallest = unit_of(plan.metric), plan.smallest.value
        cells = [
            Cell(signed(unit.scale * plan.observed, unit.digits), sort=plan.observed),
            count_cell(plan.n),
            count_cell(plan.pilot_people),
            Cell("–") if smallest is None else Cell(plain(unit.scale * smallest, unit.digits), sort=smallest),
        ]
        names = [plan.first, plan.second]
        rows.append(Row([scaled_name(plan.metric), *names] if several else names, cells))
    heads = [*(["metric"] if several else []), "contestant", "against"]
    columns = ["observed", "items", "people", "smallest to detect"]
    caption = "The last column is the smallest true difference that is detected with 80 % power."
    grid = Grid("Paired differences of the stored run", caption, heads, columns, rows)
    notes = [f"Note: {note}." for note in dict.fromkeys(note for plan in plans for note in plan.notes)]
    name, sentences = run.name, [*(plan.sentence() for plan in plans), *notes]
    part = ReportPart(name, f"What a run like {name} can detect", sentences, [grid])
    more = {"run": name, "plans": [plan.as_dict() for plan in plans]}
    return Analysis(str(pilot.info["name"]), [], part, more)


def _pairs(opened: RunLines, metric: Metric) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield names and paired units: each contestant with its best control, then contestants with each other."""
    everyone = list(contestants(opened, metric))
    for contestant in everyone:
        if metric.even is not None:
            level = EVEN if metric.bounds == UNIT_SCALE else NO_PREFERENCE if metric.even else NO_EFFECT
            yield contestant.name, level, _against_even(contestant.line, metric, metric.even)
        elif best := _best_control(opened, contestant, metric):
            yield contestant.name, best.name, paired_rows(contestant.line, best.line, metric)
    for one, two in combinations(everyone, 2):
        if metric.about == "rater" or one.rater == two.rater:
            yield one.name, two.name, paired_rows(one.line, two.line, metric)


def _against_even(line: Line, metric: Metric, even: float) -> pl.DataFrame:
    """Return the units with their difference from the metric's even value."""
    return paired_rows(line, line, metric).with_columns(difference=pl.col("value") - even)


def _best_control(opened: RunLines, contestant: Contestant, metric: Metric) -> Contestant | None:
    """Return the best of the control raters, the contestant's own control contexts and its system's controls."""
    known, asked = [], opened.rater_kinds
    for line in sorted(opened.lines, key=lambda line: line.rater == contestant.rater):
        if asked and line.fingerprint not in asked and line.rater is not None:
            continue  # votes that came with the data are not controls
        if metric.applies(line) and _controls(line, contestant.line):
            mean = metric.of(line.frame).value
            known += [] if mean is None else [(mean, replace(contestant, line=line))]
    if not known:
        return None
    best = min if metric.better == "lower" else max
    return best(known, key=lambda pair: pair[0])[1]


def _controls(line: Line, own: Line) -> bool:
    """Return whether a line is a control of another: a rater not asked for, or the same line with less information."""
    if line.rater != own.rater:
        return not line.asked_for and line.context == own.context
    if line.system != own.system:  # the canned assistant, or copied texts if every unit has one
        alike = (
            line.control is not None
            and line.context == own.context
            and line.system_context in (None, own.system_context)
        )
        return alike and len(line.frame) >= len(own.frame)
    if line.system_context != own.system_context:
        return line.context == own.context and line.system_context in ("none", f"wrong:{own.system_context}")
    bare = (
        line.control is not None
        and line.control != own.control
        and not str(line.context).startswith("wrong:")
    )
    return line.context != own.context and (line.context in ("none", f"wrong:{own.context}") or bare)


def _plan(
    metric: Metric,
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
    parts = spread(both["difference"].to_numpy(), both["person"].to_numpy(), both["prompt"].to_numpy())
    planned_prompts = None if parts.prompt is None else prompts or both["prompt"].n_unique()
    notes = [parts.note] if parts.note and parts.between is not None else []
    smallest = smallest_difference(parts, planned_people, planned_items, planned_prompts)
    needed = {}
    if difference is not None:
        needed = dict.fromkeys(("people", "prompts", "items"), Figure(None, smallest.note))
        if smallest.value is not None:
            needed = {
                "people": people_needed(parts, difference, planned_items, planned_prompts),
                "prompts": prompts_needed(parts, difference, planned_people, planned_items),
                "items": items_needed(parts, difference, planned_people, planned_prompts),
            }
    return Plan(
        metric=metric,
        first=first,
        second=second,
        n=len(both),
        pilot_people=pilot_people,
        observed=float(both["difference"].to_numpy().mean()),
        spread=parts,
        people=planned_people,
        items=round(planned_items, 1),
        prompts=planned_prompts,
        smallest=smallest,
        difference=difference,
        needed=needed,
        notes=(*notes, *(note for note in met if note.split(MET)[0] in f"{first}, {second}")),
    )


def _counted(number: float, what: str) -> str:
    """Format a rounded count with its noun: `1 item`, `27 items`."""
    shown = f"{number:,.0f}"
    return f"{shown} {what}" if shown == "1" or what == "people" else f"{shown} {what}s"
