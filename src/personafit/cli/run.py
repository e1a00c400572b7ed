"""`personafit run`: evaluate raters on a benchmark, or a system by its answers."""

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from personafit import Run, Status, Store
from personafit.api.evaluating import carry_out
from personafit.api.gate import Undecided, run_checks, say_end_of, write_junit
from personafit.api.places import make_folder, out_folder, store_url, working_on
from personafit.api.planning import ASKED, BENCHMARKS, EvaluationPlan, gated, prepare
from personafit.cli.common import console, print_object, this_command
from personafit.cli.options import panel, read_assignments

_what, _sampling = panel("What to evaluate"), panel("Sampling")
_cost, _gate = panel("Cost and resuming"), panel("Gate and output")


def _names(incomplete: str) -> list[str]:
    """Return the benchmarks whose names start with `incomplete`, for shell completion."""
    return [name for name in [*BENCHMARKS, "answers"] if name.startswith(incomplete)]


def run(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK|FOLDER|ANSWERS.jsonl|SUITE.toml",
            autocompletion=_names,
            hidden=True,  # the first paragraph of the help describes it
        ),
    ],
    data: Annotated[Path | None, _what(metavar="DIR", help="Folder of the data, or `starter`.")] = None,
    raters: Annotated[
        list[str] | None,
        _what("--rater", metavar="SPEC", help="Who judges, e.g. openai:MODEL. Repeatable."),
    ] = None,
    contexts: Annotated[
        list[str] | None,
        _what("--context", metavar="CTX", help="What raters are told, e.g. none. Repeatable."),
    ] = None,
    systems: Annotated[
        list[str] | None,
        _what("--system", metavar="SPEC", help="System tested, e.g. openai:MODEL. Repeatable."),
    ] = None,
    system_contexts: Annotated[
        list[str] | None, _what("--system-context", metavar="CTX", help="What systems are told. Repeatable.")
    ] = None,
    user: Annotated[str | None, _what(metavar="SPEC", help="Simulated user of dialogues.")] = None,
    kind: Annotated[str | None, _what(metavar="KIND", help="Only items of this kind.")] = None,
    options: Annotated[
        list[str] | None, _what("-K", metavar="NAME=VALUE", help="Option of one kind, e.g. tasks=SD.")
    ] = None,
    people: Annotated[
        str | None, _sampling(metavar="N|FILE", help="N people (sampled), or the ids in FILE.")
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
    dry_run: Annotated[bool, _cost("--dry-run", help="Count calls and cost; ask nothing.")] = False,
    budget: Annotated[
        float | None, _cost(min=0, metavar="USD", help="The most this command may spend.")
    ] = None,
    retry: Annotated[
        list[Status] | None, _cost(metavar="STATUS", help="Re-ask unparsed, refused, failed ...")
    ] = None,
    backend: Annotated[
        str, _cost(metavar="local|ray[://ADDR]", show_default=False, help="Run local models here or on Ray.")
    ] = "local",
    store: Annotated[str | None, _cost(metavar="URL", help="SQLite file or postgresql:// URL.")] = None,
    fail_under: Annotated[
        list[str] | None,
        _gate(
            metavar="METRIC=X",
            help="Exit 1 unless the 95 % interval of METRIC, or METRIC[NAME=VALUE], is above X (below, if lower is better).",
        ),
    ] = None,
    undecided: Annotated[
        Undecided,
        _gate(metavar="fail|pass", show_default=False, help='What "cannot tell" counts as; default fail.'),
    ] = Undecided.FAIL,
    reuse: Annotated[bool, _gate("--reuse", help="Let a gate reuse systems' earlier answers.")] = False,
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
    asked = {name: value for name, value in locals().items() if name in ASKED}
    asked |= {"options": read_assignments("-K", options), "command": this_command()}
    plan = gated(prepare(benchmark, **asked), fail_under or [], reuse)
    with Store(store_url(store)) as opened, working_on(backend):
        if dry_run:
            _print_plan(plan, plan.estimate(opened), json)
            return
        if out is not None:  # checked now, not after an hour of judging
            make_folder(out)
        code = _carry_out(plan, opened, out, json, junit, undecided)
    if code:
        raise typer.Exit(code)


def _print_plan(plan: EvaluationPlan, text: str, json: bool) -> None:
    """Print the estimate of a plan, as text or as one object."""
    about: dict[str, Any] = {"suite": plan.title, "runs": []}
    if not plan.name:
        about = {"benchmark": plan.runs[0].config.benchmark, "results": []}
    print(orjson.dumps({**about, "plan": text}).decode() if json else text)


def _carry_out(
    plan: EvaluationPlan, store: Store, out: Path | None, json: bool, junit: Path | None, undecided: Undecided
) -> int:
    """Carry out a plan, print the results, write the files and print how it ended; returns the exit code."""
    codes = [0]

    def ended(run: Run) -> None:
        """Write the files of one of several runs and print how it ended, without waiting for the others."""
        if plan.name:
            if run.judged:
                run.write(out_folder(None, run.name))
            codes.append(say_end_of(run, undecided))

    run = carry_out(plan, store, ended=ended)
    page = run.write(out_folder(out, run.name, "suites" if plan.name else "runs")) if run.judged else None
    if json:
        print_object(run.as_dict())
    elif page is not None:
        run.print(console())
        print(f"Report: {page}")
    if junit is not None and (plan.name or page is not None):
        write_junit(junit, run_checks(run, undecided))
    if not plan.name:
        codes.append(say_end_of(run, undecided))
    return max([*codes, *(error.code for _, error in run.errors)])
