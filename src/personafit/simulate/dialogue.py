"""All dialogues of a simulated user with an assistant, as one lane: who takes part, which dialogues there are, and turns as keyed jobs.

The key of a turn is a hash of everything said before it, so an interrupted dialogue resumes exactly where
it stopped, and no finished turn is asked again. `_step` alone decides what follows from a reply, given the reply as
stored.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.contexts import Context, ContextBuilder, TaskItem, Unmade
from personafit.engine import Job, Lane, together
from personafit.engine.ask import AskKey, Rows, ask_job
from personafit.items.dialogue import Dialogue, DialogueTurn, Role, StopReason
from personafit.models import ChatReply, ChatRequest, Message, Model, Spec, is_fixed, make_model, parse_spec
from personafit.people import Person
from personafit.simulate.records import DIALOGUE, QUESTIONS, TURN, dialogue_product
from personafit.simulate.speakers import (
    WORDINGS,
    Assistant,
    Signal,
    Spoken,
    UserAgent,
    UserMessage,
    read_user,
    user_brief,
)
from personafit.store import Ask, Outcome, Product, Status, Store
from personafit.store.records import storable

STYLES = ("vanilla", "cot")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
CANNED: dict[str, list[str]] = WORDINGS["canned"]


class CannedAssistant:
    """The canned control: gives everybody the same polite replies, as a baseline for scores."""

    name = endpoint = "canned"
    max_concurrency = 64
    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        self.settings: dict[str, Any] = {"kind": "canned", "says": content_hash(CANNED)}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the next line of the sequence; after the end, lines three and four alternate."""
        said = sum(message["role"] == "assistant" for message in request.messages)
        last = request.messages[-1]["content"]
        lines = CANNED["zh" if _CHINESE.search(last) else "en"]
        return ChatReply(text=lines[said] if said < len(lines) else lines[2 + said % 2])

    async def close(self) -> None:
        """Nothing to release."""


def make_assistant(text: str) -> Assistant:
    """Return the assistant a spec names."""
    spec = parse_spec(text)
    model: Model = CannedAssistant(spec) if spec.kind == "canned" else make_model(spec)
    return Assistant(model)


def make_user(text: str) -> UserAgent:
    """Return the user agent a spec names; `style=cot` makes it think before it speaks."""
    spec = parse_spec(text)
    options = dict(spec.options)
    style = options.pop("style", STYLES[0])
    if style not in STYLES:
        raise UserError(f"{text}: unknown style '{style}'; there are {', '.join(STYLES)}.")
    return UserAgent(make_model(Spec(spec.text, spec.kind, spec.name, spec.url, options)), style)


# -- turns --------------------------------------------------------------------------------------------------------------

CAPS = {"SD": 20, "MD": 30}  # largest number of exchanges
SEEDS = 2**31


class _Part(NamedTuple):
    """One side of a dialogue: its role, speaker and context."""

    role: Role
    speaker: Assistant | UserAgent
    told: Context


@dataclass(frozen=True)
class Scene:
    """A dialogue to simulate: its task, participants and their contexts."""

    dataset: str
    item: TaskItem
    person: Person
    told: Context
    brief: Context
    system: Assistant
    user: UserAgent
    seed: int
    sample: int
    attempt: str = ""

    @property
    def cap(self) -> int:
        return CAPS[self.item.task.kind]

    @cached_property
    def parts(self) -> tuple[_Part, _Part]:
        """The user's side and the assistant's, in order of turns."""
        return _Part("user", self.user, self.brief), _Part("assistant", self.system, self.told)

    @cached_property
    def slot(self) -> str:
        """Unique name of the dialogue: item and context, then a hash of everything that defines it."""
        exact = hash_text(
            self.item.hash,
            self.told.name,
            self.told.id,
            self.brief.id,
            self.system.fingerprint,
            self.user.fingerprint,
            str(self.cap),
            str(self.seed),
            str(self.sample),
            *([self.attempt] if self.attempt else []),
        )
        return f"{self.item.id}|{self.told.name}|{exact}"

    @cached_property
    def about(self) -> dict[str, str]:
        """Ids and context passed to callables beside the messages."""
        told = self.told
        return {"person": self.person.id, "task": self.item.task.id, "given": told.name, "text": told.text}


