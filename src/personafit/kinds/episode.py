"""Episodes: agents carry out people's requests with tools, and what they did is scored without a judge.

Scripted controls run beside every system: they show what can be reached with what knowledge. A failed episode counts as
lost, and lowers coverage; one that was not played yet has no scores.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import comb
from typing import Any, ClassVar

import polars as pl

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, Controls
from personafit.benchmarks.world import WorldBenchmark
from personafit.contexts import Context, default_model, make_context
from personafit.engine import Job, Lane, together
from personafit.items.choice import CHOICES
from personafit.items.reading import QuestionSet
from personafit.kinds.attempts import price_words
from personafit.kinds.kind import Kind, RunPlan, contexts_of, speaker_record
from personafit.kinds.lines import Line, Metric, RunLines, at_least_zero, control_of
from personafit.models import ChatRequest, Model, is_fixed, make_model
from personafit.models.purse import request_tokens
from personafit.store import RunRecord, Status, Store, run_items
from personafit.worlds.agents import Agent, make_agent
from personafit.worlds.chat_agents import ChatAgent, ChatUser
from personafit.worlds.playing import EpisodeProgress, EpisodeSlot, step_job, whole_job
from personafit.worlds.python_agents import PythonAgent
from personafit.worlds.scripted import AGENTS, ScriptedAgent
from personafit.worlds.storage import FIGURES, INSTRUMENT, episode_rows

DEFAULT_CONTEXTS = ("profile",)
NO_CONTEXT = Context("none", "", (), None)
STORED_TOGETHER = 100  # number of episodes whose contexts are stored together
PAGE = 10_000  # number of episodes read at a time
TEMPLATE_USER = {"name": "template", "fingerprint": INSTRUMENT}
USUAL_STEPS, USUAL_REPLIES = 8, 2  # of the agent and of a user played by a model, for estimates only
USUAL_TOKENS = (300, 60)  # tokens that a step adds to the prompt, and that it writes
MOST_QUESTIONS = 5  # points of the curve of regret by questions; the last stands for that many and more

COUNTS = {
    "questions": "questions to the user",
    "re_asked": "questions about what the agent was told",
    "collateral": "changes that nobody asked for",
    "leaks": "private things told to others",
    "unasked_needs": "hard needs that nobody told and the agent did not ask for",
    "malformed": "calls that no tool could read",
    "impossible": "calls that no tool could carry out",
    "steps": "steps of the agent",
}
"""Labels of the counts of an episode."""
SUCCESS = "what was asked for exists, hard needs hold and nothing else changed"


class EpisodeKind(Kind):
    """Whether an agent did what this person asked, and chose what suits them."""

    name = "episode"
    asks: ClassVar[QuestionSet] = CHOICES
    made_from: ClassVar[str | None] = "request"
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context", "user"})
    controls: ClassVar[Controls | None] = Controls(contexts=[], raters=[])
    strata: ClassVar[tuple[str, ...]] = ("level", "domain")
    judged = False
    bars: ClassVar[tuple[str, ...]] = ("success", "regret", "needs_met", *COUNTS)

    def prepare(self, plan: RunPlan, benchmark: Benchmark) -> None:
        """Create the agents, and plan their episodes: one lane per system, and one for all controls."""
        if not isinstance(benchmark, WorldBenchmark):
            raise UserError(
                f"{plan.config.benchmark}: items of kind episode need their world; run `personafit run world`, with --data for your own domains."
            )
        config = plan.config
        systems = [make_agent(spec) for spec in dict.fromkeys(config.systems)]
        user = ChatUser(make_model(config.user)) if config.user else None
        asked = {one.name for one in systems}
        controls = [ScriptedAgent(name) for name in AGENTS if name not in asked]
        makes = default_model(config.systems)
        told = config.system_contexts or DEFAULT_CONTEXTS if systems else ()
        plan.builders = [make_context(name, plan.people, config.seed, makes) for name in told]
        acting: list[Any] = [one.model if isinstance(one, ChatAgent) else one for one in systems]
        plan.systems = acting
        plan.models = [one for one in acting if not isinstance(one, ScriptedAgent)]
        plan.models += [user.model] if user else []
        plan.speakers = [speaker_record("system", one.fingerprint, one) for one in (*systems, *controls)]
        if user is not None:
            plan.speakers.append(speaker_record("user", user.fingerprint, user.model))
        plan.state |= {
            "world": benchmark.world,
            "systems": systems,
            "controls": controls,
            "user": user,
        }
        plan.making = [partial(_lane, plan, [one]) for one in systems]
        plan.making += [partial(_lane, plan, controls)] if controls else []

    def planned(self, plan: RunPlan) -> int:
        return sum(_total(plan, agent) for agent in (*plan.state["systems"], *plan.state["controls"]))

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        user: ChatUser | None = plan.state["user"]
        found: dict[str, Any] = {
            "kind": self.name,
            "instrument": INSTRUMENT,
            "systems": [_who(one) for one in plan.state["systems"]],
            "controls": [_who(one) for one in plan.state["controls"]],
            "user": _who(user) if user else TEMPLATE_USER,
            "givens": [system_context.name for system_context in plan.builders],
        }
        return found | plan.context_prints

    def estimate(self, plan: RunPlan) -> list[str] | None:
        """Return lines that estimate the episodes, at eight steps and two replies of the user each."""
        lines = [f"{plan.info.name}: {self.planned(plan):,} episodes over {plan.count_items():,} requests."]
        user = plan.state["user"]
        for agent in plan.state["systems"]:
            total, slot = _total(plan, agent), next(_slots(plan, [agent]), None)
            if slot is None:  # all contexts have to be made by a model first
                lines.append(f"  {agent.name}: unknown, since what it is told is not made yet.")
                continue
            if isinstance(agent, ChatAgent):
                step = agent.ask(agent.opening(slot.request, slot.context), slot.request, "", None)
                lines.append(_cost_line(agent.name, agent.model, step, total, USUAL_STEPS))
            else:
                lines.append(f"  {agent.name}: {total:,} episodes.")
            if user is not None and not isinstance(agent, ScriptedAgent):
                answer = user.ask(slot.start, "", "", None)
                lines.append(_cost_line(f"{user.name}, the user", user.model, answer, total, USUAL_REPLIES))
        return lines

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        return episode_lines(store, run)


def _cost_line(name: str, model: Model, first: ChatRequest, episodes: int, each: int) -> str:
    """Estimate the calls of a model that makes `each` an episode, the first of which is this."""
    calls, (more, out) = episodes * each, USUAL_TOKENS
    tokens_in, tokens_out = calls * (request_tokens(first) + more * each // 2), calls * out
    return (
        f"  {name}: {calls:,} calls at about {each} an episode, about {tokens_in:,} tokens in and {tokens_out:,} out"
        f"{price_words(model.price, tokens_in, tokens_out)}."
    )


def _total(plan: RunPlan, agent: Agent) -> int:
    """Return how many episodes an agent is to play; a scripted agent plays each request once."""
    each = 1 if isinstance(agent, ScriptedAgent) else len(plan.builders) * plan.config.samples
    return plan.count_items() * each


def _slots(plan: RunPlan, agents: Sequence[Agent]) -> Iterator[EpisodeSlot]:
    """Yield every planned episode of some agents, by request."""
    world, user, config = plan.state["world"], plan.state["user"], plan.config
    for item in plan.items():
        request, person = world.requests[item.id], plan.people[item.person]
        for agent in agents:
            if isinstance(agent, ScriptedAgent):
                yield EpisodeSlot(item, request, NO_CONTEXT, agent, None, config.seed)
                continue
            fixed = isinstance(agent, ChatAgent) and is_fixed(agent.model)
            attempt = "" if fixed else plan.attempt
            for _, context in (pair for one in plan.builders for pair in contexts_of(one, person, [item])):
                for sample in range(config.samples):
                    yield EpisodeSlot(item, request, context, agent, user, config.seed, sample, attempt)


def _jobs(plan: RunPlan, agents: Sequence[Agent]) -> Iterator[Job]:
    slots = _slots(plan, agents)
    while page := list(islice(slots, STORED_TOGETHER)):
        plan.store.add_products({slot.context.id: slot.context.product for slot in page}.values())
        for slot in page:
            if isinstance(slot.agent, ChatAgent):
                messages = slot.agent.opening(slot.request, slot.context)
                yield step_job(EpisodeProgress(slot, slot.agent, slot.start, slot.first_key, messages))
            else:
                yield whole_job(slot, slot.agent, plan.state["world"])


def _lane(plan: RunPlan, agents: Sequence[Agent]) -> Lane:
    """Return the lane of one agent's episodes, or of several scripted agents'."""
    agent, user = agents[0], plan.state["user"]
    lane = Lane(
        name=f"{agent.name} episodes" if len(agents) == 1 else "scripted controls",
        endpoint="scripted",
        jobs=_jobs(plan, agents),
        total=sum(_total(plan, one) for one in agents),
    )
    if isinstance(agent, ScriptedAgent):
        return lane
    if isinstance(agent, PythonAgent):
        return replace(lane, endpoint=agent.endpoint, max_concurrency=agent.max_concurrency)
    model, others = agent.model, [user.model] if user else []
    endpoints = {one.endpoint: one.max_concurrency for one in others if one.endpoint != model.endpoint}
    return replace(
        lane,
        endpoint=model.endpoint,
        max_concurrency=model.max_concurrency,
        chains=model.max_concurrency + sum(endpoints.values()),
        endpoints=endpoints,
        together=together(model, *others),
    )


def _who(one: Agent | ChatUser) -> dict[str, str]:
    return {"fingerprint": one.fingerprint, "name": one.name}


# -- metrics -----------------------------------------------------------------------------------------------------------

REGRET = "what the choice lost against the best offer, as a share of what the best is worth over the mean offer; 1 where nothing was chosen"
ALL = ((),)

LESS: dict[str, Any] = {"bounds": None, "from_sums": at_least_zero, "better": "lower"}
"""Arguments shared by metrics that count from 0 and for which lower is better."""


def episode_metrics(samples: int) -> list[Metric]:
    """Return the metrics of a run that plays each request `samples` times."""
    made = partial(Metric, about="product")
    part = partial(made, by=ALL, answered="", optional=True, how="")
    found = [
        made("success", label=SUCCESS, compared=True),
        made("regret", label=REGRET, compared=True, **LESS),
        *(
            made(name, label=label, compared=name == "questions", answered="", **LESS)
            for name, label in COUNTS.items()
        ),
        made("needs_met", label="hard needs hold", answered=""),
        made("spoilt", label="episodes that the simulated user spoilt", answered="", better="lower"),
    ]
    unspoilt = (("simulator", "unspoilt"),)
    found.append(part("success", "success unspoilt", under=unspoilt, note="without episodes the user spoilt"))
    found.append(part("regret", "regret unspoilt", under=unspoilt, **LESS))
    for count in range(MOST_QUESTIONS + 1):
        under = (("questions", questions_label(count)),)
        found.append(part("regret", f"regret at {count}", under=under, **LESS))
    for k in range(2, samples + 1):
        note = f"all of {k} episodes of a request succeed"
        found.append(part("pass_k", f"pass {k}", under=(("k", str(k)),), note=note))
    return found


def questions_label(count: int) -> str:
    """Return the name of a number of questions in the slices of the curve of regret."""
    return f"{count} or more" if count == MOST_QUESTIONS else str(count)


# -- lines -------------------------------------------------------------------------------------------------------------


def episode_lines(store: Store, run: RunRecord) -> RunLines:
    """Return a line per system and context, and one per scripted control."""
    config, info = run.config, store.dataset_info(run.dataset)
    items, units = run_items(store, run), load_units(store, run)
    samples = int(config["samples"])
    lines = []
    for system in config["systems"]:
        scripted = system["name"] in AGENTS
        for system_context in [None] if scripted else run.system_contexts:
            frame = _frame(items, units, system["fingerprint"], system_context, 1 if scripted else samples)
            several = {"none": "no context"} if len(run.system_contexts) > 1 else {}
            control = control_of(system["name"], system_context, {}, {"wrong": "wrong person", **several})
            lines.append(Line(None, None, None, system["name"], system_context, frame, control))
    for one in config["controls"]:
        frame = _frame(items, units, one["fingerprint"], None, 1)
        lines.append(Line(None, None, None, one["name"], None, frame, AGENTS[one["name"]], False))
    slices = [("level",), ("domain",)]
    metrics = episode_metrics(samples)
    return RunLines(run, info, "episode", lines, metrics, slices, summed=("success", "regret"))


def load_units(store: Store, run: RunRecord) -> pl.DataFrame:
    """Return one row per episode of a run: stored id, agent, request, context and scores."""
    texts = ("episode", "status", "slot", "item", "agent", "system_context", "stop")
    schema: dict[str, Any] = dict.fromkeys(texts, pl.String()) | {"at": pl.Float64(), "sample": pl.Int64()}
    schema |= {name: pl.Float64() for name in FIGURES if name != "stop"}
    rows, pages = episode_rows(store, run.id), [pl.DataFrame(schema=schema)]
    while page := list(islice(rows, PAGE)):
        pages.append(pl.DataFrame(page, schema, strict=False))  # true and false as 1 and 0
    whole = pl.col("status") != Status.FAILED.value
    return pl.concat(pages).sort("slot", whole, "at").unique("slot", keep="last", maintain_order=True)


def _frame(
    items: pl.DataFrame, units: pl.DataFrame, agent: str, system_context: str | None, samples: int
) -> pl.DataFrame:
    """Return a row per planned episode of an agent, with nulls if it was not played yet."""
    own = units.filter(pl.col("agent") == agent, pl.col("system_context").eq_missing(system_context)).drop(
        "agent", "system_context"
    )
    every = pl.DataFrame({"sample": range(samples)}, schema={"sample": pl.Int64})
    spoilt = pl.any_horizontal(
        pl.col("volunteered") > 0, pl.col("contradicted") > 0, pl.col("ended_early") > 0
    )
    planned = (
        items.select("item", "person", "level", "domain", prompt="pair")
        .join(every, how="cross")
        .join(own, on=["item", "sample"], how="left", maintain_order="left")
    )
    unspoilt = pl.when(~spoilt)
    asked = pl.col("questions").clip(upper_bound=MOST_QUESTIONS)
    return planned.with_columns(
        unit=pl.concat_str("item", "sample", separator="#"),
        item=pl.col("episode"),
        request=pl.col("item"),
        asked=pl.lit(1),
        answered=(pl.col("status") != Status.FAILED.value).fill_null(False).cast(pl.Int64),
        spoilt=spoilt.cast(pl.Float64),
    ).with_columns(
        unspoilt.then("success").alias("success unspoilt"),
        unspoilt.then("regret").alias("regret unspoilt"),
        *(
            pl.when(asked == count).then("regret").alias(f"regret at {count}")
            for count in range(MOST_QUESTIONS + 1)
        ),
        *_passes(samples),
    )


def _passes(samples: int) -> Iterator[pl.Expr]:
    """Yield for each k the probability that k episodes of a request all succeed, in its first row; null unless all were played."""
    won = pl.col("success").sum().over("request")
    first = (pl.col("sample") == 0) & (pl.col("success").count().over("request") == samples)
    for k in range(2, samples + 1):
        chances = {float(wins): comb(wins, k) / comb(samples, k) for wins in range(samples + 1)}
        chance = won.replace_strict(chances, return_dtype=pl.Float64)
        yield pl.when(first).then(chance).alias(f"pass {k}")
