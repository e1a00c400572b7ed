"""How a run ended, in words and as an exit code, and whether it passes its gate (`--fail-under METRIC=X`)."""

import math

from personafit._errors import UserError
from personafit.api.places import hint
from personafit.api.run import Run
from personafit.engine import Summary
from personafit.reporting import Result
from personafit.reporting.assertions import Undecided, missed, totals


def say_end(summary: Summary) -> int:
    """Say what was spent and what came to a stop, was interrupted or failed; returns the exit code so far."""
    code = 0
    if summary.cost:
        hint(f"Spent {summary.cost:.4f} USD ({summary.tokens_in:,} tokens in, {summary.tokens_out:,} out).")
    for lane in summary.lanes:
        if lane.stopped:
            hint(f"personafit: {lane.name} stopped: {lane.stopped}")
            nothing = lane.finished == lane.failed == lane.reused == 0
            code = max(code, 2 if lane.unusable and nothing else 1)
    if summary.interrupted:
        hint("personafit: interrupted; what was judged is kept and the same command goes on from there.")
        return 130
    if summary.failed and not any(lane.stopped for lane in summary.lanes):
        hint(
            f"personafit: {summary.failed} asks failed ({summary.last_failure}); the same command tries them again."
        )
    return code


def say_end_of(run: Run, bars: list[tuple[str, float]], undecided: Undecided = Undecided.FAIL) -> int:
    """Say how a run ended and which bars it missed; returns the exit code."""
    assert run.summary is not None
    code = say_end(run.summary)
    if run.interrupted:
        return code
    if (too_little := run.coverage_gap) is not None:
        hint(f"personafit: {too_little}")
        code = max(code, 1)
    for metric, least in bars:
        code = max(code, _check_bar(metric, least, run.figures, undecided))
    return code


def parse_bar(text: str, metrics: tuple[str, ...]) -> tuple[str, float]:
    """What `METRIC=X` says, or why it says nothing."""
    metric, _, value = text.partition("=")
    try:
        least = float(value)
    except ValueError:
        least = math.nan
    if metric not in metrics:  # found out now, not after the run is paid for
        raise UserError(
            f"--fail-under {text}: there is no metric '{metric}'; there are {', '.join(metrics)}."
        )
    if not math.isfinite(least):
        raise UserError(f"--fail-under {text}: write METRIC=X with X a fraction, such as lift=0.05.")
    return metric, least


def _check_bar(metric: str, least: float, results: list[Result], undecided: Undecided) -> int:
    found = totals(results, metric)
    if not found:
        raise UserError(f"--fail-under {metric}: there is no such metric in this run.")
    code = 0
    for result in found:
        if sentence := missed(result, least):
            hint(f"personafit: {sentence}")
        code = max(code, int(missed(result, least, undecided) is not None))
    return code
