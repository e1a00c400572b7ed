"""The plan of an evaluation: its runs with their settings, checked before anything is asked, and their gate."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit._plugins import NAME
from personafit.api.callables import Callables, each_of
from personafit.api.places import hint, seed_number, whole_number
from personafit.benchmarks import BENCHMARKS, Benchmark, folder_kinds, is_file
from personafit.benchmarks.benchmark import Prompts
from personafit.benchmarks.config import RunConfig
from personafit.kinds import Kind, kind_of
from personafit.models.spec import GivenCallable, giving
from personafit.reports.gate import COVERAGE, MADE, Bar, bar_metric, read_bar
from personafit.run import estimate, open_source, refuse_unused
from personafit.store import Status, Store

__all__ = ["BENCHMARKS", "Evaluation", "EvaluationPlan", "gated", "prepare"]

MOST_VALUES = 20  # maximum number of values that an error lists
ASKED = frozenset(one.name for one in fields(RunConfig)) - {"benchmark", "gate", "fresh"}
"""Arguments of `evaluate` that are settings of a run; `reuse` is the inverse of `fresh`."""
OF_SUITES = (
    *("data", "raters", "contexts", "systems", "system_contexts", "user"),
    *("options", "people", "where", "kind", "seed"),
)
"""Arguments of `evaluate` that a suite gives for each of its runs."""


@dataclass(frozen=True)
class Evaluation:
    """A run that is ready to be carried out: its settings, its benchmark, and the callables it uses."""

    config: RunConfig
    benchmark: Benchmark
    given: Mapping[str, GivenCallable] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @cached_property
    def kind(self) -> Kind:
        return kind_of(self.benchmark)

    @property
    def name(self) -> str:
        """Return the benchmark, and the kind of its items if one was asked for."""
        config = self.config
        return f"{config.benchmark} ({config.kind})" if config.kind else config.benchmark

    def warn(self) -> None:
        for note in [*self.kind.warnings(self.config), *self.notes]:
            hint(f"personafit: {note}")

    def estimate(self, store: Store) -> str:
        """Describe the number of calls and their cost."""
        self.warn()
        with giving(self.given):
            return estimate(store, self.config, self.benchmark)


@dataclass(frozen=True)
class EvaluationPlan:
    """The runs that one call of `evaluate` carries out: one run, one for each kind of a folder, or those of a suite."""

    runs: Sequence[Evaluation]
    name: str = ""
    """Name of the folder or suite that has several runs; empty for a single run."""
    title: str = ""
    budget: float | None = None
    errors: Sequence[tuple[str, UserError]] = ()
    """Runs that cannot be made, such as those on a log of answers that was not written."""

    def estimate(self, store: Store) -> str:
        """Describe the number of calls of all runs and their cost or, for a run that cannot be made, the error."""
        lines = [f"{name}: {error}" for name, error in self.errors]
        for one in self.runs:
            try:
                lines.append(one.estimate(store))
            except UserError as error:
                if not self.name:
                    raise
                lines.append(f"{one.name}: {error}")
        return "\n".join(lines)


def prepare(benchmark: Any, **asked: Any) -> EvaluationPlan:
    """Plan what the arguments of `evaluate` ask for; faulty arguments raise a UserError before anything is asked."""
    if callable(benchmark):  # a function or class under @pf.benchmark
        benchmark = getattr(benchmark, NAME, benchmark)
    if isinstance(benchmark, str | Path):
        path = Path(benchmark)
        if path.suffix == ".toml":
            return _prepare_suite(path, **asked)
        kinds = [] if str(benchmark) in BENCHMARKS or asked.get("kind") else folder_kinds(path)
        if len(kinds) > 1:
            runs = [_prepare(benchmark, **asked | {"kind": kind}) for kind in kinds]
            name = path.resolve().name
            return EvaluationPlan(runs, name, name, asked.get("budget"))
    return EvaluationPlan([_prepare(benchmark, **asked)], budget=asked.get("budget"))


def _prepare_suite(path: Path, **asked: Any) -> EvaluationPlan:
    """Plan the runs of a suite; an answer log that is missing or faulty is an error of its run alone."""
    from personafit.benchmarks.suite import read_suite

    suite = read_suite(path)
    if any(asked.get(name) for name in OF_SUITES) or asked.get("samples", 1) != 1:
        raise UserError(
            f"{path} already says what is evaluated, by whom and on what; beside it only --limit, --budget, --retry, "
            "--fail-under, --undecided, --reuse, --junit, --dry-run, --backend, --store, --out and --json can be given."
        )
    shared = {name: asked[name] for name in ("retry", "reuse") if name in asked}
    runs: list[Evaluation] = []
    errors = []
    for one in suite.runs:
        limit = asked.get("limit") or one.arguments["limit"]
        try:
            plan = prepare(one.benchmark, **one.arguments | shared | {"limit": limit})
        except UserError as error:
            if not is_file(one.benchmark):
                raise
            errors.append(("answers", error))  # answers of a step that failed
            continue
        runs += [replace(run, config=replace(run.config, gate=one.bars)) for run in plan.runs]
    return EvaluationPlan(runs, path.resolve().stem, suite.title, asked.get("budget"), errors)


def _prepare(benchmark: Any, **asked: Any) -> Evaluation:
    """Plan one run; the defaults of missing arguments are those of `RunConfig`."""
    callables = Callables()
    readers: dict[str, Callable[[Any], Any]] = {
        "data": Path,
        "raters": lambda named: callables.specs(named, "raters"),
        "contexts": _contexts,
        "systems": lambda named: callables.specs(named, "systems"),
        "system_contexts": _contexts,
        "user": lambda named: next(iter(callables.specs(named, "user")), None),
        "options": _options,
        "people": _people,
        "where": _conditions,
        "limit": lambda count: whole_number("limit", count),
        "samples": lambda count: whole_number("samples", count),
        "seed": seed_number,
        "budget": most_spent,
        "retry": statuses,
    }
    command, reuse = asked.pop("command", None), asked.pop("reuse", True)
    settings = {
        name: readers[name](value) if name in readers else value
        for name, value in asked.items()
        if value is not None
    }
    config = RunConfig(
        str(benchmark) if isinstance(benchmark, str | Path) else "rows",
        command=command or _call(benchmark, asked),
        fresh=not reuse,
        **settings,
    )
    source: Benchmark | None = None
    if not isinstance(benchmark, str | Path) or is_file(benchmark):
        if config.systems:
            raise UserError(
                "A system (--system, systems=) needs a benchmark with questions to answer, such as `answers`; these rows "
                "already contain answers."
            )
        from personafit.api.frames import benchmark_of

        source = benchmark_of(benchmark, config.data, config.seed)
        config.benchmark = source.info.name
        config.data = None
    with giving(callables.given):
        source = open_source(config) if source is None else source
        ready = Evaluation(config, source, callables.given, callables.notes())
        refuse_unused(config, ready.kind)
    return ready


# -- the gate -----------------------------------------------------------------------------------------------------------


def gated(plan: EvaluationPlan, bars: Sequence[str], reuse: bool) -> EvaluationPlan:
    """Add bars to an evaluation, `METRIC=X` each: they are stored with its runs, and systems answer anew unless `reuse` is set.

    Each of several runs gets the bars on its own metrics and slices; a bar that fits none of them raises a UserError.
    """
    unfit: dict[str, UserError] = {}
    fitting: set[str] = set()
    runs = []
    for one in plan.runs:
        held = list(one.config.gate)
        check_bars(one, held)
        for bar in bars:
            try:
                check_bars(one, [bar])
            except UserError as error:
                unfit[bar] = error
            else:
                held.append(bar)
        fitting.update(held)
        runs.append(_gated(one, list(dict.fromkeys(held)), bool(bars or held) and not reuse))
    for bar in unfit.keys() - fitting:
        raise unfit[bar]
    return replace(plan, runs=runs)


def _gated(one: Evaluation, bars: list[str], fresh: bool) -> Evaluation:
    """Return the evaluation with its gate; under a gate systems answer anew, if `fresh`."""
    config, kind = one.config, one.kind
    if bars and kind.judged and not (config.raters or kind.default_raters()):
        raise UserError(
            "--fail-under needs a judge: name one with --rater SPEC; rules that run as controls do not count."
        )
    return replace(one, config=replace(config, gate=bars, fresh=config.fresh or fresh))


def parse_bar(text: str, metrics: Sequence[str]) -> Bar:
    """Parse `METRIC=X` or `METRIC[NAME=VALUE]=X`."""
    try:
        what, least = read_bar(text)
    except ValueError:
        what, least = text.partition("=")[0], math.nan
    metric = bar_metric(what)[0]
    if metric not in metrics:
        raise UserError(
            f"--fail-under {text}: there is no metric '{metric}'; there are {', '.join(metrics)}."
        )
    if not math.isfinite(least):
        raise UserError(
            f"--fail-under {text}: write METRIC=X with X a fraction, such as lift=0.05, or METRIC[NAME=VALUE]=X for a slice."
        )
    return what, least


def gate_metrics(one: Evaluation) -> tuple[str, ...]:
    """Return the metrics that `--fail-under` may name in a run."""
    from personafit.benchmarks.answers import Answers

    bars, systems = one.kind.bars, bool(one.config.systems)
    if one.kind.name == "choice":  # an answer is right, or it wins against another
        wins = systems or one.benchmark.info.metric == "win_rate"
        bars = tuple(name for name in bars if not name.startswith("accuracy" if wins else "win_rate"))
    made = [MADE] if systems or isinstance(one.benchmark, Answers) else []
    return (*bars, COVERAGE, *made)


def known_slices(one: Evaluation) -> dict[str, set[str]]:
    """Return the slices of a run's items, each with its values; slices of answers yet to be made are included."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in one.benchmark.items():
        for name, value in item.slices.items():
            found[name].add(value)
    tiers = [row.extra["tier"] for row in one.benchmark.gold() if row.extra and row.extra.get("tier")]
    if isinstance(one.benchmark, Prompts):
        tiers += one.benchmark.tiers().values()
        found["against"] |= {"generic", "wrong"}
    if tiers:
        found["tier"] |= set(map(str, tiers))
    return found


