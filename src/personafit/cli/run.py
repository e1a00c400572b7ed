"""`personafit run`: judge a benchmark, or a team's own answers."""

from functools import partial
from pathlib import Path
from typing import Annotated

import orjson
import typer

from personafit._errors import UserError
from personafit.api.evaluating import carry_out, prepare
from personafit.benchmarks import BENCHMARKS, folder_kinds
from personafit.benchmarks.suite import Suite, read_suite
from personafit.cli.common import make_folder, store_url, this_command, working_on
from personafit.cli.options import BudgetOption, JsonOption, OnOption, RetryOption, StoreOption
from personafit.cli.run_end import parse_bar, report_run
from personafit.kinds import KINDS, find_kind
from personafit.reporting.assertions import Undecided
from personafit.store import Status, Store

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

    personafit run personafeedback --data DIR --rater blend:fitted:PATH+reward:PATH

    personafit run lamp-writing --data DIR --system openai:MODEL

    personafit run suite.toml --fail-under lift=0.02 --junit junit.xml

    personafit run personafeedback --data DIR --rater reward:MODEL --on ray://HEAD:6379 --store postgresql://HOST/DATABASE
"""


def run(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="starter, personafeedback, answers, recentering (which attributes matter), responses (does using them help), "
            "personalens (dialogues), injection (do judges obey the texts they judge), prefeval, personamem, lamp, lamp-writing (headlines, titles, tweets), rewardbench, helpsteer2, a benchmark folder, or a suite of several: FILE.toml."
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
            help="System under test: for `answers`, `responses`, `personalens`, `lamp-writing`, and folders of tasks."
        ),
    ] = None,
    given: Annotated[list[str] | None, typer.Option(help="What the system is told of the person.")] = None,
    log: Annotated[Path | None, typer.Option(help="JSONL log of a system's answers, for `answers`.")] = None,
    user: Annotated[
        str | None, typer.Option(help="Model that plays the user in dialogues; default is the embedded one.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="Dialogue tasks: SD, MD or all.")] = "all",
    kind: Annotated[
        str | None, typer.Option(help="Which items are meant, where a folder holds several kinds.")
    ] = None,
    users: Annotated[str | None, typer.Option(help="So many people, or a file of their ids.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE: only items of this slice, such as half=specific.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="A stratified sample of so many items.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    samples: Annotated[
        int, typer.Option(min=1, help="Ask everything so many times; give the model a temperature for it.")
    ] = 1,
    budget: BudgetOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it would cost.")
    ] = False,
    on: OnOption = "local",
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for report.html and results.json.")] = None,
    retry: RetryOption = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            help="METRIC=X: fail (exit 1) unless the 95 % interval of METRIC lies above X for every rater; may be repeated."
        ),
    ] = None,
    undecided: Annotated[
        Undecided,
        typer.Option(help="With --fail-under: whether a number that cannot be told to reach its bar fails."),
    ] = Undecided.FAIL,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file for CI.")] = None,
    json: JsonOption = False,
) -> None:
    """Judge every item, in both orders, under every view; the same command goes on where it was interrupted.

    The longest answer and the most overlap are judged beside whatever you ask for; so are the views of no person and
    of the wrong person, unless you name the views you want with --view.
    """
    prepared = partial(
        prepare,
        benchmark,
        data=data,
        log=log,
        raters=[*(rater or []), *(judge or [])],
        contexts=view or [],
        systems=system or [],
        system_contexts=given or [],
        user=user,
        tasks=tasks,
        people=users,
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
        own = (data, rater, judge, view, system, given, log, user, users, where, kind)
        if any(own) or seed or samples != 1 or tasks != "all":
            raise UserError(
                f"{benchmark} says itself what is run, by whom and on what; beside it only --limit, --budget, --retry, --fail-under, "
                "--undecided, --junit, --dry-run, --on, --store, --out and --json mean something."
            )
        suite = read_suite(Path(benchmark))
    elif kind is None and benchmark not in BENCHMARKS and len(held := folder_kinds(Path(benchmark))) > 1:
        title = Path(benchmark).resolve().name
        suite = Suite(title, [(prepared(kind=one).config, []) for one in held])
    if suite is not None:
        code = _run_suite(
            suite,
            Path(benchmark).resolve().stem,
            limit,
            budget,
            retry,
            undecided,
            fail_under,
            store,
            on,
            out,
            junit,
            json,
            dry_run,
        )
        if code:
            raise typer.Exit(code)
        return
    ready = prepared(kind=kind)
    bars = [parse_bar(text, ready.kind.bars) for text in fail_under or []]
    with Store(store_url(store)) as opened:
        if dry_run:
            plan = ready.estimate(opened)
            print(
                orjson.dumps({"benchmark": benchmark, "results": [], "plan": plan}).decode() if json else plan
            )
            return
        if out is not None:  # found out now, not after an hour of judging
            make_folder(out)
        with working_on(on):
            done = carry_out(ready, opened)
            code = report_run(done, out, json, bars, junit, undecided)
    if code:
        raise typer.Exit(code)


def _run_suite(
    suite: Suite,
    name: str,
    limit: int | None,
    budget: float | None,
    retry: list[Status] | None,
    undecided: Undecided,
    fail_under: list[str] | None,
    store: str | None,
    on: str,
    out: Path | None,
    junit: Path | None,
    json: bool,
    dry_run: bool,
) -> int:
    """Run several benchmarks, or the kinds of one folder, one after the other; returns the exit code."""
    from personafit.cli.run_suite import SuiteRunner, run_suite

    runner = SuiteRunner(suite, name, limit, budget, frozenset(retry or []), undecided)
    every = tuple(dict.fromkeys(metric for kind in KINDS for metric in find_kind(kind).bars))
    bars = [parse_bar(text, every) for text in fail_under or []]
    with Store(store_url(store)) as opened, working_on(on):
        return run_suite(runner, opened, bars, out, junit, json, dry_run)


run.__doc__ = f"{run.__doc__}\n{EPILOG}"
