"""Letting systems answer told nothing, all attributes, those a matcher picks, those people called relevant, or any other context.

`attributes:matched:SPEC` is matched by that relevance rater; plain `attributes:matched` by the system itself, asked for the few of
a list. Matching and answering are keyed jobs like everything that costs: they resume, and nothing is paid for twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.benchmark import ingest
from personafit.benchmarks.config import RunConfig, chosen_people
from personafit.benchmarks.recentering.responses import INFO
from personafit.benchmarks.recentering.responses_made import MadeResponses
from personafit.benchmarks.recentering.responses_prompts import ResponsePrompts, Situation, open_prompts
from personafit.contexts import (
    AttributesContext,
    ContextBuilder,
    People,
    default_model,
    make_context,
    make_contexts,
    makers,
)
from personafit.contexts.attributes import HUMAN, MATCHED
from personafit.engine import ProgressView, Runner, Summary, check_budget
from personafit.models import Model, make_model
from personafit.raters.relevance import make_relevance_rater
from personafit.simulate import Answering
from personafit.stages.matching import Matching
from personafit.store import Store

DEFAULT_GIVENS = ("attributes:all", f"attributes:{MATCHED}", f"attributes:{HUMAN}")


@dataclass
class Made:
    """Answers that systems made, as pairs to be judged, and what making them took."""

    benchmark: MadeResponses | None
    summary: Summary
    run: str


async def make_responses(store: Store, config: RunConfig, progress: ProgressView) -> Made:
    """Match where that is asked for, then answer."""
    prompts = open_prompts(config.data)
    dataset = ingest(store, prompts)
    people = People(store.people(dataset))
    givens = wanted_givens(config.givens)
    selected = _selected(prompts, config)
    situations = [one for one in prompts.situations.values() if selected is None or one.id in selected]
    models = [make_model(spec) for spec in config.systems]
    check_budget(config.budget, [(model.name, model) for model in models])
    record = {"benchmark": INFO.name, "systems": config.systems, "givens": givens, "stage": "answering"}
    parts = [config.systems, givens, str(config.data), config.users, config.limit, config.seed]
    planned = len(situations) * len(models) * (1 + len(givens))
    run = store.begin_run(f"responding-{content_hash(parts)[:8]}", dataset, record, planned)
    summary: Summary | None = None
    notes: list[str] = []
    answerings = []
    unmatched: set[tuple[str, str, str]] = set()
    called: dict[str, str] = {}  # as contexts call themselves: memory:k=3 is memory
    try:
        for spec, model in zip(config.systems, models, strict=True):
            builders: list[ContextBuilder] = [make_context("none", people, config.seed)]
            for given in givens:
                if given == f"attributes:{HUMAN}":
                    builders.append(AttributesContext(given, {one.id: one.relevant for one in situations}))
                elif given.startswith(f"attributes:{MATCHED}"):
                    matcher = given.removeprefix(f"attributes:{MATCHED}").removeprefix(":") or f"list:{spec}"
                    budget = _left(config.budget, summary)
                    chosen, took = await _match(
                        store, run.id, matcher, people, situations, progress, config, budget
                    )
                    summary = _added(summary, took)
                    if took.ended_early:
                        return Made(None, summary, run.name)
                    notes += _note_unmatched(given, model, situations, chosen)
                    unmatched |= {(model.name, given, one.id) for one in situations if one.id not in chosen}
                    builders.append(AttributesContext(given, chosen))
                else:
                    builders.append(make_context(given, people, config.seed, default_model([spec])))
                called[given] = builders[-1].name
            answerings.append(Answering(store, dataset, dict(people), model, builders, selected))
        told = [builder for answering in answerings for builder in answering.givens]
        check_budget(config.budget, [(maker.model.name, maker.model) for maker in makers(told)])
        runner = Runner(store, run.id, progress, config.retry, _left(config.budget, summary))
        took_making = await make_contexts(told, store, people, answerings[0].items, runner)
        if took_making is not None:
            summary = _added(summary, took_making)
            if summary.ended_early:
                return Made(None, summary, run.name)
            runner = Runner(store, run.id, progress, config.retry, _left(config.budget, summary))
        summary = _added(summary, await runner.run([answering.lane() for answering in answerings]))
    finally:
        for model in models:
            await model.close()
    if summary.ended_early:
        return Made(None, summary, run.name)
    answers = []
    for answering in answerings:
        lost = alone = 0
        for item, texts in answering.tried():
            for given in givens:
                if (answering.system.name, given, item.id) in unmatched or called[given] not in texts:
                    continue
                name, generic = called[given], texts.get("none")
                if not generic:  # nothing to compare with
                    alone += 1
                    continue
                lost += not texts[name]
                answers.append(
                    (answering.system.name, name, prompts.situations[item.id], generic, texts[name])
                )
        if lost:
            notes.append(
                f"{answering.system.name} did not make {lost} answers (failed, refused or empty): they lose to the generic ones."
            )
        if alone:
            notes.append(
                f"{answering.system.name}: {alone} answers have no generic answer to be compared with and are left out."
            )
    if not any(personal for *_, personal in answers):
        raise UserError(
            f"No answer could be made: {summary.last_failure or 'the systems answered nothing'}", code=1
        )
    return Made(MadeResponses(prompts, answers, notes), summary, run.name)


def wanted_givens(asked: Sequence[str]) -> list[str]:
    """What the systems are told besides nothing, which they always answer too."""
    return [given for given in dict.fromkeys(asked or DEFAULT_GIVENS) if given != "none"]


def _selected(prompts: ResponsePrompts, config: RunConfig) -> frozenset[str] | None:
    if config.users is None and config.limit is None:
        return None
    found = list(prompts.situations.values())
    if config.users is not None:
        chosen = set(chosen_people(sorted({one.person for one in found}), config.users, config.seed))
        found = [one for one in found if one.person in chosen]
    drawn = sorted(found, key=lambda one: hash_text("select", one.id, str(config.seed)))
    return frozenset(one.id for one in drawn[: config.limit])


async def _match(
    store: Store,
    run: int,
    spec: str,
    people: People,
    situations: Sequence[Situation],
    progress: ProgressView,
    config: RunConfig,
    budget: float | None,
) -> tuple[dict[str, tuple[str, ...]], Summary]:
    """The attributes a relevance rater picks for each prompt; a prompt it could not be asked about is absent."""
    rater = make_relevance_rater(spec, people)
    try:
        check_budget(budget, [(rater.record.name, rater)])
        matching = Matching(store, rater, situations)
        store.add_raters([rater.record])
        summary = await Runner(store, run, progress, config.retry, budget).run([matching.lane()])
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
    given: str, model: Model, situations: Sequence[Situation], chosen: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    unknown = sum(one.id not in chosen for one in situations)
    nothing = sum(one.id in chosen and not chosen[one.id] for one in situations)
    if nothing:
        yield f"{given}: nothing was picked for {nothing} of {len(situations)} prompts, where {model.name} was told nothing."
    if unknown:
        yield f"{given}: {unknown} prompts could not be matched for {model.name} and are left out; the same command tries again."


def _left(budget: float | None, spent: Summary | None) -> float | None:
    return budget if budget is None or spent is None else max(0.0, budget - spent.cost)


def _added(first: Summary | None, second: Summary) -> Summary:
    """The later summary with what came before on the bill."""
    if first is not None:
        second.charge(first)
    return second