def check_bars(one: Evaluation, bars: Sequence[str]) -> None:
    """Raise a UserError for bars on a metric or a slice that the run cannot have, before anything is paid for."""
    if not bars:
        return
    kind, contexts = one.kind, one.config.contexts
    metrics, slices = gate_metrics(one), None
    for text in bars:
        what, least = parse_bar(text, metrics)
        metric, within = bar_metric(what)
        if least > 1 and (metric in (COVERAGE, MADE) or kind.name in ("choice", "relevance")):
            raise UserError(
                f"--fail-under {text}: {metric} is never above 1; write a fraction, such as {what}={least / 100:g}."
            )
        for name, value in within.items():
            slices = known_slices(one) if slices is None else slices
            # Computed slices are known once the run is loaded.
            if name not in slices and name not in kind.computed_slices:
                there = ", ".join(sorted({*slices, *kind.computed_slices}))
                listed = f"their slices are {there}." if there else "they have no slices."
                raise UserError(f"--fail-under {text}: items have no '{name}'; {listed}")
            if name in slices and value not in slices[name]:
                values = ", ".join(sorted(slices[name])[:MOST_VALUES])
                raise UserError(f"--fail-under {text}: no item has {name}={value}; there are {values}.")
        told_apart = "none" in contexts and any(name.startswith("wrong:") for name in contexts)
        if metric == "lift" and kind.name == "choice" and contexts and not told_apart:
            raise UserError(
                f"--fail-under {text}: a lift is measured against no person and a wrong person; add --context none and "
                "--context wrong:profile, or name no context."
            )


