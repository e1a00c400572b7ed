"""Preferences: which of two answers somebody with an attribute would rather have. Systems make the pairs from prompts.

A system answers told nothing, and told all attributes, those a matcher picks, those people called relevant, or any other context.
`attributes:matched:SPEC` is matched by that relevance rater; plain `attributes:matched` by the system itself, asked for the few of
a list. Matching and answering are keyed jobs like everything that costs: they resume, and nothing is paid for twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, ingest
from personafit.benchmarks.config import RunConfig, chosen_people
from personafit.benchmarks.recentering.responses import (
    CONTROLS,
    GENERATOR,
    GIVEN,
    INFO,
    MadeResponses,
    ResponsePrompts,
    Situation,
)
from personafit.contexts import (
    AttributesContext,
    ContextBuilder,
    People,
    default_model,
    make_context,
)
from personafit.contexts.profile import HUMAN, MATCHED
from personafit.engine import Runner, Summary, check_budget
from personafit.extract.prompting import Matching, Wish
from personafit.items.preference import (
    CONTEXT,
    NAMED,
    PERSONAL,
    PREFER,
    PREFERENCE,
    PREFERENCES,
    shown_content,
)
from personafit.items.reading import Part, Question, QuestionSet, Shown, order_places
from personafit.items.relevance import ATTRIBUTES
from personafit.kinds.kind import (
    Kind,
    Made,
    RunPlan,
    ShownAgain,
    left_of,
    order_name,
    orders,
)
from personafit.kinds.lines import Metric, RunLines
from personafit.models import Model
from personafit.raters import Rater, make_rater
from personafit.store import Item, RunRecord, Store

if TYPE_CHECKING:
    from personafit.engine import ProgressView

DEFAULT_GIVENS = ("attributes:all", f"attributes:{MATCHED}", f"attributes:{HUMAN}")
PAGE = 200


class PreferenceKind(Kind):
    """Whether using the attributes helps."""

    name = PREFERENCE
    asks: ClassVar[QuestionSet] = PREFERENCES
    made_from: ClassVar[str | None] = "prompt"
    own_contexts: ClassVar[dict[str, str] | None] = {
        CONTEXT.name: "the attributes of each item and nothing else of the person"
    }
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context"})
    controls: ClassVar[Controls | None] = CONTROLS
    strata: ClassVar[tuple[str, ...]] = (GENERATOR, GIVEN)
    long_replies = True

    bars: ClassVar[tuple[str, ...]] = ("rating", "win_rate", "win_rate_length_controlled", "spearman")

    def default_contexts(self, info: BenchmarkInfo) -> list[str]:
        """The attributes."""
        return [CONTEXT.name]

    def shown(self, plan: RunPlan, rater: Rater) -> Iterator[Shown]:
        """Every pair, all attributes at once, in both orders where the order is seen."""
        items = plan.items()
        while page := list(islice(items, PAGE)):
            texts = plan.store.texts({product for item in page for product in item.products})
            for item in page:
                pair = shown_pair(item, texts, rater.questions[0])
                for order in orders(item.id, 2, rater, plan.config.seed):
                    place = order_name(order) if rater.order_matters else ""
                    for sample in range(plan.config.samples):
                        yield replace(pair, order=order, place=place, sample=sample)

    def rater_facts(self, plan: RunPlan, rater: Rater) -> dict[str, Any]:
        """What it is asked, and in how many orders."""
        return {"question": rater.questions[0].name, "orders": 2 if rater.order_matters else 1}

    def shown_again(self, store: Store, run: RunRecord) -> ShownAgain:
        """The pair with its attributes, in the order that is stored."""
        items = {item.id: item for item in store.items(run.dataset)}
        questions = {question.name: question for question in (PREFER, NAMED)}

        def again(rows: Sequence[Any]) -> Shown | None:
            item = items.get(rows[0].item)
            if item is None:
                return None
            texts = dict.fromkeys(item.products, "")
            order = tuple(order_places(rows[0].order)) or (0, 1)
            return replace(shown_pair(item, texts, questions[rows[0].question]), order=order)

        return again

    def metrics(self, info: Mapping[str, Any]) -> Sequence[Metric]:
        """What raters think of the answers; the effect of mention is by the rule."""
        from personafit.kinds.preference_scores import RULE, preference_metrics

        return preference_metrics({RULE: "names"})

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """A line per rater over the answers of every system, whose names are in the columns `system` and `given`."""
        from personafit.kinds.preference_scores import load_preferences, opened_preferences

        return opened_preferences(load_preferences(store, run))

    async def make(
        self, store: Store, config: RunConfig, progress: "ProgressView", benchmark: Benchmark
    ) -> Made | None:
        """Match where that is asked for, then answer."""
        assert isinstance(benchmark, ResponsePrompts)
        for condition in config.where:  # before anything is spent on answers
            if condition.partition("=")[0] not in (GENERATOR, GIVEN):
                raise UserError(
                    f"--where {condition}: answers that systems make have {GENERATOR} and {GIVEN}."
                )
        made = await _make_responses(self, store, config, progress, benchmark)
        rest = left_of(config.budget, made.summary)
        return replace(made, config=replace(config, limit=None, users=None, budget=rest))

    def estimate_making(self, config: RunConfig, benchmark: Benchmark) -> list[str] | None:
        """What answering and judging would take."""
        from personafit.kinds.making import estimate_answers

        found = sum(1 for _ in benchmark.items())
        prompts, givens = min(found, config.limit or found), len(wanted_givens(config.givens))
        pairs = prompts * givens * len(config.systems)
        return estimate_answers(config, prompts, 1 + givens, pairs, 2 * pairs)


def shown_pair(item: Item, texts: Mapping[str, str], question: Question) -> Shown:
    """A preference item with its texts."""
    generic, personal, *attributes = item.products
    answers = (texts[generic], texts[personal])
    parts = tuple(Part(item.id, one, texts[one]) for one in dict.fromkeys(attributes))
    return Shown(
        question=question,
        about=item.id,
        content=shown_content(item.hash, item.prompt, answers, parts),
        person=item.person,
        prompt=item.prompt,
        parts=parts,
        texts=answers,
        context=CONTEXT,
        order=tuple(range(PERSONAL + 1)),
    )


def wanted_givens(asked: Sequence[str]) -> list[str]:
    """What the systems are told besides nothing, which they always answer too."""
    return [given for given in dict.fromkeys(asked or DEFAULT_GIVENS) if given != "none"]


async def _make_responses(
    kind: Kind, store: Store, config: RunConfig, progress: "ProgressView", prompts: ResponsePrompts
) -> Made:
    """Match where that is asked for, then answer."""
    from personafit.kinds.making import let_answer

    dataset = ingest(store, prompts)
    people = People(store.people(dataset))
    givens = wanted_givens(config.givens)
    selected = _selected(prompts, config)
    situations = [one for one in prompts.situations.values() if selected is None or one.id in selected]
    notes: list[str] = []
    unmatched: set[tuple[str, str, str]] = set()
    called: dict[str, str] = {}  # as contexts call themselves: memory:k=3 is memory

    async def told(
        spec: str, model: Model, run: int, budget: float | None
    ) -> tuple[list[ContextBuilder], Summary | None]:
        builders: list[ContextBuilder] = [make_context("none", people, config.seed)]
        summary: Summary | None = None
        for given in givens:
            if given == f"attributes:{HUMAN}":
                builders.append(AttributesContext(given, {one.id: one.relevant for one in situations}))
            elif given.startswith(f"attributes:{MATCHED}"):
                matcher = given.removeprefix(f"attributes:{MATCHED}").removeprefix(":") or f"list:{spec}"
                rest = left_of(budget, summary)
                chosen, took = await _match(store, run, matcher, people, situations, progress, config, rest)
                if summary is not None:
                    took.charge(summary)
                summary = took
                if took.ended_early:
                    return builders, took
                notes.extend(_note_unmatched(given, model, situations, chosen))
                unmatched.update((model.name, given, one.id) for one in situations if one.id not in chosen)
                builders.append(AttributesContext(given, chosen))
            else:
                builders.append(make_context(given, people, config.seed, default_model([spec])))
            called[given] = builders[-1].name
        return builders, summary

    plan = RunPlan(kind, store, config, prompts.info, dataset, people, [], selected)
    record = {"benchmark": INFO.name, "givens": givens}
    done = await let_answer(plan, progress, partial(_making_name, config), record, 1 + len(givens), told)
    if not done.answerings:
        return Made(None, done.summary, done.run, config)
    answers = []
    shares: dict[
        tuple[str, str], list[int]
    ] = {}  # whose answers told what: how many were asked for, and made
    for answering in done.answerings:
        lost = alone = 0
        for item, texts in answering.tried():
            for given in givens:
                if (answering.system.name, given, item.id) in unmatched or called[given] not in texts:
                    continue
                name, generic = called[given], texts.get("none")
                asked = shares.setdefault((answering.system.name, name), [0, 0])
                asked[0] += 1
                asked[1] += bool(generic and texts[name])
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
            f"No answer could be made: {done.summary.last_failure or 'the systems answered nothing'}", code=1
        )
    counts = done.counts | {"shares": [[*who, *asked] for who, asked in shares.items()]}
    systems = {one.fingerprint: one.system.name for one in done.answerings}
    return Made(MadeResponses(prompts, answers, notes), done.summary, done.run, config, counts, systems)


def _making_name(config: RunConfig, attempt: int) -> str:
    """What the run that makes the answers is called."""
    givens = wanted_givens(config.givens)
    parts = [config.systems, givens, str(config.data), config.users, config.limit, config.seed]
    parts += [attempt] if attempt else []
    return f"responding-{content_hash(parts)[:8]}"


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
    progress: "ProgressView",
    config: RunConfig,
    budget: float | None,
) -> tuple[dict[str, tuple[str, ...]], Summary]:
    """The attributes a relevance rater picks for each prompt; a prompt it could not be asked about is absent."""
    rater = make_rater(spec, ATTRIBUTES, people)
    try:
        check_budget(budget, [(rater.record.name, rater)])
        wanted = [Wish(one.id, one.id, one.person, one.prompt, one.known) for one in situations]
        matching = Matching(store, rater, wanted)
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
