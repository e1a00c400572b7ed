"""`personafit run`: judge a benchmark, or a team's own answers."""

import asyncio
import math
import shlex
import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit._errors import UserError
from personafit.benchmarks.estimate import estimate_run
from personafit.benchmarks.running import Finished, RunConfig, execute
from personafit.cli.common import console, hint, make_folder, out_folder, print_json, store_url, write_results
from personafit.engine import Bars
from personafit.reporting import (
    Result,
    RunScores,
    explain,
    load_scores,
    print_run,
    run_results,
    worst_coverage,
)
from personafit.reporting.assertions import below, totals
from personafit.reporting.html import write_report
from personafit.reporting.junit import write_junit
from personafit.store import Status, Store

METRICS = (
    "accuracy",
    "accuracy_debiased",
    "consistency",
    "lift",
    "restraint",
    "win_rate",
    "win_rate_debiased",
)

EPILOG = """
**Examples**

    personafit run starter --rater embedded

    personafit run personafeedback --data DIR --rater rule:length --rater openai:MODEL@http://HOST/v1

    personafit run answers --log answers.jsonl --judge openai:gpt-4.1-mini

    personafit run answers --system python:my_assistant:answer --judge openai:gpt-4.1-mini --limit 40
"""


def run(
    benchmark: Annotated[
        str, typer.Argument(help="starter, personafeedback, answers, or a benchmark folder.")
    ],
    data: Annotated[Path | None, typer.Option(help="Folder with the data in its published layout.")] = None,
    rater: Annotated[list[str] | None, typer.Option(help="Who judges; may be repeated.")] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="The same as --rater, as one says with --system.")
    ] = None,
    view: Annotated[
        list[str] | None, typer.Option(help="What raters see of the person; may be repeated.")
    ] = None,
    system: Annotated[list[str] | None, typer.Option(help="System under test, for `answers`.")] = None,
    given: Annotated[list[str] | None, typer.Option(help="What the system is told of the person.")] = None,
    log: Annotated[Path | None, typer.Option(help="JSONL log of a system's answers, for `answers`.")] = None,
    users: Annotated[str | None, typer.Option(help="So many people, or a file of their ids.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="A stratified sample of so many items.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    samples: Annotated[
        int, typer.Option(min=1, help="Ask everything so many times; give the model a temperature for it.")
    ] = 1,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Stop before spending more than this, in USD.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(help="File or postgresql:// URL; default .personafit/store.db.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for report.html and results.json.")] = None,
    retry: Annotated[
        list[Status] | None, typer.Option(help="Ask again where this was the end: unparsed, …")
    ] = None,
    fail_under: Annotated[
        list[str] | None, typer.Option(help="METRIC=X: exit 1 if a rater's total is below.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file for CI.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Judge every item, in both orders, under every view; the same command goes on where it was interrupted.

    The longest answer and the most overlap are judged beside whatever you ask for; so are the views of no person and
    of the wrong person, unless you name the views you want with --view.
    """
    config = RunConfig(
        benchmark=benchmark,
        data=data,
        log=log,
        raters=[*(rater or []), *(judge or [])],
        views=view or [],
        systems=system or [],
        givens=given or [],
        users=users,
        limit=limit,
        seed=seed,
        samples=samples,
        budget=budget,
        retry=frozenset(retry or []),
        command=shlex.join(["personafit", *sys.argv[1:]]),
    )
    bars = [_parse_bar(text) for text in fail_under or []]
    with Store(store_url(store)) as opened:
        if dry_run:
            plan = estimate_run(opened, config)
            print(
                orjson.dumps({"benchmark": benchmark, "results": [], "plan": plan}).decode() if json else plan
            )
            return
        if out is not None:  # found out now, not after an hour of judging
            make_folder(out)
        with Bars() as progress:
            finished = asyncio.run(execute(opened, config, progress))
        code = report_run(opened, finished, out, json, bars, junit)
    if code:
        raise typer.Exit(code)


def report_run(
    store: Store,
    finished: Finished,
    out: Path | None,
    json: bool,
    bars: list[tuple[str, float]],
    junit: Path | None = None,
) -> int:
    """Print what there is, write the files, and say how the run ended; returns the exit code."""
    if "raters" not in finished.run.config:  # stopped while the systems were still answering
        if json:
            print_json("answers", [])
        return _say_end(finished, None, bars, [])
    scores = load_scores(store, finished.run)
    results = run_results(scores)
    folder = out_folder(out, finished.run.name)
    make_folder(folder)
    try:
        write_results(folder, finished.run.name, scores.info["name"], results)
        write_report(store, scores, results, folder / "report.html")
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}); choose another with --out."
        ) from error
    if json:
        print_json(scores.info["name"], results)
    else:
        print_run(console(), scores, results)
        for sentence in explain(results):
            print(sentence)
        print(f"Report: {folder / 'report.html'}")
    if junit is not None:
        write_junit(junit, results, bars)
    return _say_end(finished, scores, bars, results)


def _say_end(
    finished: Finished,
    scores: RunScores | None,
    bars: list[tuple[str, float]],
    results: list[Result],
) -> int:
    summary, code = finished.summary, 0
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
    worst = worst_coverage(scores) if scores is not None else None
    if scores is not None and worst is not None and worst[1] < scores.info["coverage_bar"]:
        bar = f"{100 * scores.info['coverage_bar']:.0f} %"
        hint(f"personafit: coverage of {worst[0]} is {100 * worst[1]:.1f} %, below the bar of {bar}.")
        code = max(code, 1)
    for metric, least in bars:
        code = max(code, _check_bar(metric, least, results))
    return code


def _parse_bar(text: str) -> tuple[str, float]:
    metric, _, value = text.partition("=")
    try:
        least = float(value)
    except ValueError:
        least = math.nan
    if metric not in METRICS:  # found out now, not after the run is paid for
        raise UserError(
            f"--fail-under {text}: there is no metric '{metric}'; there are {', '.join(METRICS)}."
        )
    if not math.isfinite(least):
        raise UserError(f"--fail-under {text}: write METRIC=X with X a fraction, such as lift=0.05.")
    return metric, least


def _check_bar(metric: str, least: float, results: list[Result]) -> int:
    found = totals(results, metric)
    if not found:
        raise UserError(f"--fail-under {metric}: there is no such metric in this run.")
    missed = [sentence for result in found if (sentence := below(result, least))]
    for sentence in missed:
        hint(f"personafit: {sentence}")
    return 1 if missed else 0


run.__doc__ = f"{run.__doc__}\n{EPILOG}"
