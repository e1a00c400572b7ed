"""How a run ended, in words and as an exit code, and whether it passes its gate (`--fail-under METRIC=X`)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from personafit._errors import UserError
from personafit.api.evaluating import Evaluation
from personafit.api.places import hint
from personafit.api.run import Run
from personafit.engine import Summary
from personafit.reporting.assertions import COVERAGE, MADE, Bar, Undecided, bar_metric, read_bar
from personafit.statistics.decisions import GateOutcome


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


def say_end_of(run: Run, undecided: Undecided = Undecided.FAIL) -> int:
    """Say how a run ended and which of its bars it does not pass; returns the exit code."""
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


def parse_bar(text: str, metrics: Sequence[str]) -> Bar:
    """What `METRIC=X` or `METRIC[NAME=VALUE]=X` says, or why it says nothing."""
    try:
        what, least = read_bar(text)
    except ValueError:
        what, least = text.partition("=")[0], math.nan
    metric = bar_metric(what)[0]
    if metric not in metrics:  # found out now, not after the run is paid for
        raise UserError(
            f"--fail-under {text}: there is no metric '{metric}'; there are {', '.join(metrics)}."
        )
    if not math.isfinite(least):
        raise UserError(
            f"--fail-under {text}: write METRIC=X with X a fraction, such as lift=0.05, or METRIC[NAME=VALUE]=X for a slice."
        )
    return what, least


def gate_metrics(ready: Evaluation) -> tuple[str, ...]:
    """The metrics that `--fail-under` may name in an evaluation."""
    made = [MADE] if ready.config.systems or ready.config.log else []
    return (*ready.kind.bars, COVERAGE, *made)


def gated(ready: Evaluation, bars: Sequence[str], reuse: bool) -> Evaluation:
    """The evaluation under a gate: its bars are kept with the run, and systems make their answers anew unless `reuse` says otherwise."""
    config, kind = ready.config, ready.kind
    if not bars:
        return ready
    for text in bars:
        parse_bar(text, gate_metrics(ready))
    if kind.judged and not (config.raters or kind.default_raters()):
        raise UserError(
            "--fail-under needs a judge: name one with --rater SPEC; rules that run as controls pass no gate."
        )
    return replace(ready, config=replace(config, gate=list(bars), fresh=not reuse))
