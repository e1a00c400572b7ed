"""The gate: bars that a run's numbers must reach, for `--fail-under`, for JUnit files and for a team's own tests.

A bar holds for every rater asked for, never for controls: each must pass. A number passes if the run shows it, that is if its whole
95 % interval reaches the bar; it fails if none of it does; otherwise, and with fewer than six people, the gate cannot tell, which is
no pass either. `coverage` and `made` are shares of what was asked for and compare the value.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from personafit._errors import UserError
from personafit.models.spec import parse_spec
from personafit.reports.claims import gate, gate_sentence, people_words
from personafit.reports.result import Result
from personafit.statistics.decisions import GateOutcome

Bar = tuple[str, float]
"""A metric, with its slice in brackets where it has one (`win_rate[tier=hard]`), and the least it must be."""
COVERAGE, MADE = "coverage", "made"
FEWEST_MADE = 0.95
"""The bar on `made` that stands beside every other one unless it is named: what is missing may not be like the rest."""
_WHAT = re.compile(r"(?P<metric>\w+)(?:\[(?P<slice>[^\]]+)\])?")


class Undecided(StrEnum):
    """What a gate does with a number of which it cannot tell whether it reaches its bar."""

    FAIL = "fail"
    PASS = "pass"  # nosec B105 # no password


@dataclass(frozen=True)
class GateVerdict:
    """What the gate says of one figure."""

    metric: str
    bar: float
    subject: str
    """Whose figure it is; empty where the run has no such figure."""
    outcome: str
    """`passes`, `fails` or `cannot tell`."""
    sentence: str
    reason: str
    """The same as a sentence that stands alone, as tests and JUnit files show it."""

    def stops(self, undecided: Undecided = Undecided.FAIL) -> bool:
        """Whether the run does not pass because of it."""
        lenient = undecided is Undecided.PASS and self.outcome == GateOutcome.CANNOT_TELL
        return self.outcome != GateOutcome.PASSES and not lenient


def read_bar(text: str) -> Bar:
    """The bar that `METRIC=X` or `METRIC[NAME=VALUE]=X` sets; raises ValueError where it is none."""
    what, _, least = text.rpartition("=")
    if not _WHAT.fullmatch(what):
        raise ValueError(text)
    return what, float(least)


def bar_metric(what: str) -> tuple[str, dict[str, str]]:
    """The metric that a bar is on, and its slice."""
    found = _WHAT.fullmatch(what)
    if found is None:
        return what, {}
    parts = (found["slice"] or "").split(",") if found["slice"] else []
    return found["metric"], {
        name.strip(): value for name, _, value in (part.partition("=") for part in parts)
    }


def gate_verdicts(
    results: Sequence[Result], bars: Sequence[Bar], rater: str | None = None
) -> list[GateVerdict]:
    """What the gate says of every figure that a bar is held against; `rater` is the one asked about, all by default.

    Beside any bar at least 95 % of the answers asked for must have been made, unless a bar on `made` says otherwise.
    """
    found: list[GateVerdict] = []
    results = short_names(results)
    for what, bar in bars:
        held = totals(results, what, rater)
        found += [_verdict(what, bar, one, len(held) > 1) for one in held]
        if not held:
            why = _absent(results, what, rater)
            found.append(
                GateVerdict(what, bar, "", GateOutcome.FAILS.value, f"Gate {what}={bar:g}: fails. {why}", why)
            )
    if bars and all(bar_metric(what)[0] != MADE for what, _ in bars):
        made = [_verdict(MADE, FEWEST_MADE, one, True) for one in totals(results, MADE)]
        found += [one for one in made if one.stops()]
    return found


def totals(results: Iterable[Result], what: str, rater: str | None = None) -> list[Result]:
    """The numbers that a bar on a metric, or on one slice of it, is held against.

    Restraint has its total on the items marked for it. Controls are left out, unless one is named or there is nobody else; so are
    control contexts. A rater may be named without its options.
    """
    metric, within = bar_metric(what)
    results = list(results)
    if metric == COVERAGE:  # dialogues have a figure of that name, which is something else
        results = _coverages(results)
    named = [
        result
        for result in results
        if result.metric == metric
        and (result.slice == within or (metric == "restraint" and not within))
        and (rater is None or (result.rater is not None and _is_rater(rater, result.rater)))
    ]
    # In runs about relevance `none` is what everybody sees, and where only controls ran there is no other context.
    shown = [
        result
        for result in named
        if not (result.control and (result.view == "none" or (result.view or "").startswith("wrong:")))
    ] or named
    return shown if rater else [result for result in shown if result.control is None] or shown


def described(result: Result) -> str:
    """Whose number it is."""
    system = f"{result.system}{f' given {result.given}' if result.given else ''}" if result.system else ""
    rater = f"{result.rater} ({result.view})" if result.rater else ""
    return ", judged by ".join(filter(None, [system, rater])) or "the system"


def short_names(results: Sequence[Result]) -> list[Result]:
    """The results with raters called by their spec without its options, where that tells them apart."""
    raters = dict.fromkeys(one.rater for one in results if one.rater)
    short = {name: name.partition(",")[0] for name in raters}
    told = list(short.values())
    return [
        replace(one, rater=short[one.rater]) if one.rater and told.count(short[one.rater]) == 1 else one
        for one in results
    ]


def _verdict(what: str, bar: float, result: Result, several: bool) -> GateVerdict:
    decision, whose = gate(result, bar), described(result)
    said = f"Gate {what}={bar:g}{f' for {whose}' if several else ''}: {decision.outcome.value}"
    reason = gate_sentence(result, bar, whose)
    if result.value is None or result.low is None or result.high is None:
        cannot = decision.outcome is GateOutcome.CANNOT_TELL
        said = (
            said.replace(": cannot tell", f": {reason}")
            if cannot
            else f"{said}. {reason[:1].upper()}{reason[1:]}"
        )
    else:
        name = what.replace("_", " ")
        said = f"{said} ({name} {result.value:.3f}, {result.low:.3f} to {result.high:.3f})"
        if decision.outcome is GateOutcome.CANNOT_TELL and decision.people is not None:
            items = "" if decision.items is None else f" ({decision.items:,} items)"
            said += f"; about {people_words(decision.people)}{items} would tell, if that is its true value"
        said += "."
    return GateVerdict(what, bar, whose, decision.outcome.value, said, reason)


def _coverages(results: Sequence[Result]) -> list[Result]:
    """The share answered of what was asked, of everybody's headline figure."""
    counted = [one for one in results if one.coverage is not None and one.metric != MADE]
    head = next((one.metric for one in counted if one.control is None), None)
    return [
        replace(one, metric=COVERAGE, value=one.coverage, low=None, high=None, note=None)
        for one in counted
        if one.metric == head
    ]


