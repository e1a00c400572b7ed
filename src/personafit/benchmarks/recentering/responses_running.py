"""`personafit run responses`: does using the attributes help? Pairs as published or in a folder, or made by --system first."""

from dataclasses import replace

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, ingest
from personafit.benchmarks.config import Finished, RunConfig
from personafit.benchmarks.plans import (
    RunPlan,
    check_judges,
    estimate_asks,
    note_fitted_prompts,
    rows_of_users,
    rows_where,
    run_lanes,
)
from personafit.benchmarks.recentering.responses import CONTROLS, GENERATOR, GIVEN, open_responses
from personafit.benchmarks.recentering.responses_making import make_responses, wanted_givens
from personafit.benchmarks.recentering.responses_prompts import open_prompts
from personafit.engine import ProgressView
from personafit.items.preference import PREFER, PREFERENCE
from personafit.models import make_model
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


class PreferencePlan(RunPlan[PreferenceJudging, PreferenceRater]):
    """A preference run that is ready to be carried out."""


async def execute(store: Store, config: RunConfig, progress: ProgressView) -> Finished:
    """Make the answers where a system is named, then let every rater mark every pair."""
    if not config.systems:
        if config.givens:
            raise UserError("--given says what a system is told: name the system with --system SPEC.")
        return await _judge(store, config, progress, open_responses(config.data))
    for condition in config.where:  # before anything is spent on answers
        if condition.partition("=")[0] not in (GENERATOR, GIVEN):
            raise UserError(f"--where {condition}: answers that systems make have {GENERATOR} and {GIVEN}.")
    await check_judges(config, make_preference_rater)
    made = await make_responses(store, config, progress)
    if made.benchmark is None:
        return Finished(store.run(made.run), made.summary)
    rest = None if config.budget is None else max(0.0, config.budget - made.summary.cost)
    # The prompts are chosen; whatever was made of them is judged.
    judged = replace(config, limit=None, users=None, budget=rest)
    finished = await _judge(store, judged, progress, made.benchmark)
    finished.summary.charge(made.summary)
    return finished


async def _judge(store: Store, config: RunConfig, progress: ProgressView, benchmark: Benchmark) -> Finished:
    plan = make_plan(store, config, benchmark)
    return await run_lanes(store, config, progress, plan, preference_lanes)


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
        "notes": [
            *benchmark.notes(),
            *note_fitted_prompts(raters, (item.prompt for item in benchmark.items())),
        ],
        "command": config.command,
    }
    return PreferencePlan(judging, raters, benchmark.info, record)


def _selection(store: Store, dataset: str, config: RunConfig) -> frozenset[str] | None:
    """The items that --users, --where and --limit leave; None for all."""
    if config.limit is None and config.users is None and not config.where:
        return None
    rows = rows_where(rows_of_users(item_rows(store, dataset), config), config)
    if config.limit is None:
        return frozenset(rows["item"])
    strata = [name for name in (GENERATOR, GIVEN) if name in rows.columns]
    return select_items(rows.select("item", *strata), config.limit, config.seed)


def estimate(store: Store, config: RunConfig) -> str:
    """The plan in words: asks, tokens and, where prices are known, money."""
    if config.systems:
        return _estimate_making(config)
    plan = make_plan(store, config, open_responses(config.data))
    lines = estimate_asks(
        plan, lambda rater: (rater.request(one) for one in plan.judging.shown(rater)), long_replies=True
    )
    return "\n".join(lines)


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
