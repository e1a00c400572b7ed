"""Runs as a JUnit file, which every CI server can show: one test case per rater's total, one per bar and figure.

A total passes if it is defined; a bar as the gate says. Failures carry the sentence that the terminal prints, and as their type the
gate's outcome, `fails` or `cannot tell`. A suite of runs is one file, each run a test suite of its own; one that could not be made
is an error.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # nosec B405 # written, never read

from personafit._errors import UserError
from personafit.reports.gate import GateVerdict, Undecided, described, short_names, totals
from personafit.reports.result import Result

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
        name = f"{one.subject} at least {one.bar:g}".strip()
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
