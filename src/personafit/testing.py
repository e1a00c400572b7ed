"""Assertions for your own tests: `from personafit.testing import assert_lift`. The rules are those of `--fail-under`."""

from pathlib import Path
from typing import Literal

from personafit._errors import UserError
from personafit.api.run import Run, load
from personafit.reports.gate import COVERAGE, Bar, Undecided, bar_metric, gate_verdicts

FEWEST_ANSWERED = 0.95
"""The minimum coverage if no bar names another, as in `personafit run`."""


def assert_lift(
    run: Run | str | Path = "last",
    rater: str | None = None,
    at_least: float = 0.0,
    *,
    reuse: bool = False,
    undecided: Literal["fail", "pass"] = "fail",
) -> None:
    """Fail a test unless the run shows a lift of at least `at_least`; the arguments are those of `assert_metric`."""
    assert_metric(run, "lift", rater, at_least, reuse=reuse, undecided=undecided)


def assert_metric(
    run: Run | str | Path,
    metric: str,
    rater: str | None = None,
    at_least: float = 0.0,
    *,
    reuse: bool = False,
    undecided: Literal["fail", "pass"] = "fail",
) -> None:
    """Fail a test unless the run passes a gate.

    Args:
        run: What `evaluate` returned, a run's name, `last` for the run used last, or its folder.
        metric: The metric, or one slice of it as `win_rate[tier=hard]`.
        rater: The rater whose figure is tested, with or without options such as price and timeout; all raters by default.
        at_least: The bar: the 95 % interval has to lie above it, or below where lower is better, as for regret.
        reuse: Whether answers of an earlier run may count although the system may have changed since (an endpoint, a function).
        undecided: Whether a figure for which the run is inconclusive fails or passes.

    Raises:
        AssertionError: If a figure does not pass; the message has a sentence for each.
        UserError: If there is no such run or figure.
    """
    opened = run if isinstance(run, Run) else load(str(run))
    try:
        results, stale = opened.figures_by(metric), opened.answers["stale"]
    finally:
        if opened is not run:
            opened.close()
    bars: list[Bar] = [(metric, at_least)]
    if bar_metric(metric)[0] != COVERAGE:
        bars.append((COVERAGE, FEWEST_ANSWERED))
    verdicts = gate_verdicts(results, bars, rater)
    for one in verdicts:
        if one.metric == metric and not one.subject:
            raise UserError(one.reason)
    missed = [one.reason for one in verdicts if one.subject and one.stops(Undecided(undecided))]
    if stale and not reuse:
        missed.append(
            f"{stale:,} answers were reused from an earlier run, and the system may have changed since: run it with --fail-under or "
            "evaluate(..., reuse=False), which make them anew, or say reuse=True here."
        )
    if missed:
        raise AssertionError(" ".join(missed))


__all__ = ["assert_lift", "assert_metric"]
