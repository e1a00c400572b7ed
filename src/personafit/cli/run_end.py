"""How a run ends on the command line: its table, its files, how it went, and the bars it was to reach."""

import math
from pathlib import Path

from personafit._errors import UserError
from personafit.benchmarks.config import Finished
from personafit.cli.common import (
    console,
    hint,
    make_folder,
    out_folder,
    print_json,
    say_end,
    say_if_long,
    write_results,
)
from personafit.reporting import Result
from personafit.reporting.assertions import Undecided, missed, totals
from personafit.reporting.junit import write_junit
from personafit.reporting.run_report import RunReport, open_report
from personafit.store import Store

METRICS = (
    "accuracy",
    "accuracy_debiased",
    "consistency",
    "lift",
    "restraint",
    "win_rate",
    "win_rate_debiased",
)
# What --fail-under may name in runs that are not choices.
OTHER_METRICS = {
    "recentering": ("f1", "precision", "recall", "accuracy", "kappa", "average_precision"),
    "responses": ("rating", "win_rate", "win_rate_length_controlled", "spearman"),
    "personalens": ("completion", "personalization", "naturalness", "coherence"),
    "injection": ("unmoved",),
    "lamp-writing": ("rouge_1", "rouge_l", "lift"),
}


def report_run(
    store: Store,
    finished: Finished,
    out: Path | None,
    json: bool,
    bars: list[tuple[str, float]],
    junit: Path | None = None,
    undecided: Undecided = Undecided.FAIL,
) -> int:
    """Print what there is, write the files, and say how the run ended; returns the exit code."""
    if "raters" not in finished.run.config:  # stopped while the systems were still answering
        if json:
            print_json("answers", [])
        return say_end_of(finished, None, bars, undecided)
    say_if_long(finished.run)
    report = open_report(store, finished.run)
    write_run(report, finished.run.name, out)
    if json:
        print_json(report.benchmark, report.results)
    else:
        report.print(console())
        print(f"Report: {out_folder(out, finished.run.name) / 'report.html'}")
    if junit is not None:
        write_junit(junit, report.results, bars, missed_coverage(report), undecided)
    return say_end_of(finished, report, bars, undecided)


def write_run(report: RunReport, name: str, out: Path | None) -> None:
    """Write report.html and results.json of a run."""
    folder = out_folder(out, name)
    make_folder(folder)
    try:
        write_results(folder, name, report.benchmark, report.results)
        report.write_html(folder / "report.html")
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error


def say_end_of(
    finished: Finished,
    report: RunReport | None,
    bars: list[tuple[str, float]],
    undecided: Undecided = Undecided.FAIL,
) -> int:
    """Say how a run ended and which bars it missed; returns the exit code."""
    code = say_end(finished.summary)
    if finished.summary.interrupted:
        return code
    if report is not None and (too_little := missed_coverage(report)):
        hint(f"personafit: {too_little}")
        code = max(code, 1)
    for metric, least in bars:
        code = max(code, _check_bar(metric, least, report.results if report else [], undecided))
    return code


def missed_coverage(report: RunReport) -> str | None:
    """The sentence that says too little was answered; None where enough was."""
    worst = report.worst_coverage()
    if worst is None or worst[1] >= report.coverage_bar:
        return None
    bar = f"{100 * report.coverage_bar:.0f} %"
    return f"coverage of {worst[0]} is {100 * worst[1]:.1f} %, below the bar of {bar}."


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