# -- arguments ----------------------------------------------------------------------------------------------------------


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


def _people(people: int | str | Path | Iterable[str]) -> str | list[str]:
    if isinstance(people, bool) or (isinstance(people, int) and people < 1):
        raise UserError(f"people={people!r}: give a number of at least 1, a list of ids, or a file of them.")
    return str(people) if isinstance(people, int | str | Path) else [str(one) for one in each_of(people)]


def _conditions(where: Mapping[str, str] | Iterable[str]) -> list[str]:
    if isinstance(where, Mapping):
        return [f"{name}={value}" for name, value in where.items()]
    return [str(one) for one in each_of(where)]


def statuses(named: Iterable[str]) -> frozenset[Status]:
    """Return statuses by their names; raise a UserError for other names."""
    try:
        return frozenset(Status(str(one)) for one in each_of(named))
    except ValueError as error:
        raise UserError(
            f"retry: {error}; there are {', '.join(status.value for status in Status)}."
        ) from None


def _options(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise UserError(f"options={given!r:.60}: give names with their values, such as {{'tasks': 'SD'}}.")
    return {str(name): str(value) for name, value in given.items()}


def most_spent(budget: Any) -> float:
    """Return a budget in USD; raise a UserError for anything else."""
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget >= 0:
        raise UserError(f"budget={budget!r}: give the most that may be spent, in USD, such as 2.5.")
    return float(budget)


def _call(benchmark: Any, asked: Mapping[str, Any]) -> str:
    """Return the call's main arguments as text, to be stored with the run."""
    parts = [repr(str(benchmark)) if isinstance(benchmark, str | Path) else type(benchmark).__name__]
    for name in ("raters", "systems"):
        shown = [
            repr(one) if isinstance(one, str) else getattr(one, "__name__", "...")
            for one in each_of(asked.get(name))
        ]
        if shown:
            parts.append(f"{name}=[{', '.join(shown)}]")
    if asked.get("limit") is not None:
        parts.append(f"limit={asked['limit']}")
    return f"personafit.evaluate({', '.join(parts)})"
