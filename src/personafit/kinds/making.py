"""Letting systems answer questions before the answers are judged: shared by choices and preferences that are made from prompts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.config import RunConfig
from personafit.contexts import ContextBuilder, make_contexts, makers
from personafit.engine import Runner, Summary, check_budget
from personafit.kinds.attempts import count_answers, left_of, open_attempt
from personafit.kinds.kind import Made, RunPlan
from personafit.models import Model, make_model
from personafit.simulate import Answering
from personafit.simulate.answering import USUAL_TOKENS

if TYPE_CHECKING:
    from personafit.engine import ProgressView

Told = Callable[[str, Model, int, float | None], Awaitable[tuple[list[ContextBuilder], Summary | None]]]
"""Given a system's spec, the system, the run's id and the budget left: returns the system's contexts, and what making them took."""


@dataclass
class Answered:
    """The systems' answers, and what making them took; no answers if it ended early."""

    answerings: list[Answering]
    summary: Summary
    run: str
    counts: dict[str, Any]
    """How many answers were made and reused (`count_answers`)."""

    def made(self, benchmark: Benchmark | None, config: RunConfig, **counts: Any) -> Made:
        """Return the benchmark made of the answers, to be judged with the rest of the budget; the questions are already selected."""
        rest = replace(config, limit=None, people=None, budget=left_of(config.budget, self.summary))
        systems = {one.fingerprint: one.system.name for one in self.answerings}
        return Made(benchmark, self.summary, self.run, rest, self.counts | counts, systems)

    def refuse_nothing(self, answers: Iterable[str | None]) -> None:
        """Raise an error if not one answer could be made."""
        if not any(answers):
            why = self.summary.last_failure or "the systems answered nothing"
            raise UserError(f"No answer could be made: {why.rstrip('.')}.", code=1)


async def let_answer(
    plan: RunPlan,
    progress: "ProgressView",
    name: Callable[[int], str],
    record: Mapping[str, Any],
    contexts: int,
    told: Told,
    samples: int = 0,
    temperature: float = 0.0,
) -> Answered:
    """Let every system answer the plan's questions, each under `contexts` contexts, as jobs of a run with this name and record.

    `samples` and `temperature` are those of `Answering`.
    """
    store, config, people, selected = plan.store, plan.config, plan.people, plan.selected
    models = [make_model(spec) for spec in config.systems]
    check_budget(config.budget, [(model.name, model) for model in models])
    attempt, owner = open_attempt(store, config, models, name)
    about = {**record, "systems": config.systems, "stage": "answering", "owner": owner}
    asks = plan.count_items() * contexts * len(models) * max(1, samples)
    run = store.begin_run(name(attempt), plan.dataset, about, asks)
    summary: Summary | None = None
    answerings = []
    try:
        for spec, model in zip(config.systems, models, strict=True):
            builders, took = await told(spec, model, run.id, left_of(config.budget, summary))
            summary = _added(summary, took)
            if summary is not None and summary.ended_early:
                return Answered([], summary, run.name, {})
            own = run.name if attempt else ""
            drawn = (selected, own, samples, temperature)
            answerings.append(Answering(store, plan.dataset, people, model, builders, *drawn))
        every = [builder for answering in answerings for builder in answering.system_contexts]
        check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(every)])
        runner = Runner(store, run.id, progress, config.retry, left_of(config.budget, summary))
        took = await make_contexts(every, store, people, answerings[0].items, runner)
        if took is not None and took.ended_early:
            return Answered([], _added(summary, took) or took, run.name, {})
        answered = await runner.run([answering.lane() for answering in answerings])
    finally:
        for model in models:
            await model.close()
    unmade = sum(answering.unmade() for answering in answerings)
    counts = count_answers(answered.lanes[-len(models) :], models, config.fresh, unmade)
    whole = _added(summary, answered)
    assert whole is not None
    return Answered([] if whole.ended_early else answerings, whole, run.name, counts)


def _added(first: Summary | None, second: Summary | None) -> Summary | None:
    """Return the later summary, charged with the cost of the earlier one."""
    if first is not None and second is not None:
        second.charge(first)
    return first if second is None else second


def estimate_answers(config: RunConfig, questions: int, contexts: int, pairs: int, asks: int) -> list[str]:
    """Return the lines of `--dry-run`: answers and cost of each system, and the asks of each judge."""
    lines = []
    for spec in config.systems:
        model, calls = make_model(spec), questions * contexts
        line = f"{model.name}: at most {calls:,} answers, about {calls * USUAL_TOKENS:,} tokens out"
        if model.price is not None:
            line += f", about {calls * USUAL_TOKENS * model.price[1] / 1e6:.2f} USD"
        lines.append(f"{line}; calls that prepare its contexts are not counted.")
    lines.append(f"Each rater asked in both orders: at most {asks:,} asks over {pairs:,} pairs.")
    return lines
