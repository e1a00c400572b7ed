"""`personafit run`: evaluate raters on a benchmark, or a system by its answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from personafit._errors import UserError
from personafit.api.evaluating import carry_out, prepare
from personafit.api.gate import gated
from personafit.api.places import make_folder, store_url, working_on
from personafit.benchmarks import BENCHMARKS, folder_kinds
from personafit.cli.common import console, print_object, report_run, this_command
from personafit.cli.options import panel, read_assignments
from personafit.reports.gate import Undecided
from personafit.reports.pieces import Sentences
from personafit.reports.terminal import print_pieces
from personafit.store import Status, Store

if TYPE_CHECKING:
    from personafit.api.suites import SuiteRunner

_what, _sampling = panel("What to evaluate"), panel("Sampling")
_cost, _gate = panel("Cost and resuming"), panel("Gate and output")


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
        Path | None, _what(metavar="DIR", help="Folder with the data as published, or `starter`.")
    ] = None,
    rater: Annotated[list[str] | None, _what(metavar="SPEC", help="Who judges. Repeatable.")] = None,
    context: Annotated[
        list[str] | None, _what(metavar="CTX", help="What raters are told about the person. Repeatable.")
    ] = None,
    system: Annotated[list[str] | None, _what(metavar="SPEC", help="System under test. Repeatable.")] = None,
    system_context: Annotated[
        list[str] | None, _what(metavar="CTX", help="What systems are told about the person. Repeatable.")
    ] = None,
    user: Annotated[str | None, _what(metavar="SPEC", help="Model that plays the user in dialogues.")] = None,
    kind: Annotated[
        str | None, _what(metavar="KIND", help="Kind of items, where a folder holds several.")
    ] = None,
    options: Annotated[
        list[str] | None,
        _what("-K", metavar="NAME=VALUE", help="Option of one kind only, e.g. tasks=SD for dialogues."),
    ] = None,
    people: Annotated[
        str | None,
        _sampling(metavar="N|FILE", help="Evaluate N people (sampled), or the ids listed in FILE."),
    ] = None,
    where: Annotated[
        list[str] | None,
        _sampling(metavar="NAME=VALUE", help="Evaluate only items of this slice. Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, _sampling(min=1, metavar="N", help="Evaluate a stratified sample of N items.")
    ] = None,
    samples: Annotated[
        int, _sampling(min=1, metavar="N", show_default=False, help="Ask every question N times; default 1.")
    ] = 1,
    seed: Annotated[
        int, _sampling(metavar="N", show_default=False, help="Seed of all random draws; default 0.")
    ] = 0,
    dry_run: Annotated[
        bool, _cost("--dry-run", help="Print the number of calls and their cost; ask nothing.")
    ] = False,
    budget: Annotated[
        float | None, _cost(min=0, metavar="USD", help="The most this command may spend.")
    ] = None,
    retry: Annotated[
        list[Status] | None,
        _cost(metavar="STATUS", help="Re-ask what ended unparsed, refused, failed or skipped."),
    ] = None,
    backend: Annotated[
        str,
        _cost(
            metavar="local|ray[://ADDR]",
            show_default=False,
            help="Where local models run: this process, or a Ray cluster.",
        ),
    ] = "local",
    store: Annotated[
        str | None, _cost(metavar="URL", help="SQLite file (.personafit/store.db) or postgresql:// URL.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        _gate(
            metavar="METRIC=X",
            help="Exit 1 unless the 95 % interval of METRIC, or METRIC[NAME=VALUE], lies above X, or below X where lower is better.",
        ),
    ] = None,
    undecided: Annotated[
        Undecided,
        _gate(
            metavar="fail|pass",
            show_default=False,
            help="Whether a gate that cannot tell fails (default) or passes.",
        ),
    ] = Undecided.FAIL,
    reuse: Annotated[
        bool, _gate("--reuse", help="Let a gate reuse answers that systems made in earlier runs.")
    ] = False,
    out: Annotated[Path | None, _gate(metavar="DIR", help="Folder for report.html and results.json.")] = None,
    junit: Annotated[Path | None, _gate(metavar="FILE", help="Write a JUnit file for CI.")] = None,
    json: Annotated[bool, _gate("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Evaluate raters on a benchmark, or a system by its answers. The same command resumes.

    `personafit data list` names the benchmarks; ANSWERS.jsonl is a log of your system's answers. Controls (no person, wrong
    person, length, overlap) are evaluated beside your raters.

    **Examples**

        personafit run starter --rater openai:MODEL --limit 50
        personafit run answers.jsonl --rater openai:MODEL --fail-under lift=0.05
    """
    asked: dict[str, Any] = {
        "data": data,
        "raters": rater or [],
        "contexts": context or [],
        "systems": system or [],
        "system_contexts": system_context or [],
        "user": user,
        "options": read_assignments("-K", options),
        "people": people,
        "where": where or [],
        "limit": limit,
        "seed": seed,
        "samples": samples,
        "budget": budget,
        "retry": retry or [],
        "command": this_command(),
    }
    suite = None
    if benchmark.endswith(".toml"):
        own = (data, rater, context, system, system_context, user, options, people, where, kind)
        if any(own) or seed or samples != 1:
            raise UserError(
                f"{benchmark} says itself what is evaluated, by whom and on what; beside it only --limit, --budget, --retry, "
                "--fail-under, --undecided, --reuse, --junit, --dry-run, --backend, --store, --out and --json mean something."
            )
        from personafit.benchmarks.suite import read_suite

        suite = read_suite(Path(benchmark))
    elif kind is None and benchmark not in BENCHMARKS and len(held := folder_kinds(Path(benchmark))) > 1:
        from personafit.benchmarks.suite import Suite, SuiteEntry

        title = Path(benchmark).resolve().name
        suite = Suite(title, [SuiteEntry(benchmark, asked | {"kind": one}, []) for one in held])
    if suite is not None:
        from personafit.api.suites import SuiteRunner

        runner = SuiteRunner(suite, limit, budget, retry or [], undecided, fail_under or [], reuse)
        with Store(store_url(store)) as opened, working_on(backend):
            if dry_run:
                _print_plan(runner.estimate(opened), {"suite": suite.title, "runs": []}, json)
                return
            code = _run_suite(runner, opened, Path(benchmark).resolve().stem, out, junit, json)
    else:
        ready = gated(prepare(benchmark, **asked, kind=kind), fail_under or [], reuse)
        with Store(store_url(store)) as opened, working_on(backend):
            if dry_run:
                _print_plan(ready.estimate(opened), {"benchmark": benchmark, "results": []}, json)
                return
            if out is not None:  # found out now, not after an hour of judging
                make_folder(out)
            code = report_run(carry_out(ready, opened), out, json, junit, undecided)
    if code:
        raise typer.Exit(code)


def _print_plan(plan: str, body: dict[str, Any], json: bool) -> None:
    """Print what a run would take, as words or as one object."""
    print(orjson.dumps({**body, "plan": plan}).decode() if json else plan)


def _run_suite(
    runner: "SuiteRunner", store: Store, name: str, out: Path | None, junit: Path | None, json: bool
) -> int:
    """Run a suite and print its table; returns the exit code."""
    runs, code = runner.run(store)
    if junit is not None:
        runner.write_junit(runs, junit)
    if json:
        print_object(runner.as_dict(runs))
    if runs:
        page, table = runner.write(store, runs, out, name)
        if not json:
            print_pieces([table], console())
            notes = [f"{one.name}: {note}" for one in runs for note in one.record.config.get("notes", [])]
            print_pieces([Sentences(notes, small=True)], console())
            print(f"Report: {page}")
    return code
