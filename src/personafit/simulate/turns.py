"""One turn of a dialogue as a keyed job, and what follows from it.

The key of a turn is made from everything that was said before it, so a dialogue that was interrupted goes on exactly where
it stood, and no finished turn is asked for again. What follows from a reply is decided by `_step` alone, from the reply as
stored.
"""

import time
import uuid
from dataclasses import dataclass

from personafit._hashing import draw, hash_text
from personafit.contexts import Context, TaskItem
from personafit.engine import Job
from personafit.items.dialogue import Dialogue, DialogueTurn, Role, StopReason
from personafit.people import Person, Task
from personafit.simulate.records import DIALOGUE, QUESTIONS, dialogue_product
from personafit.simulate.signal import Signal, read_user
from personafit.simulate.speakers import Assistant, Spoken, UserAgent
from personafit.store import Ask, Outcome, Product, Status
from personafit.store.rows import storable

CAPS = {"SD": 20, "MD": 30}  # exchanges
SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class Scene:
    """One dialogue that is wanted: who talks with whom about what, and what each was told."""

    dataset: str
    item: TaskItem
    person: Person
    told: Context
    brief: Context
    system: Assistant
    user: UserAgent
    seed: int
    sample: int

    @property
    def task(self) -> Task:
        """What the user wants."""
        return self.item.task

    @property
    def cap(self) -> int:
        """The most exchanges."""
        return CAPS[self.task.kind]

    def fingerprint(self, role: Role) -> str:
        """Of whoever speaks."""
        return self.user.fingerprint if role == "user" else self.system.fingerprint

    def shown(self, role: Role) -> Context:
        """What whoever speaks was told."""
        return self.brief if role == "user" else self.told

    @property
    def slot(self) -> str:
        """Names the dialogue within everything that was ever run: readable at its beginning, exact at its end."""
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
        )
        return f"{self.item.id}|{self.told.name}|{exact}"


@dataclass(frozen=True, slots=True)
class _State:
    """A dialogue so far, and the key of the turn that comes next."""

    scene: Scene
    slot: str
    turns: tuple[DialogueTurn, ...]
    key: str

    @property
    def role(self) -> Role:
        return "user" if len(self.turns) % 2 == 0 else "assistant"


@dataclass(frozen=True, slots=True)
class _Step:
    """What follows from a reply: another turn, or the end."""

    turn: DialogueTurn | None = None
    stop: StopReason | None = None
    closing: str = ""


def opening_job(scene: Scene) -> Job:
    """The first turn of a dialogue; the others follow from it."""
    slot = scene.slot
    return _job(_State(scene, slot, (), hash_text("dialogue", slot)))


def _job(state: _State) -> Job:
    scene, key = state.scene, state.key
    speaker = scene.user if state.role == "user" else scene.system
    fresh: dict[str, _Step] = {}  # what follows from the ask just made: it need not be found out twice

    async def work(generation: int) -> Outcome:
        started = time.monotonic()
        spoken = await _speak(state, generation)
        ask = _ask(state, hash_text(key, str(generation)), spoken.status, generation, spoken)
        ask.seconds = time.monotonic() - started
        step = fresh[ask.id] = _step(state, ask)
        products = []
        if step.turn is not None:
            products.append(_turn_product(state, step.turn, ask.cost))
        if step.stop is not None:
            products.append(_ending(state, ask, step))
        return Outcome.built(ask=ask, judgments=[], products=products)

    def failure(message: str, attempts: int) -> Outcome:
        ask = _ask(state, uuid.uuid4().hex, Status.FAILED, 0, Spoken("", Status.FAILED, message))
        ask.attempts = attempts
        return Outcome(ask=ask, products=[_ending(state, ask, _Step(stop=StopReason.FAILED))])

    def then(outcome: Outcome) -> Job | None:
        step = fresh.get(outcome.ask.id) or _step(state, outcome.ask)
        if step.turn is None:
            return None
        return _job(_State(scene, state.slot, (*state.turns, step.turn), hash_text(key, step.turn.text)))

    return Job(key, work, failure, then, speaker.model.endpoint)


