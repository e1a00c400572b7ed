"""How a run ends on the command line: its table, its files, how it went, and the bars it was to reach."""

import math
from pathlib import Path

from personafit._errors import UserError
from personafit.api.run import Run
from personafit.cli.common import console, hint, out_folder, print_json, print_object, say_end
from personafit.reporting import Result
from personafit.reporting.assertions import Undecided, missed, totals


def report_run(
    run: Run,
    out: Path | None,
    json: bool,
    bars: list[tuple[str, float]],
    junit: Path | None = None,
    undecided: Undecided = Undecided.FAIL,
) -> int:
    """Print what there is, write the files, and say how the run ended; returns the exit code."""
    if not run.judged:  # stopped while the systems were still answering
        if json:
            print_json("answers", [])
        return say_end_of(run, bars, undecided)
    page = write_run(run, out)
    if json:
        print_object(run.as_dict())
    else:
        run.print(console())
        print(f"Report: {page}")
    if junit is not None:
        from personafit.reporting.junit import write_junit

        write_junit(junit, run.figures, bars, run.coverage_gap, undecided)
    return say_end_of(run, bars, undecided)


def write_run(run: Run, out: Path | None) -> Path:
    """Write the files of a run where they belong, and return where the page is."""
    return run.write(out_folder(out, run.name))


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
