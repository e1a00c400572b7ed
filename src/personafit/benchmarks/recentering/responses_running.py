"""`personafit run responses`: does using the attributes help? Pairs as published or in a folder, or made by --system first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, ingest
from personafit.benchmarks.config import Finished, RunConfig, check_budget, chosen_people, run_name
from personafit.benchmarks.recentering.responses import CONTROLS, GENERATOR, GIVEN, open_responses
from personafit.benchmarks.recentering.responses_making import make_responses, wanted_givens
from personafit.benchmarks.recentering.responses_prompts import open_prompts
from personafit.benchmarks.running import close_run
from personafit.engine import ProgressView, Runner
from personafit.items.preference import PREFER, PREFERENCE
from personafit.models import make_model
from personafit.models.tokens import prompt_tokens
from personafit.raters import select_items
from personafit.raters.preference import (
    VIEW,
    PreferenceJudging,
    PreferenceRater,
    make_preference_rater,
    preference_lanes,
)
from personafit.simulate.answering import USUAL_TOKENS
from personafit.store import Store, item_rows

SAMPLE = 200  # requests looked at per rater for an estimate


@dataclass
class PreferencePlan:
    """A preference run that is ready to be carried out."""

    judging: PreferenceJudging
    raters: list[PreferenceRater]
    info: BenchmarkInfo
    record: dict[str, Any]

    @property
    def name(self) -> str:
        """The run's name."""
        return run_name(self.info.name, self.record)

    async def close(self) -> None:
        """Release all raters."""
        for rater in self.raters:
            await rater.close()


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Make the answers where a system is named, then let every rater mark every pair."""
    if not config.systems:
        if config.givens:
            raise UserError("--given says what a system is told: name the system with --system SPEC.")
        return await _judge(store, config, progress, open_responses(config.data))
    await _check_judges(config)
    made = await make_responses(store, config, progress)
    if made.benchmark is None:
        return Finished(store.run(made.run), made.summary)
    rest = None if config.budget is None else max(0.0, config.budget - made.summary.cost)
    # The prompts are chosen; whatever was made of them is judged.
    judged = replace(config, limit=None, users=None, budget=rest)
    finished = await _judge(store, judged, progress, made.benchmark)
    finished.summary.cost += made.summary.cost
    finished.summary.tokens_in += made.summary.tokens_in
    finished.summary.tokens_out += made.summary.tokens_out
    return finished


async def _check_judges(config: RunConfig) -> None:
    """A misspelt or unpriced judge is found before anything is spent on answers."""
    judges = [make_preference_rater(spec) for spec in config.raters]
    try:
        check_budget(config.budget, [(judge.record.name, judge) for judge in judges])
    finally:
        for judge in judges:
            await judge.close()


async def _judge(store: Store, config: RunConfig, progress: ProgressView, benchmark: Benchmark) -> Finished:
    plan = make_plan(store, config, benchmark)
    try:
        check_budget(config.budget, [(rater.record.name, rater) for rater in plan.raters])
        lanes = preference_lanes(plan.judging, plan.raters)
        asks = sum(lane.total for lane in lanes)
        run = store.begin_run(plan.name, plan.judging.dataset, plan.record, asks)
        store.add_raters(rater.record for rater in plan.raters)
        runner = Runner(store, run.id, progress, config.retry, config.budget)
        summary = await runner.run(lanes)
    finally:
        await plan.close()
    return close_run(store, run.name, summary)


def make_plan(store: Store, config: RunConfig, benchmark: Benchmark) -> PreferencePlan:
    """Decide what a run covers; the data is read into the store on the way."""
    if config.views and config.views != [VIEW]:
        raise UserError(
            f"--view {config.views[0]}: preferences are judged by the attributes of each item and by nothing else of the "
            f"person; leave --view out."
        )
    dataset = ingest(store, benchmark)
    specs = list(dict.fromkeys([*config.raters, *CONTROLS.raters]))
    raters = [make_preference_rater(spec) for spec in specs]
    selected = _selection(store, dataset, config)
    judging = PreferenceJudging(store, dataset, config.seed, config.samples, selected)
    record = {
        "kind": PREFERENCE,
        "benchmark": benchmark.info.name,
        "dataset": dataset,
        "question": PREFERENCE,
        "instrument": PREFER.fingerprint,
        "views": [VIEW],
        "seed": config.seed,
        "samples": config.samples,
        "selected": None if selected is None else sorted(selected),
        "raters": [
            {
                "fingerprint": rater.record.fingerprint,
                "name": rater.record.name,
                "kind": rater.record.kind,
                "question": rater.question,
                "orders": 2 if rater.order_matters else 1,
                "control": spec not in config.raters,
            }
            for spec, rater in zip(specs, raters, strict=True)
        ],
        "notes": [*benchmark.notes(), *_note_fitted(raters, [item.prompt for item in benchmark.items()])],
        "command": config.command,
    }
    return PreferencePlan(judging, raters, benchmark.info, record)


def _note_fitted(raters: Sequence[PreferenceRater], prompts: Sequence[str]) -> Iterator[str]:
    """A rater on the prompts it was fitted on shows memory, not skill: say so beside its score."""
    different = set(prompts)
    for rater in raters:
        met = sum(hash_text(prompt) in getattr(rater, "fitted_on", ()) for prompt in different)
        if met:
            yield (
                f"{rater.record.name} was fitted on {met:,} of the {len(different):,} prompts here: its score on them is no "
                "evidence."
            )


def _selection(store: Store, dataset: str, config: RunConfig) -> frozenset[str] | None:
    """The items that --users and --limit leave; None for all."""
    if config.limit is None and config.users is None:
        return None
    rows = item_rows(store, dataset)
    if config.users is not None:
        present = sorted(set(rows["person"]))
        rows = rows.filter(pl.col("person").is_in(chosen_people(present, config.users, config.seed)))
        if rows.is_empty():
            raise UserError(f"--users {config.users} leaves nobody to judge for.")
    if config.limit is None:
        return frozenset(rows["item"])
    strata = [name for name in (GENERATOR, GIVEN) if name in rows.columns]
    return select_items(rows.select("item", *strata), config.limit, config.seed)


def estimate(store: Store, config: RunConfig) -> str:
    """The plan in words: asks, tokens and, where prices are known, money."""
    if config.systems:
        return _estimate_making(config)
    plan = make_plan(store, config, open_responses(config.data))
    counts = [plan.judging.count(rater) for rater in plan.raters]
    lines = [
        f"{plan.info.name}: {sum(counts):,} asks would be made; those already stored are not asked again."
    ]
    for rater, count in zip(plan.raters, counts, strict=True):
        requests = [rater.request(one) for one in islice(plan.judging.shown(rater), SAMPLE)]
        lines.append(_line(rater, count, [r for r in requests if r is not None]))
    return "\n".join(lines)


def _line(rater: PreferenceRater, count: int, requests: Sequence[Any]) -> str:
    line = f"  {rater.record.name}: {count:,} asks"
    if not requests:
        return f"{line}, no model call."
    tokens = count * sum(prompt_tokens(request.messages) for request in requests) / len(requests)
    out = count * sum(request.max_tokens for request in requests) / len(requests) / 2
    line += f", about {tokens:,.0f} tokens in and {out:,.0f} out"
    if rater.price is None:
        return f"{line}; its price is unknown (add ,price=IN/OUT)."
    return f"{line}, about {(tokens * rater.price[0] + out * rater.price[1]) / 1e6:.2f} USD."


def _estimate_making(config: RunConfig) -> str:
    prompts = len(open_prompts(config.data).situations)
    prompts = min(prompts, config.limit or prompts)
    givens = wanted_givens(config.givens)
    lines = []
    for spec in config.systems:
        model = make_model(spec)
        calls = prompts * (1 + len(givens))
        line = f"{model.name}: {calls:,} answers, about {calls * USUAL_TOKENS:,} tokens out"
        if model.price is not None:
            line += f", about {calls * USUAL_TOKENS * model.price[1] / 1e6:.2f} USD"
        lines.append(f"{line}; matching, where it is asked for, comes on top.")
    pairs = prompts * len(givens) * len(config.systems)
    lines.append(f"Each judge that sees an order: {2 * pairs:,} asks over {pairs:,} pairs.")
    return "\n".join(lines)
