"""Pairs of answers made from prompts: systems answer without a context, and with attributes of the person.

The context has all attributes, those a matcher picks or those people called relevant, or is any other. `attributes:matched:SPEC`
is matched by that relevance rater; plain `attributes:matched` by the system itself, asked for the few of a list. Matching and
answering are keyed jobs: they resume, and nothing is paid for twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.benchmarks.benchmark import Benchmark
from personafit.benchmarks.config import RunConfig
from personafit.benchmarks.responses import (
    GENERATOR,
    INFO,
    MadeResponses,
    ResponsePrompts,
    Situation,
)
from personafit.contexts import AttributesContext, ContextBuilder, default_model, make_context
from personafit.contexts.profile import HUMAN as RELEVANT
from personafit.contexts.profile import MATCHED
from personafit.engine import Runner, Summary, check_budget
from personafit.extract.prompting import Matching, Wish
from personafit.items.relevance import ATTRIBUTES
from personafit.kinds.attempts import left_of
from personafit.kinds.kind import Kind, Made, RunPlan
from personafit.kinds.making import Answered, estimate_answers, let_answer
from personafit.models import Model
from personafit.raters import make_rater
from personafit.store import Store, slice_column

if TYPE_CHECKING:
    from personafit.engine import ProgressView

DEFAULT_SYSTEM_CONTEXTS = ("attributes:all", f"attributes:{MATCHED}", f"attributes:{RELEVANT}")


def estimate_responses(config: RunConfig, benchmark: Benchmark) -> list[str]:
    """Return the lines of `--dry-run`: the calls that answering and judging would take."""
    found = sum(1 for _ in benchmark.items())
    prompts, system_contexts = (
        min(found, config.limit or found),
        len(wanted_system_contexts(config.system_contexts)),
    )
    pairs = prompts * system_contexts * len(config.systems)
    return estimate_answers(config, prompts, 1 + system_contexts, pairs, 2 * pairs)


def wanted_system_contexts(asked: Sequence[str]) -> list[str]:
    """Return the system contexts besides `none`, under which systems always answer too."""
    return [
        system_context
        for system_context in dict.fromkeys(asked or DEFAULT_SYSTEM_CONTEXTS)
        if system_context != "none"
    ]


async def make_responses(
    kind: Kind, store: Store, config: RunConfig, progress: "ProgressView", prompts: ResponsePrompts
) -> Made:
    """Let systems answer the prompts, after matching attributes if a context needs that."""
    for condition in config.where:  # before anything is spent on answers
        if slice_column(condition.partition("=")[0]) not in (GENERATOR, "system_context"):
            raise UserError(
                f"--where {condition}: answers that systems make have {GENERATOR} and system_context."
            )
    system_contexts = wanted_system_contexts(config.system_contexts)
    plan = RunPlan.of(kind, store, config, prompts)
    people = plan.people
    plan.selected = kind.select(replace(plan, config=replace(config, where=[])))
    situations = [prompts.situations[item.id] for item in plan.items()]
    notes: list[str] = []
    unmatched: set[tuple[str, str, str]] = set()
    called: dict[str, str] = {}  # contexts by their own name: memory:k=3 is memory

    async def told(
        spec: str, model: Model, run: int, budget: float | None
    ) -> tuple[list[ContextBuilder], Summary | None]:
        builders: list[ContextBuilder] = [make_context("none", people, config.seed)]
        summary: Summary | None = None
        for system_context in system_contexts:
            if system_context == f"attributes:{RELEVANT}":
                builders.append(
                    AttributesContext(system_context, {one.id: one.relevant for one in situations})
                )
            elif system_context.startswith(f"attributes:{MATCHED}"):
                matcher = (
                    system_context.removeprefix(f"attributes:{MATCHED}").removeprefix(":") or f"list:{spec}"
                )
                rest = left_of(budget, summary)
                chosen, took = await _match(plan, run, matcher, situations, progress, rest)
                if summary is not None:
                    took.charge(summary)
                summary = took
                if took.ended_early:
                    return builders, took
                notes.extend(_note_unmatched(system_context, model, situations, chosen))
                unmatched.update(
                    (model.name, system_context, one.id) for one in situations if one.id not in chosen
                )
                builders.append(AttributesContext(system_context, chosen))
            else:
                builders.append(make_context(system_context, people, config.seed, default_model([spec])))
            called[system_context] = builders[-1].name
        return builders, summary

    def name(attempt: int) -> str:
        parts = [config.systems, system_contexts, str(config.data), config.people, config.limit, config.seed]
        return f"responding-{content_hash([*parts, attempt] if attempt else parts)[:8]}"

    record = {"benchmark": INFO.name, "givens": system_contexts}
    done = await let_answer(plan, progress, name, record, 1 + len(system_contexts), told)
    if not done.answerings:
        return done.made(None, config)
    return _paired(prompts, config, done, notes, unmatched, called)


def _paired(
    prompts: ResponsePrompts,
    config: RunConfig,
    done: Answered,
    notes: list[str],
    unmatched: set[tuple[str, str, str]],
    called: Mapping[str, str],
) -> Made:
    """Pair every answer with the generic one of the same system; an answer that was not made loses to it."""
    answers = []
    shares: dict[tuple[str, str], list[int]] = {}
    """System and context to the numbers of answers asked for, and made."""
    for answering in done.answerings:
        system, lost, alone = answering.system.name, 0, 0
        for item, texts in answering.tried():
            for system_context, name in called.items():
                if (system, system_context, item.id) in unmatched or name not in texts:
                    continue
                generic, personal = texts.get("none"), texts[name]
                asked = shares.setdefault((system, name), [0, 0])
                asked[0] += 1
                asked[1] += bool(generic and personal)
                if generic:
                    lost += not personal
                    answers.append((system, name, prompts.situations[item.id], generic, personal))
                else:
                    alone += 1
        if lost:
            notes.append(
                f"{system} did not make {lost} answers (failed, refused or empty): they lose to the generic ones."
            )
        if alone:
            notes.append(
                f"{system}: {alone} answers have no generic answer to be compared with and are left out."
            )
    done.refuse_nothing(personal for *_, personal in answers)
    made = [[*who, *asked] for who, asked in shares.items()]
    return done.made(MadeResponses(prompts, answers, notes), config, shares=made)


async def _match(
    plan: RunPlan,
    run: int,
    spec: str,
    situations: Sequence[Situation],
    progress: "ProgressView",
    budget: float | None,
) -> tuple[dict[str, tuple[str, ...]], Summary]:
    """Return the attributes a relevance rater picks for each prompt; prompts whose ask failed are absent."""
    rater = make_rater(spec, ATTRIBUTES, plan.people)
    try:
        check_budget(budget, [(rater.record.name, rater)])
        wanted = [Wish(one.id, one.id, one.person, one.prompt, one.known) for one in situations]
        matching = Matching(plan.store, rater, wanted)
        plan.store.add_raters([rater.record])
        runner = Runner(plan.store, run, progress, plan.config.retry, budget)
        summary = await runner.run([matching.lane()])
    finally:
        await rater.close()
    picked = matching.picked()
    chosen = {
        one.id: tuple(text for text in one.known if text in picked[one.id])
        for one in situations
        if one.id in picked
    }
    return chosen, summary


def _note_unmatched(
    system_context: str, model: Model, situations: Sequence[Situation], chosen: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    unknown = sum(one.id not in chosen for one in situations)
    nothing = sum(one.id in chosen and not chosen[one.id] for one in situations)
    if nothing:
        yield f"{system_context}: nothing was picked for {nothing} of {len(situations)} prompts, where {model.name} was told nothing."
    if unknown:
        yield f"{system_context}: {unknown} prompts could not be matched for {model.name} and are left out; the same command tries again."
