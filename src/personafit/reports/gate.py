"""The gate: bars on a run's figures, for `--fail-under`, JUnit files and a team's own tests.

A bar holds for every rater asked for, never for controls: each must pass. A figure passes if the run shows it, that is if its whole
95 % interval reaches the bar; it fails if none of it does; otherwise, and with fewer than six people, the gate cannot tell, which
does not pass either. A bar is the least that a figure must be, or the most where lower is better, as for regret. A count that is 0
throughout has the interval of the rule of three; a bar of 0 requires a count of 0 in this run, as no sample can show a rate of exactly 0.
`coverage` and `made` are shares of what was asked for and compare the value.

In a JUnit file a total passes if it is defined, a bar if the gate passes. Failures carry the sentence that the terminal prints and, as
their type, the outcome. Each run of a suite is a test suite of its own; one that could not be made is an error.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree  # nosec B405 # written, never read

from personafit._errors import UserError
from personafit.models.spec import parse_spec
from personafit.reports.claims import people_words
from personafit.reports.result import Result
from personafit.statistics.clusters import CONSTANT, FEWEST_PEOPLE
from personafit.statistics.decisions import GateDecision, GateOutcome, decide, is_constant

Bar = tuple[str, float]
"""A metric, optionally with a slice (`win_rate[tier=hard]`), and the least it must be (the most, if lower is better)."""
COVERAGE, MADE = "coverage", "made"
"""Metrics that are shares of what was planned: nothing was sampled, so the value itself is compared."""
FEWEST_MADE = 0.95
"""The default bar on `made`, applied beside every other bar: missing answers may differ from the rest."""
RULE_OF_THREE = 3.0  # an event that never occurs in n draws has a rate of at most 3/n, with 95 % confidence
BY_DEFINITION = "scores each answer by itself"  # start of the note on a consistency of 1 that needs no sample
_WHAT = re.compile(r"(?P<metric>\w+)(?:\[(?P<slice>[^\]]+)\])?")


class Undecided(StrEnum):
    """What a gate does with a figure if it cannot tell whether the bar is reached."""

    FAIL = "fail"
    PASS = "pass"  # nosec B105 # no password


@dataclass(frozen=True)
class GateVerdict:
    """The gate's decision on one figure."""

    metric: str
    bar: float
    subject: str
    """Whose figure it is; empty if the run has no such figure."""
    outcome: str
    """`passes`, `fails` or `cannot tell`."""
    reason: str
    """The figure and its bar in a sentence, for tests and JUnit files."""
    side: Literal["at least", "at most"] = "at least"
    """On which side of the bar the figure must be."""

    @property
    def sentence(self) -> str:
        """The bar, the outcome and its reason, such as `Gate lift=0.05: passes. Lift of ...`."""
        told = "" if self.outcome == GateOutcome.CANNOT_TELL else f"{self.outcome}. "
        reason = f"{self.reason[:1].upper()}{self.reason[1:]}" if told else self.reason
        return f"Gate {self.metric}={self.bar:g}: {told}{reason}"

    def stops(self, undecided: Undecided = Undecided.FAIL) -> bool:
        """Return whether this decision keeps the run from passing."""
        lenient = undecided is Undecided.PASS and self.outcome == GateOutcome.CANNOT_TELL
        return self.outcome != GateOutcome.PASSES and not lenient


def read_bar(text: str) -> Bar:
    """Parse `METRIC=X` or `METRIC[NAME=VALUE]=X`; raise ValueError for other text."""
    what, _, least = text.rpartition("=")
    if not _WHAT.fullmatch(what):
        raise ValueError(text)
    return what, float(least)


def bar_metric(what: str) -> tuple[str, dict[str, str]]:
    """Return the metric of a bar, and its slice."""
    found = _WHAT.fullmatch(what)
    if found is None:
        return what, {}
    pairs = (part.partition("=") for part in (found["slice"] or "").split(",") if part)
    return found["metric"], {name.strip(): value for name, _, value in pairs}


def gate_verdicts(
    results: Sequence[Result], bars: Sequence[Bar], rater: str | None = None
) -> list[GateVerdict]:
    """Return the decision on every figure that a bar applies to; `rater` restricts them to one rater.

    Beside any bar at least 95 % of the answers asked for must have been made, unless a bar on `made` says otherwise.
    """
    found: list[GateVerdict] = []
    results = short_names(results)
    for what, bar in bars:
        held = totals(results, what, rater)
        found += [_verdict(what, bar, one) for one in held]
        if not held:
            why = _absent(results, what, rater)
            found.append(GateVerdict(what, bar, "", GateOutcome.FAILS.value, why))
    if bars and all(bar_metric(what)[0] != MADE for what, _ in bars):
        made = [_verdict(MADE, FEWEST_MADE, one) for one in totals(results, MADE)]
        found += [one for one in made if one.stops()]
    return found


