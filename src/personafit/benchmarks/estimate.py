"""`--dry-run`: what a run would ask and cost, without asking."""

from itertools import islice

from personafit.benchmarks import open_benchmark
from personafit.benchmarks.answers import Answers, read_log
from personafit.benchmarks.prompts import Prompts
from personafit.benchmarks.running import RunConfig, make_plan
from personafit.models import make_model
from personafit.models.tokens import prompt_tokens
from personafit.raters import Rater
from personafit.simulate.answering import USUAL_TOKENS
from personafit.store import Store

SAMPLE = 200  # requests looked at per rater


def estimate_run(store: Store, config: RunConfig) -> str:
    """The plan in words: asks, tokens and, where prices are known, money."""
    if config.benchmark == "answers" and config.log is None:
        return _estimate_answers(config)
    if config.benchmark == "answers" and config.log is not None:
        people = {}
        if config.data is not None:
            people = {person.id: person for person in open_benchmark(str(config.data)).people()}
        rows, everyone = read_log(config.log, people)
        plan = make_plan(store, config, Answers(rows, everyone, config.seed))
    else:
        plan = make_plan(store, config, open_benchmark(config.benchmark, config.data))
    lines = [f"{plan.info.name}: {plan.asks:,} asks would be made; those already stored are not asked again."]
    for rater in plan.raters:
        count = plan.judging.count(rater)
        shown = islice(plan.judging.shown(rater), SAMPLE)
        requests = [rater.request(one, plan.judging.question) for one in shown]
        sizes = [prompt_tokens(request.messages) for request in requests if request is not None]
        lines.append(_line(rater, count, sizes))
    return "\n".join(lines)


def _line(rater: Rater, count: int, sizes: list[int]) -> str:
    if not sizes:
        return f"  {rater.record.name}: {count:,} asks, no model call."
    tokens = count * sum(sizes) / len(sizes)
    line = f"  {rater.record.name}: {count:,} asks, about {tokens:,.0f} tokens in and {count:,} or more out"
    if rater.price is None:
        return f"{line}; its price is unknown (add ,price=IN/OUT)."
    return f"{line}, about {(tokens * rater.price[0] + count * rater.price[1]) / 1e6:.2f} USD."


def _estimate_answers(config: RunConfig) -> str:
    prompts = list(Prompts(open_benchmark(str(config.data) if config.data else "starter")).items())
    questions = min(len(prompts), config.limit or len(prompts))
    contexts = 1 + 2 * len(config.givens or ["profile"])
    lines = []
    for spec in config.systems:
        model = make_model(spec)
        calls = questions * contexts
        line = f"{model.name}: {calls:,} answers, about {calls * USUAL_TOKENS:,} tokens out"
        if model.price is not None:
            line += f", about {calls * USUAL_TOKENS * model.price[1] / 1e6:.2f} USD"
        lines.append(f"{line}.")
    pairs = questions * 2 * len(config.givens or ["profile"]) * max(1, len(config.systems))
    views = len(config.views) or 3
    lines.append(f"Each judge that sees an order: {pairs * views * 2:,} asks over {pairs:,} pairs.")
    return "\n".join(lines)
