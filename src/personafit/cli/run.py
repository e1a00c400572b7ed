"""`personafit run`: judge a benchmark, or a team's own answers."""

import asyncio
import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit._errors import UserError
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.estimate import estimate_run
from personafit.benchmarks.running import execute
from personafit.cli.common import (
    OnOption,
    console,
    hint,
    make_folder,
    out_folder,
    print_json,
    say_end,
    store_url,
    working_on,
    write_results,
)
from personafit.engine import Bars
from personafit.models import MODELS, parse_spec
from personafit.reporting import Result
from personafit.reporting.assertions import below, totals
from personafit.reporting.junit import write_junit
from personafit.reporting.run_report import RunReport, open_report
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
# What --fail-under may name in runs that are not choices.
OTHER_METRICS = {
    "recentering": ("f1", "precision", "recall", "accuracy", "kappa", "average_precision"),
    "responses": ("rating", "win_rate", "win_rate_length_controlled", "spearman"),
    "personalens": ("completion", "personalization", "naturalness", "coherence"),
    "injection": ("unmoved",),
}

DIALOGUES = 4  # held beside the choices of the starter set when a system is named

# Options that mean something in some runs only.
SPECIAL = {
    "system": ("answers", "responses", "personalens", "starter"),
    "given": ("answers", "responses", "personalens", "starter"),
    "log": ("answers",),
    "user": ("personalens", "starter"),
    "tasks": ("personalens", "starter"),
}

EPILOG = """
**Examples**

    personafit run starter --rater embedded

    personafit run personafeedback --data DIR --rater rule:length --rater openai:MODEL@http://HOST/v1

    personafit run answers --log answers.jsonl --judge openai:gpt-4.1-mini

    personafit run answers --system python:my_assistant:answer --judge openai:gpt-4.1-mini --limit 40

    personafit run recentering --data DIR --rater openai:MODEL --rater list:openai:MODEL

    personafit run responses --data starter --rater openai:MODEL --rater mention:openai:MODEL

    personafit run personalens --data starter --system openai:MODEL --user openai:OTHER --judge openai:THIRD --given none --given I

    personafit run injection --rater openai:gpt-4.1-mini --limit 48

    personafit run rewardbench --data DIR --rater reward:PATH

    personafit run suite.toml --fail-under lift=0.02

    personafit run personafeedback --data DIR --rater reward:MODEL --on ray://HEAD:6379 --store postgresql://HOST/DATABASE
"""


