"""`--dry-run`: what a run would ask and cost, without asking."""

from importlib import import_module

from personafit.benchmarks import Benchmark, open_benchmark
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.plans import estimate_asks
from personafit.benchmarks.running import RUNS, Plan, make_plan
from personafit.contexts import makers
from personafit.contexts.making import usual_cost
from personafit.store import Store


def estimate_run(store: Store, config: RunConfig) -> str:
    """The plan in words: asks, tokens and, where prices are known, money."""
    if config.benchmark in RUNS:
        words: str = import_module(RUNS[config.benchmark]).estimate(store, config)
        return words
    return estimate_benchmark(store, config, open_benchmark(config.benchmark, config.data))


def estimate_benchmark(store: Store, config: RunConfig, benchmark: Benchmark) -> str:
    """What judging the choices of a benchmark would take."""
    return estimate_plan(make_plan(store, config, benchmark))


def estimate_plan(plan: Plan) -> str:
    """What carrying out a plan would take."""
    judging = plan.judging
    lines = estimate_asks(
        plan, lambda rater: (rater.request(one, judging.question) for one in judging.shown(rater))
    )
    for maker in makers(judging.views):
        items = list(judging.items())
        calls = len({item.person for item in items}) if maker.per_person else len(items)
        price = maker.model.price
        money = "" if price is None else f", about {calls * usual_cost(price):.2f} USD"
        lines.append(f"  {maker.model.name}: {calls:,} or more calls to make {maker.name}{money}.")
    return "\n".join(lines)
