"""How a run ended, as messages and an exit code, and whether it passes its gate (`--fail-under METRIC=X`)."""

from personafit.api.places import hint
from personafit.api.run import Run
from personafit.engine import Summary
from personafit.reports.gate import COVERAGE, RunCheck, Undecided, bar_metric, write_junit
from personafit.statistics.decisions import GateOutcome


def say_end(summary: Summary) -> int:
    """Print what was spent and what stopped, was interrupted or failed; returns the exit code so far."""
    code = 0
    if summary.cost:
        hint(f"Spent {summary.cost:.4f} USD ({summary.tokens_in:,} tokens in, {summary.tokens_out:,} out).")
    for lane in summary.lanes:
        if lane.stopped:
            hint(f"personafit: {lane.name} stopped: {lane.stopped}")
            nothing = lane.finished == lane.failed == lane.reused == 0
            code = max(code, 2 if lane.unusable and nothing else 1)
    if summary.interrupted:
        hint("personafit: interrupted; what was done is kept and the same command goes on from there.")
        return 130
    if (failed := summary.why_failed) is not None:
        hint(f"personafit: {failed}")
    return code


def say_end_of(run: Run, undecided: Undecided = Undecided.FAIL) -> int:
    """Print how a run ended and which of its bars it does not pass; returns the exit code."""
    assert run.summary is not None
    code = say_end(run.summary)
    if run.interrupted or not run.judged:
        return code
    named = {bar_metric(what)[0] for what, _ in run.bars}
    if COVERAGE not in named and (too_little := run.coverage_gap) is not None:
        hint(f"personafit: {too_little}")
        code = max(code, 1)
    for one in run.verdict.gate:
        if one.outcome != GateOutcome.PASSES:
            hint(f"personafit: {one.reason}")
        if one.stops(undecided):
            code = max(code, 1 if one.subject else 2)
    return code


def run_checks(run: Run, undecided: Undecided) -> list[RunCheck]:
    """Return the checks of a run, or of each of several, for JUnit; a run that could not be made is an error."""
    return [
        *(
            RunCheck(one.name, one.figures, one.verdict.gate, missed=one.coverage_gap, undecided=undecided)
            for one in run.runs
            if one.judged
        ),
        *(RunCheck(name, error=str(error)) for name, error in run.errors),
    ]


__all__ = ["Undecided", "run_checks", "say_end", "say_end_of", "write_junit"]
