"""`--dry-run`: what a run would ask and cost, without asking."""

from importlib import import_module
from itertools import islice

from personafit.benchmarks import Benchmark, open_benchmark
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.running import RUNS, Plan, make_plan
from personafit.contexts import makers
from personafit.contexts.making import usual_cost
from personafit.models.tokens import prompt_tokens
from personafit.raters import Rater
from personafit.store import Store

SAMPLE = 200  # requests looked at per rater


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
    lines = [f"{plan.info.name}: {plan.asks:,} asks would be made; those already stored are not asked again."]
    for rater in plan.raters:
        count = plan.judging.count(rater)
        shown = islice(plan.judging.shown(rater), SAMPLE)
        requests = [rater.request(one, plan.judging.question) for one in shown]
        sizes = [prompt_tokens(request.messages) for request in requests if request is not None]
        lines.append(_line(rater, count, sizes))
    for maker in makers(plan.judging.views):
        items = list(plan.judging.items())
        calls = len({item.person for item in items}) if maker.per_person else len(items)
        price = maker.model.price
        money = "" if price is None else f", about {calls * usual_cost(price):.2f} USD"
        lines.append(f"  {maker.model.name}: {calls:,} or more calls to make {maker.name}{money}.")
    return "\n".join(lines)


def _line(rater: Rater, count: int, sizes: list[int]) -> str:
    if not sizes:
        return f"  {rater.record.name}: {count:,} asks, no model call."
    tokens = count * sum(sizes) / len(sizes)
    line = f"  {rater.record.name}: {count:,} asks, about {tokens:,.0f} tokens in and {count:,} or more out"
    if rater.price is None:
        return f"{line}; its price is unknown (add ,price=IN/OUT)."
    return f"{line}, about {(tokens * rater.price[0] + count * rater.price[1]) / 1e6:.2f} USD."