def run(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="starter, personafeedback, answers, recentering (which attributes matter), responses (does using them help), "
            "personalens (dialogues), injection (do judges obey the texts they judge), prefeval, personamem, lamp, rewardbench, helpsteer2, a benchmark folder, or a suite of several: FILE.toml."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the data in its published layout, or starter for the small set of the kind."
        ),
    ] = None,
    rater: Annotated[list[str] | None, typer.Option(help="Who judges; may be repeated.")] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="The same as --rater, as one says with --system.")
    ] = None,
    view: Annotated[
        list[str] | None, typer.Option(help="What raters see of the person; may be repeated.")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="System under test, for `answers`, `responses` and `personalens`; `starter` lets it hold a few dialogues."
        ),
    ] = None,
    given: Annotated[list[str] | None, typer.Option(help="What the system is told of the person.")] = None,
    log: Annotated[Path | None, typer.Option(help="JSONL log of a system's answers, for `answers`.")] = None,
    user: Annotated[
        str | None, typer.Option(help="Model that plays the user in dialogues; default is the embedded one.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="Dialogue tasks: SD, MD or all.")] = "all",
    users: Annotated[str | None, typer.Option(help="So many people, or a file of their ids.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE: only items of this slice, such as half=specific.")
    ] = None,
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
    on: OnOption = "local",
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
    if benchmark.endswith(".toml"):
        own = (data, rater, judge, view, system, given, log, user, users, where, junit)
        if any(own) or seed or samples != 1 or tasks != "all":
            raise UserError(
                f"{benchmark} says itself what is run, by whom and on what; beside it only --limit, --budget, --retry, --fail-under, "
                "--dry-run, --on, --store, --out and --json mean something."
            )
        from personafit.cli.run_suite import SuiteRunner, run_suite

        runner = SuiteRunner(Path(benchmark), limit, budget, frozenset(retry or []))
        every = tuple(
            dict.fromkeys([*METRICS, *(name for names in OTHER_METRICS.values() for name in names)])
        )
        bars = [parse_bar(text, every) for text in fail_under or []]
        with Store(store_url(store)) as opened, working_on(on):
            code = run_suite(runner, opened, bars, out, json, dry_run)
        if code:
            raise typer.Exit(code)
        return
    config = RunConfig(
        benchmark=benchmark,
        data=data,
        log=log,
        raters=[*(rater or []), *(judge or [])],
        views=view or [],
        systems=system or [],
        givens=given or [],
        user=user,
        tasks=tasks,
        users=users,
        where=where or [],
        limit=limit,
        seed=seed,
        samples=samples,
        budget=budget,
        retry=frozenset(retry or []),
        command=shlex.join(["personafit", *sys.argv[1:]]),
    )
    refuse_unused(config)
    _warn(config)
    bars = [parse_bar(text, OTHER_METRICS.get(benchmark, METRICS)) for text in fail_under or []]
    with Store(store_url(store)) as opened:
        if dry_run:
            plan = estimate_run(opened, config)
            print(
                orjson.dumps({"benchmark": benchmark, "results": [], "plan": plan}).decode() if json else plan
            )
            return
        if out is not None:  # found out now, not after an hour of judging
            make_folder(out)
        with working_on(on):
            with Bars() as progress:
                finished = asyncio.run(execute(opened, config, progress))
            code = report_run(opened, finished, out, json, bars, junit)
            if benchmark == "starter" and system and not finished.summary.interrupted:
                code = max(code, _talk(opened, config, out, json))
    if code:
        raise typer.Exit(code)


def _talk(store: Store, config: RunConfig, out: Path | None, json: bool) -> int:
    """Let the systems hold a few dialogues of the starter set as well; a run of its own, with a report of its own."""
    judges = [spec for spec in config.raters if parse_spec(spec).kind in MODELS]  # rules read no dialogues
    few = replace(
        config,
        benchmark="personalens",
        data=Path("starter"),
        limit=DIALOGUES,
        users=None,
        views=[],
        raters=judges,
    )
    _warn(few)
    with Bars() as progress:
        finished = asyncio.run(execute(store, few, progress))
    if json:  # one object was printed already: the numbers are in the folder
        report = open_report(store, finished.run)
        write_run(report, finished.run.name, out / "dialogues" if out else None)
        hint(f"Dialogues: personafit report {finished.run.name}")
        return say_end_of(finished, report, [])
    return report_run(store, finished, out / "dialogues" if out else None, json=False, bars=[])


def refuse_unused(config: RunConfig) -> None:
    """An option that would do nothing is a misunderstanding: say so before anything is asked."""
    named = {
        "system": config.systems,
        "given": config.givens,
        "log": config.log,
        "user": config.user,
        "tasks": config.tasks != "all",
    }
    for option, benchmarks in SPECIAL.items():
        if named[option] and config.benchmark not in benchmarks:
            raise UserError(
                f"--{option} means nothing in `run {config.benchmark}`, only in {' and '.join(benchmarks)}: leave it out."
            )


def _warn(config: RunConfig) -> None:
    """Say before the work what would make its result worth little."""
    if config.benchmark == "personalens":
        from personafit.benchmarks.personalens.plan import weak_model_note

        if (note := weak_model_note(config)) is not None:
            hint(f"personafit: {note}")


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
        return say_end_of(finished, None, bars)
    report = open_report(store, finished.run)
    write_run(report, finished.run.name, out)
    if json:
        print_json(report.benchmark, report.results)
    else:
        report.print(console())
        print(f"Report: {out_folder(out, finished.run.name) / 'report.html'}")
    if junit is not None:
        write_junit(junit, report.results, bars)
    return say_end_of(finished, report, bars)


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


def say_end_of(finished: Finished, report: RunReport | None, bars: list[tuple[str, float]]) -> int:
    """Say how a run ended and which bars it missed; returns the exit code."""
    code = say_end(finished.summary)
    if finished.summary.interrupted:
        return code
    worst = report.worst_coverage() if report is not None else None
    if report is not None and worst is not None and worst[1] < report.coverage_bar:
        bar = f"{100 * report.coverage_bar:.0f} %"
        hint(f"personafit: coverage of {worst[0]} is {100 * worst[1]:.1f} %, below the bar of {bar}.")
        code = max(code, 1)
    for metric, least in bars:
        code = max(code, _check_bar(metric, least, report.results if report else []))
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


def _check_bar(metric: str, least: float, results: list[Result]) -> int:
    found = totals(results, metric)
    if not found:
        raise UserError(f"--fail-under {metric}: there is no such metric in this run.")
    missed = [sentence for result in found if (sentence := below(result, least))]
    for sentence in missed:
        hint(f"personafit: {sentence}")
    return 1 if missed else 0


run.__doc__ = f"{run.__doc__}\n{EPILOG}"