def gate(result: Result, bar: float) -> GateDecision:
    """Decide whether a figure of a run is shown to reach a bar."""
    if result.met_people:
        return GateDecision(GateOutcome.CANNOT_TELL)
    if result.better == "lower":
        if bar == 0 and result.people >= FEWEST_PEOPLE and (is_constant(result, 0.0) or result.low == 0):
            return decide(replace(result, value=-(result.value or 0.0)), 0.0, certain=True)
        result = _up_to_three(result)
        value, low, high = (None if end is None else -end for end in (result.value, result.high, result.low))
        return decide(replace(result, value=value, low=low, high=high), -bar)
    by_definition = result.low is None and (result.note or "").startswith(BY_DEFINITION)
    # A system that answers everybody alike has a lift of 0 on every item: no larger sample would change that.
    nothing = bar > 0 and result.people >= FEWEST_PEOPLE and is_constant(result, 0.0)
    return decide(result, bar, result.metric in (COVERAGE, MADE) or by_definition or nothing)


def _up_to_three(result: Result) -> Result:
    """Give a count of 0 throughout the rule-of-three interval: at most 3 over the number of people, with 95 % confidence."""
    never = is_constant(result, 0.0) and result.people >= FEWEST_PEOPLE
    return replace(result, low=0.0, high=RULE_OF_THREE / result.people, note=None) if never else result


def totals(results: Iterable[Result], what: str, rater: str | None = None) -> list[Result]:
    """Return the results that a bar on a metric, or on one slice of it, applies to.

    The total of restraint is on the items marked for it. Controls are left out, unless one is named or there are only controls; so
    are control contexts. A rater may be named without its options.
    """
    metric, within = bar_metric(what)
    named = [
        result
        for result in _of_metric(results, metric)
        if (result.slice == within or (metric == "restraint" and not within))
        and (rater is None or (result.rater is not None and _is_rater(rater, result.rater)))
    ]
    # In relevance runs every rater sees `none`, and with controls only there is no other context.
    shown = [
        result
        for result in named
        if not (result.control and (result.context == "none" or (result.context or "").startswith("wrong:")))
    ] or named
    return shown if rater else [result for result in shown if result.control is None] or shown


def described(result: Result) -> str:
    """Return whose figure a result is."""
    told = f" given {result.system_context}" if result.system_context else ""
    system = f"{result.system}{told}" if result.system else ""
    rater = f"{result.rater} ({result.context})" if result.rater else ""
    return ", judged by ".join(filter(None, [system, rater])) or "the system"


def short_names(results: Sequence[Result]) -> list[Result]:
    """Return the results with raters named by their spec without its options, where that is unique."""
    raters = dict.fromkeys(one.rater for one in results if one.rater)
    short = {name: name.partition(",")[0] for name in raters}
    told = list(short.values())
    return [
        replace(one, rater=short[one.rater]) if one.rater and told.count(short[one.rater]) == 1 else one
        for one in results
    ]


def _verdict(what: str, bar: float, result: Result) -> GateVerdict:
    decision, whose = gate(result, bar), described(result)
    metric, bracket, slice = what.partition("[")
    name = f"{metric.replace('_', ' ')}{bracket}{slice} of {whose}"
    if metric == MADE:
        name = f"share of answers made by {whose}"
    lower = result.better == "lower"
    if lower and bar:
        result = _up_to_three(result)
    side: Literal["at least", "at most"] = "at most" if lower else "at least"
    if decision.outcome is GateOutcome.CANNOT_TELL:
        asked = f"is at most {bar:g}" if lower else f"reaches {bar:g}"
        reason = f"cannot tell whether {name} {asked}: {_doubt(result, decision)}."
    else:
        passes = decision.outcome is GateOutcome.PASSES
        value = f"{result.value:.3f}" if passes else _beyond(result.value or 0.0, bar)
        throughout = " on every item" if not passes and is_constant(result, 0.0) else ""
        where = side if passes else "above" if lower else "below"
        reason = f"{name} is {value}{_ends(result)}{throughout}, {where} {bar:g}."
    return GateVerdict(what, bar, whose, decision.outcome.value, reason, side)


def _doubt(result: Result, decision: GateDecision) -> str:
    """Explain why the gate cannot tell, and how many people would be enough."""
    if result.value is None:
        return f"it is undefined{f' ({result.note})' if result.note else ''}"
    if result.met_people:
        return "the rater was fitted on people of this run"
    value = f"it is {result.value:.3f}"
    if result.people < FEWEST_PEOPLE:
        return f"{value} over {people_words(result.people)}, and at least {FEWEST_PEOPLE} are needed"
    if CONSTANT in (result.note or ""):
        return f"{value} on every item, so there is no interval"
    if result.low is None:
        return f"{value}, without an interval{f' ({result.note})' if result.note else ''}"
    value += _ends(result)
    if decision.people is None:
        return f"{value}, as close to the bar as to need more people than can be planned for"
    items = "" if decision.items is None else f" ({decision.items:,} items)"
    enough = f"about {decision.people:,} people with as many items each{items}"
    return f"{value}; if that is its true value, {enough} would tell"


