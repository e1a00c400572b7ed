"""`personafit run`: evaluate raters on a benchmark, or a system by its answers."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.text import Text

from personafit._errors import UserError
from personafit.api.evaluating import carry_out, prepare
from personafit.api.gate import gated
from personafit.benchmarks import BENCHMARKS, folder_kinds, no_benchmark
from personafit.benchmarks.suite import Suite, read_suite
from personafit.cli.common import (
    console,
    make_folder,
    report_run,
    store_url,
    this_command,
    working_on,
)
from personafit.cli.options import read_assignments
from personafit.reports.assertions import Undecided
from personafit.store import Status, Store

if TYPE_CHECKING:
    from personafit.api.suites import SuiteRunner

WHAT, SAMPLING = "What to evaluate", "Sampling"
COST, GATE = "Cost and resuming", "Gate and output"


def _names(incomplete: str) -> list[str]:
    """The benchmarks whose names begin like this, for shell completion."""
    return [name for name in [*BENCHMARKS, "answers"] if name.startswith(incomplete)]


def run(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK|FOLDER|ANSWERS.jsonl|SUITE.toml",
            autocompletion=_names,
            hidden=True,  # the first paragraph of the help says what it is
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=WHAT,
            help="Folder with the data as published, or `starter`.",
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(hidden=True)
    ] = None,  # guessed by many: said what to type instead
    rater: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", rich_help_panel=WHAT, help="Who judges. Repeatable."),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CTX", rich_help_panel=WHAT, help="What raters are told about the person. Repeatable."
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", rich_help_panel=WHAT, help="System under test. Repeatable."),
    ] = None,
    system_context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CTX",
            rich_help_panel=WHAT,
            help="What systems are told about the person. Repeatable.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="SPEC", rich_help_panel=WHAT, help="Model that plays the user in dialogues."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", rich_help_panel=WHAT, help="Kind of items, where a folder holds several."
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "-K",
            metavar="NAME=VALUE",
            rich_help_panel=WHAT,
            help="Option of one kind only, e.g. tasks=SD for dialogues.",
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="N|FILE",
            rich_help_panel=SAMPLING,
            help="Evaluate N people (sampled), or the ids listed in FILE.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            rich_help_panel=SAMPLING,
            help="Evaluate only items of this slice. Repeatable.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SAMPLING,
            help="Evaluate a stratified sample of N items.",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            rich_help_panel=SAMPLING,
            help="Ask every question N times; default 1.",
        ),
    ] = 1,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            show_default=False,
            rich_help_panel=SAMPLING,
            help="Seed of all random draws; default 0.",
        ),
    ] = 0,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", rich_help_panel=COST, help="Print the number of calls and their cost; ask nothing."
        ),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", rich_help_panel=COST, help="The most this command may spend."),
    ] = None,
    retry: Annotated[
        list[Status] | None,
        typer.Option(
            metavar="STATUS",
            rich_help_panel=COST,
            help="Re-ask what ended unparsed, refused, failed or skipped.",
        ),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            metavar="local|ray[://ADDR]",
            show_default=False,
            rich_help_panel=COST,
            help="Where local models run: this process, or a Ray cluster.",
        ),
    ] = "local",
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            rich_help_panel=COST,
            help="SQLite file (.personafit/store.db) or postgresql:// URL.",
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=X",
            rich_help_panel=GATE,
            help="Exit 1 unless the 95 % interval of METRIC, or METRIC[NAME=VALUE], lies above X.",
        ),
    ] = None,
    undecided: Annotated[
        Undecided,
        typer.Option(
            metavar="fail|pass",
            show_default=False,
            rich_help_panel=GATE,
            help="Whether a gate that cannot tell fails (default) or passes.",
        ),
    ] = Undecided.FAIL,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            rich_help_panel=GATE,
            help="Let a gate reuse answers that systems made in earlier runs.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=GATE, help="Folder for report.html and results.json."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=GATE, help="Write a JUnit file for CI.")
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", rich_help_panel=GATE, help="Print one JSON object and nothing else."),
    ] = False,
) -> None:
    """Evaluate raters on a benchmark, or a system by its answers. The same command resumes.

    `personafit data list` names the benchmarks; ANSWERS.jsonl is a log of your system's answers. Controls (no person, wrong
    person, length, overlap) are evaluated beside your raters.

    **Examples**

        personafit run starter --rater openai:MODEL --limit 50
        personafit run answers.jsonl --rater openai:MODEL --fail-under lift=0.05
    """
    if log is not None:
        known = benchmark in (*BENCHMARKS, "answers")
        raise UserError(
            ("" if known else f"{no_benchmark(benchmark)} ")
            + f"A file of answers is run by its name, without --log: personafit run {log}"
        )
    prepared = partial(
        prepare,
        benchmark,
        data=data,
        raters=rater or [],
        contexts=context or [],
        systems=system or [],
        system_contexts=system_context or [],
        user=user,
        options=read_assignments("-K", options),
        people=people,
        where=where or [],
        limit=limit,
        seed=seed,
        samples=samples,
        budget=budget,
        retry=retry or [],
        command=this_command(),
    )
    suite = None
    if benchmark.endswith(".toml"):
        own = (data, rater, context, system, system_context, user, options, people, where, kind)
        if any(own) or seed or samples != 1:
            raise UserError(
                f"{benchmark} says itself what is evaluated, by whom and on what; beside it only --limit, --budget, --retry, "
                "--fail-under, --undecided, --reuse, --junit, --dry-run, --backend, --store, --out and --json mean something."
            )
        suite = read_suite(Path(benchmark))
    elif kind is None and benchmark not in BENCHMARKS and len(held := folder_kinds(Path(benchmark))) > 1:
        title = Path(benchmark).resolve().name
        suite = Suite(title, [(prepared(kind=one).config, []) for one in held])
    if suite is not None:
        from personafit.api.suites import SuiteRunner

        name = Path(benchmark).resolve().stem
        runner = SuiteRunner(
            suite, name, limit, budget, frozenset(retry or []), undecided, fail_under or [], reuse
        )
        with Store(store_url(store)) as opened, working_on(backend):
            code = _run_suite(runner, opened, out, junit, json, dry_run)
    else:
        ready = gated(prepared(kind=kind), fail_under or [], reuse)
        with Store(store_url(store)) as opened:
            if dry_run:
                plan = ready.estimate(opened)
                body = {"benchmark": benchmark, "results": [], "plan": plan}
                print(orjson.dumps(body).decode() if json else plan)
                return
            if out is not None:  # found out now, not after an hour of judging
                make_folder(out)
            with working_on(backend):
                code = report_run(carry_out(ready, opened), out, json, junit, undecided)
    if code:
        raise typer.Exit(code)


def _run_suite(
    runner: "SuiteRunner",
    store: Store,
    out: Path | None,
    junit: Path | None,
    json: bool,
    dry_run: bool,
) -> int:
    """Run a suite and print its table; returns the exit code."""
    from personafit.api.suites import suite_names, suite_table

    if dry_run:
        plan = runner.estimate(store)
        print(
            orjson.dumps({"suite": runner.suite.title, "runs": [], "plan": plan}).decode() if json else plan
        )
        return 0
    came, code = runner.run(store)
    if junit is not None:
        runner.write_junit(came, junit)
    if json:
        sys.stdout.buffer.write(runner.body(came) + b"\n")
    if came:
        page = runner.write(store, came, out)
        if not json:
            console().print(suite_table(runner.suite.title, came))
            for name, one in zip(suite_names(came), came, strict=True):
                for note in one.run.record.config.get("notes", []):
                    console().print(Text(f"{name}: {note}", style="dim"))
            print(f"Report: {page}")
    return code
