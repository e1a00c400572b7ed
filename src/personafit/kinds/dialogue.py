"""Dialogues: systems talk with a simulated user about a task, then judges mark the dialogue.

A dialogue that did not end by itself is not judged: its asks are `skipped`, with the reason, and count
against coverage like everything without an answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import polars as pl

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.config import UNNAMED, RunConfig
from personafit.contexts import Context, default_model, make_context
from personafit.engine import Lane
from personafit.items.dialogue import (
    DIALOGUE_QUESTIONS,
    DIALOGUES,
    GOAL_ALONE,
    QUESTIONS_BY_NAME,
    Dialogue,
    DialogueMaterial,
    DialogueQuestion,
)
from personafit.items.reading import Part, Question, QuestionSet, Shown
from personafit.kinds.attempts import price_words
from personafit.kinds.dialogue_scores import dialogue_lines, load_dialogues
from personafit.kinds.kind import Kind, RunPlan, ShownAgain, speaker_record
from personafit.kinds.lines import RunLines
from personafit.kinds.selecting import rows_of_people, rows_where, select_items
from personafit.models import Model
from personafit.models.embedded import DEFAULT as DEFAULT_WEIGHTS
from personafit.models.purse import prompt_tokens
from personafit.models.spec import parse_spec
from personafit.people import Person, render_person, select_facets
from personafit.raters import Rater
from personafit.simulate import Simulation, dialogues, make_assistant, make_user, task_items
from personafit.simulate.dialogue import USUAL_TOKENS
from personafit.simulate.speakers import Assistant, UserAgent
from personafit.store import Product, RunRecord, Store

DEFAULT = "embedded"
SYSTEM_CONTEXTS = ("none", "I", "wrong:I")  # nothing, the history, and as a control somebody else's
WITHOUT_HISTORY = ("none", "profile", "wrong:profile")  # of people without summaries of earlier conversations
GIVEN, FULL, NONE = "given", "full", "none"
PAGE = 100  # number of dialogues whose contexts are read together
USUAL_EXCHANGES = 5  # for estimates only: the number of exchanges is not known in advance


class DialogueKind(Kind):
    """Whether the assistant did what this person wanted, in the way that suits them."""

    name = "dialogue"
    asks: ClassVar[QuestionSet] = DIALOGUES
    made_from: ClassVar[str | None] = "task"
    own_contexts: ClassVar[dict[str, str] | None] = {
        GIVEN: "what the assistant was given",
        FULL: "all there is to know",
        NONE: "beside one of these, the goal alone: completion is judged once more, without the person's preferences",
    }
    options: ClassVar[frozenset[str]] = frozenset({"system", "system-context", "user"})
    own_options: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "tasks": ("all", "SD", "MD"),
        "history": ("no", "yes"),
    }
    controls: ClassVar[Controls | None] = Controls(contexts=[], raters=[])
    strata: ClassVar[tuple[str, ...]] = ("tasks", "domain")

    bars: ClassVar[tuple[str, ...]] = (
        "completion",
        "personalization",
        "naturalness",
        "coherence",
        "contradictions",
        "reasking",
        "invented_memories",
    )

    def default_contexts(self, info: BenchmarkInfo) -> list[str]:
        return [GIVEN]

    def contexts(self, config: RunConfig, info: BenchmarkInfo) -> list[str]:
        """Return the contexts of the judges; `none` comes last, since all questions but one are asked under another."""
        names = sorted(super().contexts(config, info), key=lambda name: name == NONE)
        if names[0] == NONE:
            raise UserError(
                "--context none: only completion is judged without the person; say what the judges of personalization are told "
                "too, as in --context full --context none."
            )
        return names

    def warnings(self, config: RunConfig) -> list[str]:
        roles = {"user": [config.user or DEFAULT], "rater": config.raters or [DEFAULT]}
        weak = [role for role, specs in roles.items() if any(map(_is_default_model, specs))]
        if not weak:
            return []
        return [
            f"The small default model is the {' and the '.join(weak)} here, and it cannot hold a dialogue (it repeats itself): "
            f"scores that mean something need a stronger {' and '.join(f'--{role}' for role in weak)}."
        ]

    def default_raters(self) -> list[str]:
        """Return the embedded model, which shows how judging works but is too weak to trust."""
        return [DEFAULT]

    def prepare(self, plan: RunPlan, benchmark: Benchmark) -> None:
        config = plan.config
        if not config.systems:
            raise UserError(
                "dialogues need --system SPEC, the assistant to be tested; --system canned is one that knows nothing."
            )
        systems = [make_assistant(spec) for spec in dict.fromkeys(config.systems)]
        user = make_user(config.user or DEFAULT)
        plan.models = [*(system.model for system in systems), user.model]
        plan.speakers = [speaker_record("user", user.fingerprint, user.model)]
        plan.speakers += [speaker_record("system", one.fingerprint, one.model) for one in systems]
        makes = default_model(config.systems)
        known = any(person.summaries for person in plan.people.values())
        told = config.system_contexts or (SYSTEM_CONTEXTS if known else WITHOUT_HISTORY)
        plan.builders = [make_context(name, plan.people, config.seed, makes) for name in told]
        plan.state |= {"systems": systems, "user": user}
        plan.systems = [system.model for system in systems]
        plan.making = [partial(_lane, plan, system) for system in systems]

    def select(self, plan: RunPlan) -> frozenset[str] | None:
        """Return the tasks left by the option for single or multiple domains, people, slices and limit."""
        config = plan.config
        rows, sort = self.rows(plan), config.options.get("tasks", "all")
        if sort != "all":
            rows = rows.filter(pl.col("tasks") == sort)
        if rows.is_empty():
            raise UserError(f"-K tasks={sort}: the benchmark has no such task.")
        rows = rows_where(rows_of_people(rows, config), config)
        if config.limit is None:
            return frozenset(rows["item"])
        return select_items(rows.select("item", *self.strata), config.limit, config.seed, nested=True)

    def shown(self, plan: RunPlan, rater: Rater) -> Iterator[Shown]:
        """Yield every dialogue of the run that will not change any more, with every question."""
        assert plan.run is not None
        ended = iter(dialogues(plan.store, plan.run.id).ended)
        while page := list(islice(ended, PAGE)):
            told = plan.store.texts({dialogue.system_context_id for dialogue in page})
            for dialogue in page:
                yield from _asks(plan, rater, dialogue, told.get(dialogue.system_context_id, ""))

    def count(self, plan: RunPlan, rater: Rater) -> int:
        """Return how many asks a rater gets about the finished dialogues."""
        if plan.run is None:
            return self.held(plan) * len(rater.questions) * rater.samples
        held = len(dialogues(plan.store, plan.run.id).ended)
        asked = sum(len(_questions(plan, rater, name)) for name in plan.contexts)
        return asked * rater.samples * held

    def held(self, plan: RunPlan) -> int:
        systems: list[Assistant] = plan.state["systems"]
        return plan.count_items() * len(plan.builders) * len(systems) * plan.config.samples

    def planned(self, plan: RunPlan) -> int:
        return self.held(plan) + sum(self.count(plan, rater) for rater in plan.raters)

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        user: UserAgent = plan.state["user"]
        history = {"history": "yes"} if _knows_history(plan) else {}
        found: dict[str, Any] = {
            "kind": self.name,
            "systems": [_who(system) for system in plan.state["systems"]],
            "user": _who(user) | {"style": user.style} | history,
            "givens": [system_context.name for system_context in plan.builders],
            "tasks": plan.config.options.get("tasks", "all"),
        }
        return found | plan.context_prints

    def rater_facts(self, plan: RunPlan, rater: Rater) -> dict[str, Any]:
        asked = {} if rater.questions == DIALOGUE_QUESTIONS else {"question": rater.questions[0].name}
        return {"samples": rater.samples, **asked}

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        yield from self.warnings(plan.config)

    def run_name(self, plan: RunPlan) -> str:
        """Return the run's name, a hash of its record that leaves out which raters are controls."""
        parts = {name: value for name, value in plan.record.items() if name not in UNNAMED}
        parts["raters"] = [
            {name: value for name, value in rater.items() if name != "control"} for rater in parts["raters"]
        ]
        return f"{plan.info.name}-{content_hash(parts)[:8]}"

    def shown_again(self, store: Store, run: RunRecord) -> ShownAgain:
        held = {one.id: one for one in dialogues(store, run.id)}

        def again(rows: Sequence[Any]) -> Shown | None:
            dialogue, question = held.get(rows[0].item), QUESTIONS_BY_NAME.get(rows[0].question)
            if dialogue is None or question is None:
                return None
            parts = question.parts(dialogue)
            return Shown(question, dialogue.id, "", "", "", parts, material=DialogueMaterial(dialogue))

        return again

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        return dialogue_lines(store, load_dialogues(store, run))

    def estimate(self, plan: RunPlan) -> list[str] | None:
        """Return lines that estimate the dialogues and their judging, at five exchanges per dialogue."""
        held, systems = self.held(plan), plan.state["systems"]
        user: UserAgent = plan.state["user"]
        head = (
            f"{plan.info.name}: {held:,} dialogues over {plan.count_items():,} tasks; at about "
            f"{USUAL_EXCHANGES} exchanges each:"
        )
        scene = next(_simulation(plan, systems[0]).scenes(), None)
        if scene is None:  # all contexts have to be made by a model first
            return [head, "  unknown: what the assistant is given is not made yet."]
        history = USUAL_EXCHANGES * USUAL_TOKENS  # on average half of both speakers' turns is in a prompt
        to_user = prompt_tokens(user.opening(scene.brief, scene.person.language)) + history
        to_system = prompt_tokens(systems[0].opening(scene.told)) + history
        each = held // len(systems) * USUAL_EXCHANGES
        lines = [_cost_line(one.model.name, one.model, each, to_system, USUAL_TOKENS) for one in systems]
        lines.append(
            _cost_line(user.model.name, user.model, held * (USUAL_EXCHANGES + 1), to_user, USUAL_TOKENS)
        )
        for rater in plan.raters:
            name, asks = rater.record.name, self.count(plan, rater)
            if rater.record.kind in ("llm", "replay"):
                lines.append(_cost_line(name, rater, asks, 2 * history + to_system, USUAL_TOKENS // 2))
            else:
                lines.append(f"  {name}: {asks:,} asks, no model call.")
        return [head, *lines]


def _simulation(plan: RunPlan, system: Assistant) -> Simulation:
    """Return the dialogues of one system."""
    return Simulation(
        store=plan.store,
        dataset=plan.dataset,
        people=plan.people,
        tasks=partial(task_items, plan.store, plan.dataset, plan.selected),
        count=plan.count_items(),
        system=system,
        user=plan.state["user"],
        system_contexts=plan.builders,
        seed=plan.config.seed,
        samples=plan.config.samples,
        history=_knows_history(plan),
        attempt=plan.attempt,
    )


def _knows_history(plan: RunPlan) -> bool:
    """Return whether the simulated user is told the summaries of earlier interactions."""
    return plan.config.options.get("history") == "yes"


def _lane(plan: RunPlan, system: Assistant) -> Lane:
    return _simulation(plan, system).lane()


def _asks(plan: RunPlan, rater: Rater, dialogue: Dialogue, told: str) -> Iterator[Shown]:
    person = plan.people[dialogue.person]
    preferences = render_person(person, select_facets(person.facets, dialogue.task.preferences))
    material, goal_alone = DialogueMaterial(dialogue, preferences), DialogueMaterial(dialogue)
    for name in plan.contexts:
        known = "" if name == NONE else told if name == GIVEN else everything(person, dialogue)
        context_id = _kept(plan, known, person) if name == FULL else dialogue.system_context_id
        context = Context(name, known, (known,) if known else (), person.id)
        for question in _questions(plan, rater, name):
            for sample in range(rater.samples):
                yield Shown(
                    question=question,
                    about=dialogue.id,
                    content=dialogue.content,
                    person=dialogue.person,
                    prompt=dialogue.task.intent,
                    parts=_parts(question, dialogue),
                    context=context,
                    context_id=context_id if _needs_known(question) else None,
                    sample=sample,
                    material=goal_alone if name == NONE else material,
                )


def _questions(plan: RunPlan, rater: Rater, context: str) -> list[Question]:
    """Return the questions for a rater under a context: all under the first, then only those that show something else."""
    if context == plan.contexts[0]:
        return list(rater.questions)
    if context == NONE:
        return [GOAL_ALONE for question in rater.questions if question.name == GOAL_ALONE.name]
    return [question for question in rater.questions if _needs_known(question)]


def _parts(question: Question, dialogue: Dialogue) -> tuple[Part, ...]:
    if not dialogue.stop.whole:
        reason = dialogue.detail or "it has no end of its own"
        return (Part(dialogue.id, skip=f"the dialogue ended as {dialogue.stop}: {reason}"),)
    return question.parts(dialogue) if isinstance(question, DialogueQuestion) else (Part(dialogue.id),)


def _needs_known(question: Question) -> bool:
    """Return whether a question shows the person's context; scores of answers depend on it too."""
    return not isinstance(question, DialogueQuestion) or "known" in question.needs


def _kept(plan: RunPlan, text: str, person: Person) -> str:
    product = Product(kind="context", text=text, maker=FULL, about=person.id)
    plan.store.add_products([product])
    return product.id


def everything(person: Person, dialogue: Dialogue) -> str:
    """Return everything known about a person for a task: the text of the full context."""
    wanted = [
        path for path in person.facets if path.partition(".")[0] in ("Demographics", *dialogue.task.domains)
    ]
    parts = [render_person(person, {path: person.facets[path] for path in wanted})]
    history = {
        domain: person.summaries[domain] for domain in dialogue.task.domains if domain in person.summaries
    }
    if history:
        parts.append(
            "\n".join(["Earlier conversations:", *(f"  {name}: {text}" for name, text in history.items())])
        )
    if dialogue.task.situation:
        parts.append("\n".join(["Situation:", *(f"  {k}: {v}" for k, v in dialogue.task.situation.items())]))
    return "\n\n".join(part for part in parts if part)


def _is_default_model(text: str) -> bool:
    spec = parse_spec(text)
    return spec.kind == "embedded" and spec.name in ("", DEFAULT_WEIGHTS)


def _who(speaker: Assistant | UserAgent) -> dict[str, str]:
    return {"fingerprint": speaker.fingerprint, "name": speaker.model.name}


def _cost_line(name: str, who: Model | Rater, calls: int, tokens_in: int, tokens_out: int) -> str:
    into, out = calls * tokens_in, calls * tokens_out
    return f"  {name}: {calls:,} calls, about {into:,} tokens in and {out:,} out{price_words(who.price, into, out)}."
