"""`evaluate`: judge a benchmark, rows of your own, or a system's answers, as `personafit run` does."""

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from personafit._errors import UserError
from personafit.api.callables import Judge, Named
from personafit.api.loops import run_to_end
from personafit.api.places import hint, make_folder, working_on
from personafit.api.planning import Evaluation, EvaluationPlan, gated, prepare
from personafit.api.run import Run, open_store, opened_store
from personafit.engine import Bars, Silence
from personafit.models.spec import giving
from personafit.run import execute
from personafit.store import Store

if TYPE_CHECKING:
    import polars as pl

    from personafit.benchmarks import Benchmark

P = ParamSpec("P")
R = TypeVar("R")


def evaluate(
    benchmark: "str | Path | pl.DataFrame | Iterable[Mapping[str, Any]] | Benchmark | Callable[..., Any]",
    *,
    raters: Judge | Iterable[Judge] = (),
    contexts: Named | Iterable[Named] = (),
    systems: Named | Iterable[Named] = (),
    system_contexts: Named | Iterable[Named] = (),
    limit: int | None = None,
    people: int | str | Path | Iterable[str] | None = None,
    samples: int = 1,
    seed: int = 0,
    budget: float | None = None,
    store: str | Path | Store | None = None,
    out: str | Path | None = None,
    where: Mapping[str, str] | Iterable[str] = (),
    data: str | Path | None = None,
    user: Named | None = None,
    options: Mapping[str, str] | None = None,
    kind: str | None = None,
    retry: Iterable[str] = (),
    reuse: bool = True,
    backend: str = "local",
    progress: bool = True,
    command: str | None = None,
) -> Run:
    """Judge a benchmark, rows of your own, or the answers of a system, and return the run.

    Judgments are stored as they come in: the same call resumes where it was interrupted, and asks nothing twice. It works
    inside a running event loop, as in a notebook. Ctrl-C returns what is judged so far, as a run marked as interrupted.

    A folder with several kinds of item, and a suite, give one `Run` over all of them: its frames hold everything, its verdict
    has at least one sentence for each, and `Run.runs` has the single runs.

    Args:
        benchmark: The name of a benchmark (`starter`, `personafeedback`, `answers` ...), a benchmark folder, a suite (.toml), a
            file of rows (.jsonl, .csv, .parquet), a polars or pandas frame, a list of dictionaries, or a function under
            `@pf.benchmark`. Rows are pairs with the columns `person`, `question`, `chosen` and `rejected`, or answers with `person`,
            `question`, `answer` and, to compare with, `generic` or `wrong`; `expect` is `generic` if a good answer should not be personal.
        raters: The judges: specs such as `openai:gpt-4.1-mini` or `rule:length`, or callables. A callable takes `person`,
            `question` and `answers`, or one parameter for all that is shown (`Shown`), and returns a score per answer, the
            index or letter of its choice, or `tie`; it may be async. An object with `score(prompt, person, answer)` scores answers.
        contexts: What raters are told about the person: `profile`, `none`, `wrong:profile` ...; the benchmark's own by default.
        systems: Systems under test, for benchmarks whose answers are made: specs or callables `answer(person, question)`, which may
            also take `messages` and `person_id`.
        system_contexts: What systems are told about the person; `profile` by default.
        limit: Evaluate a stratified sample of N items.
        people: Evaluate N people (sampled), the people with these ids, or those whose ids a file lists.
        samples: Ask every question N times.
        seed: Seed of all draws.
        budget: The most this call may spend, in USD.
        store: The store of the judgments: a file, a `postgresql://` URL, or an open `Store`; `.personafit/store.db` by default.
        out: Folder for report.html and results.json; nothing is written without it.
        where: Evaluate only items of these slices, such as `{"tier": "hard"}`.
        data: Folder with the benchmark's data in its published layout, or with the people that rows name by id.
        user: The simulated user in dialogues.
        options: Options of one kind of item only, such as `{"tasks": "SD"}` for dialogues (SD, MD or all).
        kind: Evaluate only items of this kind (choice, relevance, preference ...), where a folder holds several; all by default.
        retry: Re-ask items whose last status was one of these: `unparsed`, `refused`, `failed`, `skipped`.
        reuse: Whether answers that a system made in a finished run may stand in for new ones. False makes them anew, as a gate
            does, unless the system's fingerprint covers what it does (a recording, weights in a file).
        backend: Where local models run: `local` (this process), `ray`, or a Ray cluster at `ray://HOST:PORT`.
        progress: Whether to show progress on standard error.
        command: The command to store with the run, for repeating it; by default the call's own main arguments.

    Raises:
        UserError: If the input is faulty; the message says what is wrong and what to do.
    """
    return _made(carry_out(*_planned(**locals())))