def _beyond(value: float, bar: float) -> str:
    """Format the value with enough digits to show on which side of the bar it is."""
    texts = (f"{value:.{digits}f}" for digits in (3, 6))
    return next((text for text in texts if (float(text) - bar) * (value - bar) > 0), repr(value))


def _ends(result: Result) -> str:
    return "" if result.low is None or result.high is None else f" ({result.low:.3f} to {result.high:.3f})"


def _of_metric(results: Iterable[Result], metric: str) -> list[Result]:
    """Return the results of a metric; `coverage` is that of each headline figure (dialogues have a metric of that name)."""
    if metric != COVERAGE:
        return [one for one in results if one.metric == metric]
    counted = [one for one in results if one.coverage is not None and one.metric != MADE]
    head = next((one.metric for one in counted if one.control is None), None)
    return [
        replace(one, metric=COVERAGE, value=one.coverage, low=None, high=None, note=None, better="higher")
        for one in counted
        if one.metric == head
    ]


def _is_rater(named: str, rater: str) -> bool:
    """Return whether `rater` has the spec of `named` and at least its options."""
    if named == rater:
        return True
    try:
        asked, found = parse_spec(named), parse_spec(rater)
    except UserError:
        return False
    same = (asked.kind, asked.name, asked.url) == (found.kind, found.name, found.url)
    return same and asked.options.items() <= found.options.items()


def _absent(results: Sequence[Result], what: str, rater: str | None) -> str:
    """Return the sentence on the figure, slice or rater that a run lacks, and the ones it has."""
    metric, within = bar_metric(what)
    of_metric = _of_metric(results, metric)
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


# -- JUnit -----------------------------------------------------------------------------------------------------------

# Characters not allowed in XML 1.0; names come from outside.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class RunCheck:
    """The checks of one run, for JUnit."""

    name: str
    results: Sequence[Result] = ()
    gate: Sequence[GateVerdict] = ()
    """The gate's decision on every bar and figure."""
    error: str | None = None
    """Why there are no results, if the run failed."""
    missed: str | None = None
    """The sentence on insufficient coverage, if it is too low."""
    undecided: Undecided = Undecided.FAIL
    """Whether a bar fails if the gate cannot tell."""


def write_junit(path: Path, runs: Sequence[RunCheck]) -> None:
    """Write the checks of one or several runs to a JUnit file."""
    root = ElementTree.Element("testsuites")
    root.extend(_suite(run) for run in runs)
    ElementTree.indent(root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror}); choose another with --junit."
        ) from error


def _suite(run: RunCheck) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_clean(run.name))
    results = short_names(run.results)
    for headline in [results[0].metric] if results else []:
        for result in totals(results, headline):
            why = result.note or "there is no answer to score"
            failure = (
                None
                if result.value is not None
                else f"{headline} of {described(result)} is undefined ({why})."
            )
            _add_case(suite, headline, described(result), failure, _shown(result))
    for one in run.gate:
        name = f"{one.subject} {one.side} {one.bar:g}".strip()
        failed = one.stops(run.undecided)
        _add_case(
            suite, one.metric, name, one.reason if failed else None, "" if failed else one.reason, one.outcome
        )
    if run.missed is not None:
        _add_case(suite, "coverage", "enough was answered", run.missed, "")
    if run.error is not None:
        case = ElementTree.SubElement(suite, "testcase", classname="personafit", name="the run", time="0")
        ElementTree.SubElement(case, "error", message=_clean(run.error)).text = _clean(run.error)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    return suite


def _add_case(
    suite: ElementTree.Element,
    metric: str,
    name: str,
    failure: str | None,
    shown: str,
    outcome: str = "fails",
) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_clean(f"personafit.{metric}"), name=_clean(name), time="0"
    )
    if failure:
        ElementTree.SubElement(case, "failure", type=outcome, message=_clean(failure)).text = _clean(failure)
    if shown:
        ElementTree.SubElement(case, "system-out").text = _clean(shown)


def _shown(result: Result) -> str:
    if result.value is None:
        return ""
    interval = ""
    if result.low is not None and result.high is not None:
        interval = f", 95 % interval {result.low:.3f} to {result.high:.3f}"
    return f"{result.metric} {result.value:.3f}{interval}; {result.n:,} items, {result.people} people"


def _clean(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)
