"""Runs as a JUnit file, which every CI server can show: one test case per rater's total, one per bar and total.

A total passes if it is defined; a bar passes if the total's whole 95 % interval reaches it. Failures carry the sentence the terminal prints. A suite of runs
is one file, each run a test suite of its own; one that could not be made is an error.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # nosec B405 # written, never read

from personafit._errors import UserError
from personafit.reporting.assertions import Undecided, described, missed, totals
from personafit.reporting.result import Result

# What XML 1.0 cannot hold; names come from outside.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class RunCheck:
    """The checks of one run, as JUnit reports them."""

    name: str
    results: Sequence[Result] = ()
    bars: Sequence[tuple[str, float]] = ()
    """Metric and least value, as `--fail-under` gives them."""
    error: str | None = None
    """Why there are no results, where the run could not be made."""
    missed: str | None = None
    """The sentence that says too little was answered, where that is so."""
    undecided: Undecided = Undecided.FAIL
    """Whether a bar that cannot be told to be reached fails."""


def write_junit(
    path: Path,
    results: Sequence[Result],
    bars: Sequence[tuple[str, float]],
    missed: str | None = None,
    undecided: Undecided = Undecided.FAIL,
) -> None:
    """Write the file of one run."""
    write_suites(path, [RunCheck("personafit", results, bars, missed=missed, undecided=undecided)])


def write_suites(path: Path, runs: Sequence[RunCheck]) -> None:
    """Write the file of several runs."""
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
    results = run.results
    for headline in [results[0].metric] if results else []:
        for result in totals(results, headline):
            why = result.note or "there is no answer to score"
            failure = (
                None
                if result.value is not None
                else f"{headline} of {described(result)} is undefined ({why})."
            )
            _add_case(suite, headline, described(result), failure, _shown(result))
    for metric, least in run.bars:
        found = totals(results, metric)
        if not found:
            _add_case(suite, metric, f"at least {least:g}", f"There is no {metric} in this run.", "")
        for result in found:
            name = f"{described(result)} at least {least:g}"
            _add_case(suite, metric, name, missed(result, least, run.undecided), _shown(result))
    if run.missed is not None:
        _add_case(suite, "coverage", "enough was answered", run.missed, "")
    if run.error is not None:
        case = ElementTree.SubElement(suite, "testcase", classname="personafit", name="the run", time="0")
        ElementTree.SubElement(case, "error", message=_clean(run.error)).text = _clean(run.error)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    return suite


def _add_case(suite: ElementTree.Element, metric: str, name: str, failure: str | None, shown: str) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_clean(f"personafit.{metric}"), name=_clean(name), time="0"
    )
    if failure:
        ElementTree.SubElement(case, "failure", message=_clean(failure)).text = _clean(failure)
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