class _State(NamedTuple):
    """A dialogue so far, the key of the next turn, and the messages to each side."""

    scene: Scene
    turns: tuple[DialogueTurn, ...]
    key: str
    to_user: tuple[Message, ...]
    to_system: tuple[Message, ...]

    @property
    def part(self) -> _Part:
        return self.scene.parts[len(self.turns) % 2]

    def after(self, turn: DialogueTurn) -> "_State":
        scene, _, key, to_user, to_system = self
        return _State(
            scene,
            (*self.turns, turn),
            hash_text(key, turn.text),
            (*to_user, scene.user.hears(turn)),
            (*to_system, scene.system.hears(turn)),
        )


class _Step(NamedTuple):
    """What follows from a reply: another turn, or the end."""

    turn: DialogueTurn | None = None
    stop: StopReason | None = None
    closing: str = ""


def opening_job(scene: Scene) -> Job:
    """Return the job of a dialogue's first turn; it leads to the others."""
    to_user = scene.user.opening(scene.brief, scene.person.language)
    key = hash_text("dialogue", scene.slot)
    return _job(_State(scene, (), key, to_user, scene.system.opening(scene.told)))


def _job(state: _State) -> Job:
    """Return the job of the next turn."""
    scene, part = state.scene, state.part
    fresh: dict[str, _Step] = {}  # steps by ask, so that `then` does not compute them again

    async def ask(ask_id: str) -> Spoken:
        spoken = await _speak(state, ask_id)
        kept = storable(spoken.reply or "")
        if kept != spoken.reply:  # the next step is decided from the reply as stored
            spoken.reply, spoken.said = kept, None
        return spoken

    def rows(ask: Ask, spoken: Spoken) -> Rows:
        step = fresh[ask.id] = _step(state, ask, spoken.said)
        turn = [_turn_product(state, step.turn, ask.cost)] if step.turn is not None else []
        return [], [*turn, *([_ending(state, ask, step)] if step.stop is not None else [])]

    def failed(ask: Ask) -> list[Product]:
        return [_ending(state, ask, _Step(stop=StopReason.FAILED))]

    def then(outcome: Outcome) -> Job | None:
        step = fresh.get(outcome.ask.id) or _step(state, outcome.ask)
        return None if step.turn is None else _job(state.after(step.turn))

    key = AskKey(
        job=state.key,
        item=scene.item.id,
        question=QUESTIONS[part.role],
        rater=part.speaker.fingerprint,
        context=part.told.name,
        context_id=part.told.id,
        sample=scene.sample,
    )
    return ask_job(key, ask, rows, failed=failed, then=then, endpoint=part.speaker.model.endpoint)


async def _speak(state: _State, ask: str) -> Spoken:
    scene, place = state.scene, len(state.turns)
    name = f"{scene.item.id}|{scene.told.name}|{scene.sample}|{place}"  # key of the request in recordings
    if place % 2 == 0:
        request = scene.user.request(state.to_user, name, _seed(ask), scene.about)
        return await scene.user.speak(request, opening=place == 0)
    # At temperature 0 a seed has no effect, and some servers reject it.
    seed_or_none = _seed(ask) if scene.sample else None
    about = scene.about | {
        "person": scene.told.about or ""
    }  # without a person in its context, a system cannot look anybody up
    return await scene.system.speak(scene.system.request(state.to_system, name, seed_or_none, about))


def _seed(ask: str) -> int:
    """Return the seed of a turn, from its ask's id, a hash of the dialogue with seed and sample, and of all turns so far."""
    return int(ask, 16) % SEEDS


def _step(state: _State, ask: Ask, said: UserMessage | None = None) -> _Step:
    """Return what follows from a stored reply; `said` is the reply if it was already parsed."""
    if ask.status != Status.OK:
        return _Step(stop=StopReason.REFUSED if ask.status == Status.REFUSED else StopReason.EMPTY)
    reply, place = ask.reply or "", len(state.turns)
    if place % 2:
        return _Step(_turn(state, reply, place, ask.id))
    said = said or read_user(reply)
    if place == 0:  # the dialogue starts whatever the opening signals
        return _Step(_turn(state, said.text, place, ask.id, said.thought))
    if said.signal == Signal.SATISFIED:
        return _Step(stop=StopReason.SATISFIED, closing=said.text)
    if said.signal == Signal.GIVE_UP:
        return _Step(stop=StopReason.GAVE_UP, closing=said.text)
    if place >= 2 * state.scene.cap:
        return _Step(stop=StopReason.CAP, closing=said.text)
    return _Step(_turn(state, said.text, place, ask.id, said.thought))


