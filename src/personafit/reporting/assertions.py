"""Bars that a run's numbers must reach: for `--fail-under`, for JUnit files and for a team's own tests.

A bar holds for the totals of every rater asked for, never for controls: each must pass. A number passes if the run shows
it, that is if its whole 95 % interval reaches the bar; it fails if none of it does; otherwise, and with fewer than six people,
it cannot be told, which is no pass either.
"""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from personafit._errors import UserError
from personafit.reporting.claims import gate, gate_sentence
from personafit.reporting.result import Result
from personafit.statistics.decisions import GateOutcome

_RESULTS = TypeAdapter(list[Result])


class Undecided(StrEnum):
    """What a gate does with a number that cannot be told to reach its bar."""

    FAIL = "fail"
    PASS = "pass"  # nosec B105 # no password


def totals(results: Iterable[Result], metric: str, rater: str | None = None) -> list[Result]:
    """The numbers a bar on this metric is held against; restraint has its total on the items marked for it.

    Controls are left out, unless one is named or there is nobody else; so are control views.
    """
    named = [
        result
        for result in results
        if result.metric == metric
        and (not result.slice or metric == "restraint")
        and rater in (None, result.rater)
    ]
    # In runs about relevance `none` is what everybody sees, and where only controls ran there is no other view.
    shown = [
        result
        for result in named
        if not (result.control and (result.view == "none" or (result.view or "").startswith("wrong:")))
    ] or named
    return shown if rater else [result for result in shown if result.control is None] or shown


def missed(result: Result, at_least: float, undecided: Undecided = Undecided.FAIL) -> str | None:
    """The sentence that says a number is not shown to reach its bar, or None if it passes.

    With `Undecided.PASS` a number that cannot be told to reach the bar passes too.
    """
    outcome = gate(result, at_least).outcome
    if outcome is GateOutcome.PASSES or (outcome is GateOutcome.CANNOT_TELL and undecided is Undecided.PASS):
        return None
    return gate_sentence(result, at_least, described(result))


def described(result: Result) -> str:
    """Whose number it is."""
    told = f" given {result.given}" if result.given else ""
    judged = f"{result.system}{told}, judged by " if result.system else ""
    return f"{judged}{result.rater} ({result.view})"


def assert_lift(run: str | Path, rater: str | None = None, at_least: float = 0.0) -> None:
    """Fail a test unless the run shows that knowing the person helps by at least so much.

    `run` is a run's folder or its results.json; without `rater` the bar holds for everyone asked for in the run.
    """
    assert_metric(run, "lift", rater, at_least)


def assert_metric(run: str | Path, metric: str, rater: str | None = None, at_least: float = 0.0) -> None:
    """Fail a test unless the run shows that its totals of a metric are at least so much: the 95 % interval lies above it."""
    results = read_results(run)
    found = totals(results, metric, rater)
    if not found:
        raters = sorted({r.rater for r in results if r.rater and r.control is None})
        metrics = sorted({r.metric for r in results})
        whose = f" of {rater}" if rater else ""
        raise UserError(
            f"{run} has no {metric}{whose}; there are {', '.join(metrics)} of {', '.join(raters)}."
        )
    failures = [sentence for result in found if (sentence := missed(result, at_least))]
    if failures:
        raise AssertionError(" ".join(failures))


def read_results(run: str | Path) -> list[Result]:
    """The records of a run's results.json."""
    path = Path(run)
    path = path / "results.json" if path.is_dir() else path
    try:
        body: Any = orjson.loads(path.read_bytes())
        return _RESULTS.validate_python([Result.from_dict(row) for row in body["results"]])
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); give a run's folder or its results.json."
        ) from error
    except (orjson.JSONDecodeError, KeyError, TypeError, ValidationError) as error:
        raise UserError(f"{path} is not the results.json of a run.") from error
