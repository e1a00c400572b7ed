"""`evaluate`: judge a benchmark, rows of one's own, or a system's answers. It is what `personafit run` does."""

import asyncio
import contextlib
import contextvars
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from personafit._errors import UserError
from personafit._plugins import NAME
from personafit.api.callables import Callables, Named, each_of
from personafit.api.frames import benchmark_of
from personafit.api.places import hint, make_folder, working_on
from personafit.api.run import Run, open_store
from personafit.benchmarks import Benchmark, is_file
from personafit.benchmarks.config import Finished, RunConfig
from personafit.engine import STOP, Bars, ProgressView, Silence, Stop
from personafit.kinds import Kind, kind_of
from personafit.models.spec import GivenCallable, giving
from personafit.run import estimate as estimate_run
from personafit.run import execute, open_source, refuse_unused
from personafit.store import Status, Store

if TYPE_CHECKING:
    import polars as pl


class EvaluateOptions(TypedDict, total=False):
    """The arguments of `evaluate` that say what is asked for."""

    raters: Named | Iterable[Named]
    contexts: Named | Iterable[Named]
    systems: Named | Iterable[Named]
    system_contexts: Named | Iterable[Named]
    limit: int | None
    people: int | str | Path | Iterable[str] | None
    samples: int
    seed: int
    budget: float | None
    where: Mapping[str, str] | Iterable[str]
    data: str | Path | None
    user: Named | None
    options: Mapping[str, str] | None
    kind: str | None
    retry: Iterable[str]
    reuse: bool
    command: str | None


@dataclass(frozen=True)
class Evaluation:
    """An evaluation that is ready to be carried out: what is asked for, what it is about, and callables that take part."""

    config: RunConfig
    benchmark: Benchmark
    given: Mapping[str, GivenCallable] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @cached_property
    def kind(self) -> Kind:
        """The kind of the items."""
        return kind_of(self.benchmark)

    def warn(self) -> None:
        """Say what would make the result worth little."""
        for note in [*self.kind.warnings(self.config), *self.notes]:
            hint(f"personafit: {note}")

    def estimate(self, store: Store) -> str:
        """What it would take, in words."""
        self.warn()
        with giving(self.given):
            return estimate_run(store, self.config, self.benchmark)