async def _speak(state: _State, generation: int) -> Spoken:
    scene, place = state.scene, len(state.turns)
    name = f"{scene.item.id}|{scene.told.name}|{scene.sample}|{place}"
    about = {
        "person": scene.person.id,
        "task": scene.task.id,
        "given": scene.told.name,
        "text": scene.told.text,
    }
    if state.role == "user":
        seed = draw(scene.seed, scene.sample, state.key, generation, among=SEEDS)
        messages = scene.user.messages(scene.brief, state.turns, scene.person.language)
        return await scene.user.speak(
            scene.user.request(messages, name, seed, about), opening=not state.turns
        )
    # At temperature 0 a seed says nothing, and some servers refuse one.
    seed_or_none = draw(scene.seed, scene.sample, state.key, among=SEEDS) if scene.sample else None
    messages = scene.system.messages(scene.told, state.turns)
    return await scene.system.speak(scene.system.request(messages, name, seed_or_none, about))


def _step(state: _State, ask: Ask) -> _Step:
    """What follows from a reply that was kept."""
    if ask.status != Status.OK:
        return _Step(stop=StopReason.REFUSED if ask.status == Status.REFUSED else StopReason.EMPTY)
    reply, place = ask.reply or "", len(state.turns)
    if state.role == "assistant":
        return _Step(_turn(state, reply, place, ask.id))
    said = read_user(reply)
    if place == 0:  # nothing was answered yet: whatever is signalled, the dialogue begins
        return _Step(_turn(state, said.text, place, ask.id, said.thought))
    if said.signal == Signal.SATISFIED:
        return _Step(stop=StopReason.SATISFIED, closing=said.text)
    if said.signal == Signal.GIVE_UP:
        return _Step(stop=StopReason.GAVE_UP, closing=said.text)
    if place >= 2 * state.scene.cap:
        return _Step(stop=StopReason.CAP, closing=said.text)
    return _Step(_turn(state, said.text, place, ask.id, said.thought))


def _turn(state: _State, text: str, place: int, ask: str, thought: str | None = None) -> DialogueTurn:
    """A turn belongs to one dialogue and goes by its place there and its words."""
    return DialogueTurn(state.role, text, place, ask, hash_text("turn", state.key, text), thought)


def _turn_product(state: _State, turn: DialogueTurn, cost: float) -> Product:
    scene = state.scene
    return Product.built(
        id=turn.product,
        kind="turn",
        text=turn.text,
        maker=scene.fingerprint(turn.role),
        given=scene.shown(turn.role).id,
        about=scene.person.id,
        parents=[scene.item.id, *(before.product for before in state.turns[-1:])],
        status=Status.OK,
        cost=cost,
        sample=scene.sample,
    )


def _ending(state: _State, ask: Ask, step: _Step) -> Product:
    """The dialogue as it is kept, whole or not."""
    scene = state.scene
    assert step.stop is not None
    dialogue = Dialogue(
        id=f"{DIALOGUE}{ask.id}",
        slot=state.slot,
        dataset=scene.dataset,
        person=scene.person.id,
        task=scene.task,
        system=scene.system.fingerprint,
        system_name=scene.system.model.name,
        user=scene.user.fingerprint,
        user_name=scene.user.model.name,
        given=scene.told.name,
        context=scene.told.id,
        brief=scene.brief.id,
        seed=scene.seed,
        sample=scene.sample,
        turns=state.turns,
        stop=step.stop,
        closing=step.closing,
        detail=None if step.stop.whole else ask.detail,
    )
    return dialogue_product(dialogue, scene.item.products[0], ask.status)


def _ask(state: _State, ask_id: str, status: Status, generation: int, spoken: Spoken) -> Ask:
    scene, calls, shown = state.scene, spoken.calls, state.scene.shown(state.role)
    return Ask.built(
        id=ask_id,
        job=state.key,
        generation=generation,
        item=scene.item.id,
        question=QUESTIONS[state.role],
        rater=scene.fingerprint(state.role),
        view=shown.name,
        context=shown.id,
        order="",
        sample=scene.sample,
        status=status,
        reply=storable(spoken.reply),
        reasoning=calls[-1].reasoning if calls else None,
        detail=spoken.detail,
        attempts=max(1, len(calls)),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        tokens_reasoning=sum(call.tokens_reasoning for call in calls),
        cost=sum(call.cost for call in calls),
        seconds=0.0,
        at=time.time(),
    )