def _planned(
    benchmark: Any, *, store: Any, out: Any, backend: str, progress: bool, **asked: Any
) -> tuple[EvaluationPlan, str | Path | Store | None, str | Path | None, str, bool]:
    """Return the plan that arguments of `evaluate` ask for, and where and how to carry it out."""
    for name, value in (("data", asked["data"]), ("out", out)):
        if not isinstance(value, str | Path | None):
            raise UserError(f"{name}={value!r:.60}: give the path of a folder.")
    plan = gated(prepare(benchmark, **asked), (), asked["reuse"])
    return plan, store, out, backend, progress


def _made(run: Run) -> Run:
    """Return the run, or raise the error of the first of several if none could be made."""
    if not run.runs:
        raise run.errors[0][1]
    return run


def _signed_like(model: Callable[P, Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the parameters of another, for type checkers and `help`."""

    def signed(function: Callable[..., R]) -> Callable[P, R]:
        function.__signature__ = inspect.signature(model)  # type: ignore[attr-defined]
        return function

    return signed


def _bound(args: tuple[Any, ...], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `evaluate` by name, with its defaults."""
    bound = inspect.signature(evaluate).bind(*args, **asked)
    bound.apply_defaults()
    return bound.arguments


@_signed_like(evaluate)
async def aevaluate(*args: Any, **asked: Any) -> Run:
    """The same as `evaluate`, for `await`: the work shares the running event loop, so async callables may use its clients.

    Takes the arguments of `evaluate`. A task that is cancelled stores what is finished and is cancelled.
    """
    return _made(await _carry_out(*await asyncio.to_thread(_planned, **_bound(args, asked))))


@_signed_like(evaluate)
def estimate(*args: Any, **asked: Any) -> str:
    """Describe what `evaluate` would ask and, if prices are known, what that would cost; nothing is asked.

    Takes the arguments of `evaluate`.
    """
    plan, store, *_ = _planned(**_bound(args, asked))
    with opened_store(store) as opened:
        return plan.estimate(opened)


def carry_out(
    plan: EvaluationPlan,
    store: str | Path | Store | None = None,
    out: str | Path | None = None,
    backend: str = "local",
    progress: bool = True,
    ended: Callable[[Run], None] | None = None,
) -> Run:
    """Carry out a plan, whether or not an event loop is running already.

    `ended` is called with each run of several as soon as it has ended.
    """

    return run_to_end(lambda: _carry_out(plan, store, out, backend, progress, ended))


async def _carry_out(
    plan: EvaluationPlan,
    store: str | Path | Store | None,
    out: str | Path | None,
    backend: str,
    progress: bool,
    ended: Callable[[Run], None] | None = None,
) -> Run:
    """Carry out every run of a plan within its budget; one of several that cannot be made does not stop the others."""
    if out is not None:  # an unusable output folder is found before the work
        make_folder(Path(out))
    opened, owns = open_store(store)
    runs: list[Run] = []
    errors: list[tuple[str, UserError]] = []

    def cannot_be_made(name: str, error: UserError) -> None:
        errors.append((name, error))
        if progress:
            hint(f"personafit: {name}: {error}")

    for name, error in plan.errors:
        cannot_be_made(name, error)
    try:
        with working_on(backend):
            for one in plan.runs:
                spent = sum(run.cost for run in runs)
                left = None if plan.budget is None else max(0.0, plan.budget - spent)
                try:
                    runs.append(await _carry_out_run(one, opened, left, progress))
                except UserError as error:
                    if not plan.name:
                        raise
                    cannot_be_made(one.name, error)
                    continue
                if ended is not None:
                    ended(runs[-1])
                if runs[-1].interrupted:
                    break
        if not plan.name:
            done = runs[0]
        else:
            from personafit.api.run_group import RunGroup

            done = RunGroup(plan.name, plan.title, opened, runs, errors)
        if out is not None and done.judged:
            await asyncio.to_thread(done.write, out)
    except BaseException:
        if owns:
            opened.close()
        raise
    if owns:
        done.owns_store()
    return done


async def _carry_out_run(one: Evaluation, store: Store, budget: float | None, progress: bool) -> Run:
    if progress:
        one.warn()
    config = replace(one.config, budget=budget)
    with giving(one.given), Bars() if progress else contextlib.nullcontext(Silence()) as shown:
        finished = await execute(store, config, shown, one.benchmark)
    return Run(store, finished.run, finished.summary, notes=one.notes)
