"""The gate: bars that a run's figures must reach, for `--fail-under`, for JUnit files and for a team's own tests.

A bar holds for every rater asked for, never for controls: each must pass. A figure passes if the run shows it, that is if its whole
95 % interval reaches the bar; it fails if none of it does; otherwise, and with fewer than six people, the gate cannot tell, which is
no pass either. A bar is the least that a figure must be, or the most where lower is better, as for regret. A count that is 0 throughout
has the interval of the rule of three, and a bar of 0 asks for none in this run: no number of people could show that there is never one.
`coverage` and `made` are shares of what was asked for and compare the value.

In a JUnit file a total passes if it is defined, a bar as the gate says. Failures carry the sentence that the terminal prints and, as
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
"""A metric, with its slice in brackets where it has one (`win_rate[tier=hard]`), and the least it must be, or the most if lower is better."""
COVERAGE, MADE = "coverage", "made"
"""Metrics that are shares of what was planned: nothing was sampled, so the value is compared."""
FEWEST_MADE = 0.95
"""The bar on `made` that stands beside every other one unless it is named: what is missing may not be like the rest."""
RULE_OF_THREE = 3.0  # what never happened in n draws happens in at most 3/n of them, with 95 % confidence
BY_DEFINITION = "scores each answer by itself"  # how results mark a consistency of 1 that needs no sample
_WHAT = re.compile(r"(?P<metric>\w+)(?:\[(?P<slice>[^\]]+)\])?")


class Undecided(StrEnum):
    """What a gate does with a figure of which it cannot tell whether it reaches its bar."""

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
    reason: str
    """The figure and its bar in a sentence, as tests and JUnit files show it."""
    side: Literal["at least", "at most"] = "at least"
    """On which side of the bar it must be."""

    @property
    def sentence(self) -> str:
        """The outcome and its reason, such as `Gate lift=0.05: passes. Lift of ...`."""
        told = "" if self.outcome == GateOutcome.CANNOT_TELL else f"{self.outcome}. "
        reason = f"{self.reason[:1].upper()}{self.reason[1:]}" if told else self.reason
        return f"Gate {self.metric}={self.bar:g}: {told}{reason}"

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
    pairs = (part.partition("=") for part in (found["slice"] or "").split(",") if part)
    return found["metric"], {name.strip(): value for name, _, value in pairs}


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
        found += [_verdict(what, bar, one) for one in held]
        if not held:
            why = _absent(results, what, rater)
            found.append(GateVerdict(what, bar, "", GateOutcome.FAILS.value, why))
    if bars and all(bar_metric(what)[0] != MADE for what, _ in bars):
        made = [_verdict(MADE, FEWEST_MADE, one) for one in totals(results, MADE)]
        found += [one for one in made if one.stops()]
    return found


def gate(result: Result, bar: float) -> GateDecision:
    """Whether a figure of a run is shown to reach a bar."""
    if result.met_people:
        return GateDecision(GateOutcome.CANNOT_TELL)
    if result.better == "lower":
        if bar == 0 and result.people >= FEWEST_PEOPLE and (is_constant(result, 0.0) or result.low == 0):
            return decide(replace(result, value=-(result.value or 0.0)), 0.0, certain=True)
        result = _up_to_three(result)
        value, low, high = (None if end is None else -end for end in (result.value, result.high, result.low))
        return decide(replace(result, value=value, low=low, high=high), -bar)
    by_definition = result.low is None and (result.note or "").startswith(BY_DEFINITION)
    # A system that answers everybody alike has a lift of 0 on every item: no sample would show more.
    nothing = bar > 0 and result.people >= FEWEST_PEOPLE and is_constant(result, 0.0)
    return decide(result, bar, result.metric in (COVERAGE, MADE) or by_definition or nothing)


def _up_to_three(result: Result) -> Result:
    """Give a count that is 0 throughout the interval of the rule of three: at most 3 in so many people, with 95 % confidence."""
    never = is_constant(result, 0.0) and result.people >= FEWEST_PEOPLE
    return replace(result, low=0.0, high=RULE_OF_THREE / result.people, note=None) if never else result


def totals(results: Iterable[Result], what: str, rater: str | None = None) -> list[Result]:
    """The figures that a bar on a metric, or on one slice of it, is held against.

    Restraint has its total on the items marked for it. Controls are left out, unless one is named or there is nobody else; so are
    control contexts. A rater may be named without its options.
    """
    metric, within = bar_metric(what)
    named = [
        result
        for result in _of_metric(results, metric)
        if (result.slice == within or (metric == "restraint" and not within))
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
    """Whose figure it is."""
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


def _verdict(what: str, bar: float, result: Result) -> GateVerdict:
    decision, whose = gate(result, bar), described(result)
    name = f"{what} of {whose}"
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
    """Why the gate cannot tell, and what would tell."""
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
    """The value with as many digits as it takes to show on which side of the bar it is."""
    texts = (f"{value:.{digits}f}" for digits in (3, 6))
    return next((text for text in texts if (float(text) - bar) * (value - bar) > 0), repr(value))


def _ends(result: Result) -> str:
    return "" if result.low is None or result.high is None else f" ({result.low:.3f} to {result.high:.3f})"


def _of_metric(results: Iterable[Result], metric: str) -> list[Result]:
    """The results of a metric; `coverage` is the share answered of everybody's headline figure (dialogues have a figure of that name)."""
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

# What XML 1.0 cannot hold; names come from outside.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class RunCheck:
    """The checks of one run, as JUnit reports them."""

    name: str
    results: Sequence[Result] = ()
    gate: Sequence[GateVerdict] = ()
    """What the gate says of every bar and figure."""
    error: str | None = None
    """Why there are no results, where the run could not be made."""
    missed: str | None = None
    """The sentence that says too little was answered, where that is so."""
    undecided: Undecided = Undecided.FAIL
    """Whether a bar of which the gate cannot tell whether it is reached fails."""


def write_junit(path: Path, runs: Sequence[RunCheck]) -> None:
    """Write the checks of one run or several as one file."""
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
