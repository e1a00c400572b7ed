"""One run from configuration to stored judgments.

What a run covers is decided here and written with it; reports read it back and compute nothing but numbers. Judging the
choices of a benchmark is done here; what else can be run has a module in `RUNS`.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit.benchmarks import Benchmark, ingest, open_benchmark
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.plans import RunPlan, close_run, rows_of_users, rows_where
from personafit.contexts import (
    People,
    context_fingerprint,
    default_model,
    made_notes,
    make_context,
    make_contexts,
    makers,
)
from personafit.engine import ProgressView, Runner, check_budget
from personafit.items import FIT
from personafit.raters import Judging, Rater, judging_lanes, make_rater, select_items
from personafit.raters.fitted.rater import fitted_mark
from personafit.store import MET, Store, gold_answers, item_rows

Execution = Callable[[Store, RunConfig, ProgressView], Awaitable[Finished]]

# What is run otherwise than by choosing on the items of a benchmark: a module with `execute` and `estimate`.
RUNS = {
    "answers": "personafit.benchmarks.answering",
    "recentering": "personafit.benchmarks.recentering.relevance",
    "responses": "personafit.benchmarks.recentering.responses_running",
    "personalens": "personafit.benchmarks.personalens.running",
    "injection": "personafit.benchmarks.injection.running",
    "lamp-writing": "personafit.benchmarks.lamp.running",
}


class Plan(RunPlan[Judging, Rater]):
    """A run of choices that is ready to be carried out."""


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Carry a run out, from wherever it stands to its end; other kinds of run have a module of their own."""
    if config.benchmark in RUNS:
        carry_out: Execution = import_module(RUNS[config.benchmark]).execute
        return await carry_out(store, config, progress)
    benchmark = open_benchmark(config.benchmark, config.data)
    if next(iter(benchmark.items()), None) is None:
        raise UserError(
            f"{config.benchmark} has no choices between answers; attributes are judged by `personafit run recentering "
            "--data`, preferences by `run responses --data`, dialogues by `run personalens --data`."
        )
    return await judge_benchmark(store, config, progress, benchmark)


async def judge_benchmark(
    store: Store, config: RunConfig, progress: ProgressView, benchmark: Benchmark
) -> Finished:
    """Let the raters choose on every item of a benchmark."""
    return await carry_out(store, config, progress, make_plan(store, config, benchmark))


async def carry_out(store: Store, config: RunConfig, progress: ProgressView, plan: Plan) -> Finished:
    """Let the raters choose as planned."""
    check_budget(config.budget, [(rater.record.name, rater) for rater in plan.raters])
    judging = plan.judging
    check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(judging.views)])
    try:
        run = store.begin_run(plan.name, judging.dataset, plan.record, plan.asks)
        store.add_raters(rater.record for rater in plan.raters)
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        people = People(judging.people)
        made = await make_contexts(judging.views, store, people, judging.items, runner)
        if made is not None:
            if made.ended_early:
                return close_run(store, run.name, made)
            notes = [*plan.record["notes"], *made_notes(store, run.id, judging.views)]
            store.begin_run(plan.name, judging.dataset, plan.record | {"notes": notes}, plan.asks)
        summary = await runner.run(judging_lanes(judging, plan.raters))
    finally:
        await plan.close()
    return close_run(store, run.name, summary)


def make_plan(store: Store, config: RunConfig, benchmark: Benchmark) -> Plan:
    """Decide what a run covers; the data is read into the store on the way."""
    info = benchmark.info
    dataset = ingest(store, benchmark)
    people = People(store.people(dataset))
    views = list(dict.fromkeys(config.views or [info.view, *info.controls.views]))
    specs = list(dict.fromkeys([*config.raters, *info.controls.raters]))
    raters = [make_rater(spec) for spec in specs]
    selected = selection(store, dataset, config)
    makes = default_model(config.raters)
    builders = [make_context(view, people, config.seed, makes) for view in views]
    judging = Judging(
        store=store,
        dataset=dataset,
        people=people,
        views=list({view.name: view for view in builders}.values()),
        question=FIT,
        seed=config.seed,
        samples=config.samples,
        selected=selected,
    )
    record: dict[str, Any] = {
        "benchmark": info.name,
        "dataset": dataset,
        "question": FIT.name,
        "instrument": FIT.fingerprint,
        "views": [view.name for view in judging.views],
        "seed": config.seed,
        "samples": config.samples,
        "selected": None if selected is None else sorted(selected),
        "raters": [
            {
                "fingerprint": rater.record.fingerprint,
                "name": rater.record.name,
                "kind": rater.record.kind,
                "orders": 2 if rater.order_matters else 1,
                "control": spec not in config.raters,
            }
            for spec, rater in zip(specs, raters, strict=True)
        ],
        "notes": [
            *benchmark.notes(),
            *_note_fitted(raters, _judged_people(store, dataset, people, selected)),
        ],
        "command": config.command,
    }
    if unjudged := _without_wrong(store, dataset, people, record["views"], selected):
        record["without_wrong"] = unjudged
        record["notes"].append(
            f"{unjudged:,} items are of people whose language and script nobody shares: they are not judged under "
            "the wrong person, and leave the lift over it."
        )
    if prints := {view.name: print for view in judging.views if (print := context_fingerprint(view))}:
        record["contexts"] = prints
    return Plan(judging, raters, info, record)


def _without_wrong(
    store: Store, dataset: str, people: People, views: Sequence[str], selected: frozenset[str] | None
) -> int:
    """How many items have nobody who could stand in for their person, where a view asks for that."""
    if not any(view.startswith("wrong:") for view in views) or not people.alone:
        return 0
    rows = item_rows(store, dataset).filter(pl.col("person").is_in(list(people.alone)))
    return len(rows) if selected is None else len(rows.filter(pl.col("item").is_in(list(selected))))


def _judged_people(
    store: Store, dataset: str, people: People, selected: frozenset[str] | None
) -> Iterable[str]:
    """Whom the items that are judged are for."""
    if selected is None:
        return people
    rows = item_rows(store, dataset)
    return set(rows.filter(pl.col("item").is_in(list(selected)))["person"])


def _note_fitted(raters: Sequence[Rater], people: Iterable[str]) -> Iterator[str]:
    """A rater on the people it was fitted on shows memory, not skill: say so beside its score (`RunRecord.met_people`)."""
    marks = {fitted_mark(person) for person in people}
    for rater in raters:
        met = len(marks & getattr(rater, "fitted_on", frozenset()))
        if met:
            yield f"{rater.record.name}{MET}{met:,} of the people here: its score on them is no evidence."


def selection(store: Store, dataset: str, config: RunConfig) -> frozenset[str] | None:
    """The items that --users, --where and --limit leave; None for all."""
    if config.limit is None and config.users is None and not config.where:
        return None
    gold = gold_answers(store, dataset, store.dataset_info(dataset)["gold"])
    rows = item_rows(store, dataset).join(gold.select("item", "tier"), on="item", how="left")
    rows = rows_where(rows_of_users(rows, config), config)
    if config.limit is None:
        return frozenset(rows["item"])
    strata = [name for name in ("half", "tier", "against", "expect") if name in rows.columns]
    return select_items(rows.select("item", *strata), config.limit, config.seed)


__all__ = [
    "RUNS",
    "Finished",
    "Plan",
    "RunConfig",
    "carry_out",
    "execute",
    "judge_benchmark",
    "make_plan",
    "selection",
]