def _turn(state: _State, text: str, place: int, ask: str, thought: str | None = None) -> DialogueTurn:
    """Return a turn; its id is a hash of ask and text, since another process may have got a different reply to the same ask."""
    return DialogueTurn(state.part.role, text, place, ask, f"{TURN}{hash_text(ask, text)}", thought)


def _turn_product(state: _State, turn: DialogueTurn, cost: float) -> Product:
    scene, part, turns = state.scene, state.part, state.turns
    return Product.built(
        id=turn.product,
        kind="turn",
        text=turn.text,
        maker=part.speaker.fingerprint,
        given=part.told.id,
        about=scene.person.id,
        parents=[scene.item.id, turns[-1].product] if turns else [scene.item.id],
        status=Status.OK,
        cost=cost,
        sample=scene.sample,
    )


def _ending(state: _State, ask: Ask, step: _Step) -> Product:
    """Return the product of an ended dialogue, complete or not."""
    scene = state.scene
    assert step.stop is not None
    dialogue = Dialogue(
        id=f"{DIALOGUE}{ask.id}",
        slot=scene.slot,
        dataset=scene.dataset,
        person=scene.person.id,
        task=scene.item.task,
        system=scene.system.fingerprint,
        system_name=scene.system.model.name,
        user=scene.user.fingerprint,
        user_name=scene.user.model.name,
        system_context=scene.told.name,
        system_context_id=scene.told.id,
        brief=scene.brief.id,
        seed=scene.seed,
        sample=scene.sample,
        turns=state.turns,
        stop=step.stop,
        closing=step.closing,
        detail=None if step.stop.whole else ask.detail,
    )
    return dialogue_product(dialogue, scene.item.products[0], ask.status)


# -- all of them --------------------------------------------------------------------------------------------------------

USUAL_TOKENS = 150
PAGE = 100  # dialogues whose contexts are stored together


@dataclass(frozen=True)
class Simulation:
    """All dialogues one assistant has with a simulated user."""

    store: Store
    dataset: str
    people: Mapping[str, Person]
    tasks: Callable[[], Iterable[TaskItem]]
    count: int
    """Number of tasks."""
    system: Assistant
    user: UserAgent
    system_contexts: Sequence[ContextBuilder]
    seed: int = 0
    samples: int = 1
    history: bool = False
    """Whether the user agent is also told the summaries of earlier interactions."""
    attempt: str = ""
    """The run whose dialogues are simulated anew, separate from all others; ignored if the fingerprint fixes a system's replies."""

    def lane(self) -> Lane:
        system, user = self.system.model, self.user.model
        endpoints = {user.endpoint: user.max_concurrency} if user.endpoint != system.endpoint else {}
        return Lane(
            name=f"{system.name} dialogues",
            endpoint=system.endpoint,
            jobs=self._jobs(),
            total=self.count * len(self.system_contexts) * self.samples,
            max_concurrency=system.max_concurrency,
            chains=system.max_concurrency + sum(endpoints.values()),
            endpoints=endpoints,
            together=together(system, user),
        )

    def scenes(self) -> Iterator[Scene]:
        attempt = "" if is_fixed(self.system.model) else self.attempt
        for item in self.tasks():
            person = self.people[item.person]
            brief = user_brief(person, item.task, self.history)
            for system_context in self.system_contexts:
                try:
                    told = system_context.build(person, item)
                except Unmade:  # a model failed to make the context: no dialogue without it
                    continue
                who = (self.system, self.user)
                for sample in range(self.samples):
                    yield Scene(
                        self.dataset, item, person, told, brief, *who, self.seed, sample, attempt=attempt
                    )

    def _jobs(self) -> Iterator[Job]:
        scenes = self.scenes()
        while page := list(islice(scenes, PAGE)):
            contexts = {told.id: told.product for scene in page for told in (scene.told, scene.brief)}
            self.store.add_products(contexts.values())
            yield from map(opening_job, page)