def _is_rater(named: str, rater: str) -> bool:
    """Whether a rater is the one named: the same spec, with at least the options that are named."""
    if named == rater:
        return True
    try:
        asked, found = parse_spec(named), parse_spec(rater)
    except UserError:
        return False
    same = (asked.kind, asked.name, asked.url) == (found.kind, found.name, found.url)
    return same and asked.options.items() <= found.options.items()


def _absent(results: Sequence[Result], what: str, rater: str | None) -> str:
    """The sentence that says which figure, slice or rater a run lacks, and what there is in its place."""
    metric, within = bar_metric(what)
    of_metric = (
        _coverages(results) if metric == COVERAGE else [one for one in results if one.metric == metric]
    )
    if not of_metric:
        return f"There is no {metric} in this run; there are {_listed(one.metric for one in results)}."
    if rater is not None and not totals(results, metric, rater):
        raters = _listed(one.rater for one in of_metric if one.rater and one.control is None)
        return f"There is no {metric} of {rater} in this run; there are those of {raters}."
    slices = _listed(",".join(f"{name}={value}" for name, value in one.slice.items()) for one in of_metric)
    if not within:
        return f"There is no {metric} over all items in this run; name a slice, as {metric}[NAME=VALUE]: {slices}."
    return f"There is no {what} in this run; " + (
        f"the slices of {metric} are {slices}." if slices else f"{metric} has no slices."
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted({name for name in names if name}))
