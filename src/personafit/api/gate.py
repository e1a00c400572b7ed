"""How a run ended, in words and as an exit code, and whether it passes its gate (`--fail-under METRIC=X`)."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from personafit._errors import UserError
from personafit.api.evaluating import Evaluation
from personafit.api.places import hint
from personafit.api.run import Run
from personafit.benchmarks.answers import Answers
from personafit.benchmarks.benchmark import Prompts
from personafit.engine import Summary
from personafit.reports.gate import COVERAGE, MADE, Bar, RunCheck, Undecided, bar_metric, read_bar
from personafit.statistics.decisions import GateOutcome

MOST_VALUES = 20  # that a sentence lists


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
            f"personafit: {summary.failed} {'ask' if summary.failed == 1 else 'asks'} failed ({summary.last_failure}); "
            "the same command tries again."
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


def run_check(run: Run, undecided: Undecided) -> RunCheck:
    """The checks of a run, for JUnit."""
    return RunCheck(run.name, run.figures, run.verdict.gate, missed=run.coverage_gap, undecided=undecided)


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
    bars, systems = ready.kind.bars, bool(ready.config.systems)
    if ready.kind.name == "choice":  # an answer is right, or it wins against another
        wins = systems or ready.benchmark.info.metric == "win_rate"
        bars = tuple(name for name in bars if not name.startswith("accuracy" if wins else "win_rate"))
    made = [MADE] if systems or isinstance(ready.benchmark, Answers) else []
    return (*bars, COVERAGE, *made)


def known_slices(ready: Evaluation) -> dict[str, set[str]]:
    """The slices that the items of an evaluation are in, each with its values; answers that are yet to be made included."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in ready.benchmark.items():
        for name, value in item.slices.items():
            found[name].add(value)
    tiers = [row.extra["tier"] for row in ready.benchmark.gold() if row.extra and row.extra.get("tier")]
    if isinstance(ready.benchmark, Prompts):
        tiers += ready.benchmark.tiers().values()
        found["against"] |= {"generic", "wrong"}
    if tiers:
        found["tier"] |= set(map(str, tiers))
    return found


def check_bars(ready: Evaluation, bars: Sequence[str]) -> None:
    """Refuse bars on a metric or a slice that the evaluation cannot have: now, not after it is paid for."""
    kind, contexts = ready.kind, ready.config.contexts
    metrics, slices = gate_metrics(ready), None
    for text in bars:
        metric, within = bar_metric(parse_bar(text, metrics)[0])
        for name, value in within.items():
            slices = known_slices(ready) if slices is None else slices
            if (
                name not in slices and name not in kind.computed_slices
            ):  # these are known once the run is read back
                there = ", ".join(sorted({*slices, *kind.computed_slices}))
                listed = f"their slices are {there}." if there else "they have no slices."
                raise UserError(f"--fail-under {text}: items have no '{name}'; {listed}")
            if name in slices and value not in slices[name]:
                values = ", ".join(sorted(slices[name])[:MOST_VALUES])
                raise UserError(f"--fail-under {text}: no item has {name}={value}; there are {values}.")
        told_apart = "none" in contexts and any(name.startswith("wrong:") for name in contexts)
        if metric == "lift" and kind.name == "choice" and contexts and not told_apart:
            raise UserError(
                f"--fail-under {text}: a lift is over choices told of nobody and of somebody else; add --context none and "
                "--context wrong:profile, or name no context."
            )


def gated(ready: Evaluation, bars: Sequence[str], reuse: bool, fresh: bool = False) -> Evaluation:
    """The evaluation under a gate: its bars are kept with the run, and systems make their answers anew unless `reuse` says otherwise.

    `fresh` says that they do even if no bar is on this run, as where others of its suite have one.
    """
    config, kind = ready.config, ready.kind
    fresh = (fresh or bool(bars)) and not reuse
    if not bars:
        return replace(ready, config=replace(config, fresh=config.fresh or fresh))
    check_bars(ready, bars)
    if kind.judged and not (config.raters or kind.default_raters()):
        raise UserError(
            "--fail-under needs a judge: name one with --rater SPEC; rules that run as controls pass no gate."
        )
    return replace(ready, config=replace(config, gate=list(bars), fresh=fresh))