def evaluate(
    benchmark: "str | Path | pl.DataFrame | Iterable[Mapping[str, Any]] | Benchmark",
    *,
    raters: Named | Iterable[Named] = (),
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

    What is judged is stored as it comes: the same call goes on where it was interrupted, and asks nothing twice. It works
    inside a running event loop, as in a notebook. Ctrl-C returns what is judged so far, as a run that says so.

    Args:
        benchmark: The name of a benchmark (`starter`, `personafeedback`, `answers` ...), a benchmark folder, a file of rows
            (.jsonl, .csv, .parquet), a polars or pandas frame or a list of dictionaries. Rows are pairs with the columns
            `person`, `question`, `chosen` and `rejected`, or answers with `person`, `question`, `answer` and, to compare with,
            `generic` or `wrong`; `expect` says `generic` where a good answer should not be personal.
        raters: Who judges: specs such as `openai:gpt-4.1-mini` or `rule:length`, or callables. A callable takes `person`,
            `question` and `answers`, or one parameter for all that is shown (`Shown`), and returns a score per answer, the
            index or letter of its choice, or `tie`; it may be async.
        contexts: What raters are told of the person: `profile`, `none`, `wrong:profile` ...; the benchmark's own by default.
        systems: Who answers, for benchmarks whose answers are made: specs or callables `answer(person, question)`, which may
            also take `messages` and `person_id`.
        system_contexts: What systems are told of the person; `profile` by default.
        limit: Evaluate a stratified sample of N items.
        people: Evaluate N people (sampled), the people with these ids, or those whose ids a file lists.
        samples: Ask every question N times.
        seed: Seed of all draws.
        budget: The most this call may spend, in USD.
        store: Where judgments are kept: a file, a `postgresql://` URL, or an open `Store`; `.personafit/store.db` by default.
        out: Folder for report.html and results.json; nothing is written where it is not given.
        where: Evaluate only items of these slices, such as `{"tier": "hard"}`.
        data: Folder with the benchmark's data in its published layout, or with the people that rows name by id.
        user: Who plays the user in dialogues.
        options: Options of one kind of item only, such as `{"tasks": "SD"}` for dialogues (SD, MD or all).
        kind: Which items are meant, where a folder holds several kinds: choice, relevance, preference ...
        retry: Re-ask items whose last status was one of these: `unparsed`, `refused`, `failed`, `skipped`.
        reuse: Whether answers that a system made in a finished run may stand in for new ones. False makes them anew, as a gate
            does, unless the system's fingerprint covers what it does (a recording, weights in a file).
        backend: Where local models run: `local` (this process), `ray`, or a Ray cluster at `ray://HOST:PORT`.
        progress: Whether to show on standard error how far it is.
        command: What to keep with the run as the way to make it again; by default the call's own main arguments.

    Raises:
        UserError: In one sentence, what is wrong with the input and what to do.
    """
    ready = prepare(
        benchmark,
        raters=raters,
        contexts=contexts,
        systems=systems,
        system_contexts=system_contexts,
        limit=limit,
        people=people,
        samples=samples,
        seed=seed,
        budget=budget,
        where=where,
        data=data,
        user=user,
        options=options,
        kind=kind,
        retry=retry,
        reuse=reuse,
        command=command,
    )
    return carry_out(ready, store, out, backend, progress)


async def aevaluate(
    benchmark: "str | Path | pl.DataFrame | Iterable[Mapping[str, Any]] | Benchmark",
    *,
    store: str | Path | Store | None = None,
    out: str | Path | None = None,
    backend: str = "local",
    progress: bool = True,
    **arguments: Unpack[EvaluateOptions],
) -> Run:
    """The same as `evaluate`, for `await`: the work shares the running event loop, so async callables may use its clients.

    Takes the arguments of `evaluate`. A task that is cancelled stores what is finished and is cancelled.
    """
    ready = await asyncio.to_thread(prepare, benchmark, **arguments)
    with _opened(ready, store, out, backend, progress) as (opened, owns, shown):
        finished = await execute(opened, ready.config, shown, ready.benchmark)
        run = Run(opened, finished.run, finished.summary, owns, ready.notes)
        if out is not None and run.judged:
            await asyncio.to_thread(run.write, out)
    return run


def estimate(
    benchmark: "str | Path | pl.DataFrame | Iterable[Mapping[str, Any]] | Benchmark",
    *,
    store: str | Path | Store | None = None,
    **arguments: Unpack[EvaluateOptions],
) -> str:
    """What `evaluate` would ask and, where prices are known, what that would cost, in words; nothing is asked.

    Takes the arguments of `evaluate`.
    """
    ready = prepare(benchmark, **arguments)
    opened, owns = open_store(store)
    try:
        return ready.estimate(opened)
    finally:
        if owns:
            opened.close()


def prepare(benchmark: Any, **asked: Unpack[EvaluateOptions]) -> Evaluation:
    """The evaluation that the arguments of `evaluate` ask for; what is wrong with them is said before anything is asked."""
    if unknown := asked.keys() - EvaluateOptions.__annotations__.keys():
        raise TypeError(f"evaluate() got an unexpected keyword argument '{min(unknown)}'")
    limit, samples, seed = asked.get("limit"), asked.get("samples", 1), asked.get("seed", 0)
    data, where = asked.get("data"), asked.get("where", ())
    _at_least_one(limit=limit, samples=samples)
    raters, systems = each_of(asked.get("raters")), each_of(asked.get("systems"))
    callables = Callables()
    config = RunConfig(
        benchmark=str(benchmark) if isinstance(benchmark, str | Path) else "rows",
        data=None if data is None else Path(data),
        raters=callables.specs(raters, "raters"),
        contexts=_contexts(asked.get("contexts")),
        systems=callables.specs(systems, "systems"),
        system_contexts=_contexts(asked.get("system_contexts")),
        user=next(iter(callables.specs(asked.get("user"), "user")), None),
        options={name: str(value) for name, value in (asked.get("options") or {}).items()},
        kind=asked.get("kind"),
        people=_people(asked.get("people")),
        where=[f"{name}={value}" for name, value in where.items()]
        if isinstance(where, Mapping)
        else _texts(where),
        limit=limit,
        seed=seed,
        samples=samples,
        budget=asked.get("budget"),
        retry=_statuses(asked.get("retry", ())),
        command=asked.get("command") or _call(benchmark, raters, systems, limit),
        fresh=not asked.get("reuse", True),
    )
    source: Benchmark | None = None
    if not isinstance(benchmark, str | Path) or is_file(benchmark):
        if config.systems:
            raise UserError(
                "A system (--system, systems=) goes with a benchmark whose questions it answers, such as `answers`; what is "
                "evaluated here holds its answers already."
            )
        source = benchmark_of(benchmark, data, seed)
        config.benchmark = source.info.name
        config.data = None
    with giving(callables.given):
        source = open_source(config) if source is None else source
        ready = Evaluation(config, source, callables.given, callables.notes())
        refuse_unused(config, ready.kind)
    return ready


def carry_out(
    ready: Evaluation,
    store: str | Path | Store | None = None,
    out: str | Path | None = None,
    backend: str = "local",
    progress: bool = True,
) -> Run:
    """Carry an evaluation out; where an event loop is running already, on a thread with a loop of its own."""
    with _opened(ready, store, out, backend, progress) as (opened, owns, shown):

        def work() -> Finished:
            return asyncio.run(execute(opened, ready.config, shown, ready.benchmark))

        finished = _on_a_thread(work) if _loop_is_running() else work()
        run = Run(opened, finished.run, finished.summary, owns, ready.notes)
        if out is not None and run.judged:
            run.write(out)
    return run


@contextlib.contextmanager
def _opened(
    ready: Evaluation, store: str | Path | Store | None, out: str | Path | None, backend: str, progress: bool
) -> Iterator[tuple[Store, bool, ProgressView]]:
    """The store, whether it was opened here, and the view of progress; what is wrong with the places is found before the work."""
    if out is not None:
        make_folder(Path(out))
    if progress:
        ready.warn()
    opened, owns = open_store(store)
    try:
        bars = Bars() if progress else contextlib.nullcontext(Silence())
        with giving(ready.given), working_on(backend), bars as shown:
            yield opened, owns, shown
    except BaseException:
        if owns:
            opened.close()
        raise


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _on_a_thread(work: Callable[[], Finished]) -> Finished:
    """What the work returns, done on a thread; the first Ctrl-C lets it end in good order and return what there is."""
    stop, came = Stop(), Future[Finished]()
    context = contextvars.copy_context()
    context.run(STOP.set, stop)

    def done() -> None:
        try:
            came.set_result(context.run(work))
        except BaseException as error:
            came.set_exception(error)

    thread = threading.Thread(target=done, name="personafit", daemon=True)
    with _stopping_on_interrupt(stop):
        thread.start()
        try:
            return came.result()
        except KeyboardInterrupt:
            if came.done() or stop.requested:
                raise
            stop.stop()
            return came.result()


@contextlib.contextmanager
def _stopping_on_interrupt(stop: Stop) -> Iterator[None]:
    """While this is open, the first Ctrl-C asks the work to end; a second one does what it would have done before.

    A loop that runs on the main thread may have taken Ctrl-C for itself, and would not hear of it before we return.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def asked(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        # Not here: the thread that is interrupted may hold what is needed for it.
        threading.Thread(target=stop.stop, name="personafit-stop", daemon=True).start()

    if before is None:
        yield
        return
    signal.signal(signal.SIGINT, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _contexts(named: Any) -> list[str]:
    found = []
    for one in each_of(named):
        name = one if isinstance(one, str) else getattr(one, NAME, None)
        if not isinstance(name, str):
            raise UserError(
                f"contexts are names such as 'profile' or functions under @pf.context(NAME), not {type(one).__name__}."
            )
        found.append(name)
    return found


def _people(people: int | str | Path | Iterable[str] | None) -> str | list[str] | None:
    if people is None:
        return None
    if isinstance(people, bool) or (isinstance(people, int) and people < 1):
        raise UserError(f"people={people!r}: give a number of at least 1, a list of ids, or a file of them.")
    return str(people) if isinstance(people, int | str | Path) else [str(one) for one in each_of(people)]


def _texts(named: Iterable[str]) -> list[str]:
    return [str(one) for one in each_of(named)]


def _statuses(named: Iterable[str]) -> frozenset[Status]:
    try:
        return frozenset(Status(one) for one in _texts(named))
    except ValueError as error:
        raise UserError(
            f"retry: {error}; there are {', '.join(status.value for status in Status)}."
        ) from None


def _at_least_one(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise UserError(f"{name}={value!r}: give a whole number of at least 1.")


def _call(benchmark: Any, raters: Any, systems: Any, limit: int | None) -> str:
    """The call as it may be kept with the run."""
    parts = [repr(str(benchmark)) if isinstance(benchmark, str | Path) else type(benchmark).__name__]
    for name, named in (("raters", raters), ("systems", systems)):
        shown = [
            repr(one) if isinstance(one, str) else getattr(one, "__name__", "...") for one in each_of(named)
        ]
        if shown:
            parts.append(f"{name}=[{', '.join(shown)}]")
    if limit is not None:
        parts.append(f"limit={limit}")
    return f"personafit.evaluate({', '.join(parts)})"
