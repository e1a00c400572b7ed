"""All episodes of one agent as one lane of keyed jobs, and how an episode is kept in the store.

The key of a step is made from everything before it, so an episode that was interrupted goes on exactly where it stood and no finished
step is asked for again. What follows from a reply is decided from the reply as stored. Agents that ask no model of ours play a whole
episode as one job.

Each step is an `Ask` (question `agent step` or `user step`, or `episode` for a whole one) about the item of the request. The ask that
ends an episode, well or badly, also writes a `Product` of kind `episode`, whose id is `episode-` and the id of that ask: the JSON of
who played, what happened and its figures. A slot is one episode that a run wants; of several episodes in a slot, whole ones count
before failed ones.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import orjson
from sqlalchemy import ColumnElement, literal, select

from personafit._hashing import hash_text
from personafit.contexts import Context, ContextBuilder, Unmade
from personafit.engine import Job, Lane, together
from personafit.engine.ask import AskKey, Exchange, Rows, ask_job
from personafit.models import Message, is_fixed
from personafit.people import Person
from personafit.store import Ask, Item, Outcome, Product, Status, Store
from personafit.store import tables as t
from personafit.worlds.agents import play, told_to
from personafit.worlds.agents_models import (
    Agent,
    AgentTurn,
    ModelAgent,
    ModelUser,
    PythonAgent,
    ScriptedAgent,
)
from personafit.worlds.episode import End, EpisodeState, start
from personafit.worlds.requests import Request, World
from personafit.worlds.scoring import EpisodeScore, score
from personafit.worlds.user import UserReply

INSTRUMENT = "episode-2"
"""Tools, the template user, scripts and figures together: a change of any raises it. What is asked of whom is hashed with the items."""
EPISODE = "episode-"  # and the id of the ask that ended it
AGENT_STEP, USER_STEP, WHOLE = "agent step", "user step", "episode"
QUESTIONS = (AGENT_STEP, USER_STEP, WHOLE)
SEEDS = 2**31
PAGE = 100  # episodes whose contexts are stored together
ROWS = 500
LOST = 5  # malformed calls in a row that end a model's episode
UNTOLD = Context("none", "", (), None)


# -- requests as items -------------------------------------------------------------------------------------------------


def request_item(request: Request) -> tuple[Item, Product]:
    """A request as an item, with the product that says all about it."""
    product = Product(kind="request", text=request_json(request), maker=INSTRUMENT, about=request.resident.id)
    item = Item(
        id=request.id,
        kind="request",
        person=request.resident.id,
        prompt=request.text,
        products=[product.id],
        group=request.id,
        slices={
            "level": request.level,
            "domain": " + ".join(dict.fromkeys(goal.domain for goal in request.goals)),
            "pair": request.pair,
        },
    )
    return item, product


def request_json(request: Request) -> str:
    """All that makes a request: what was asked, what could be chosen from, and what is true of the person there."""
    domains = {goal.domain for goal in request.goals}
    utilities, valid = request.choices(request.resident.tastes)
    best = np.unravel_index(int(np.argmax(np.where(valid, utilities, -1.0))), valid.shape)
    body = {
        "text": request.text,
        "today": request.today,
        "goals": [asdict(goal) for goal in request.goals],
        "tell": request.tell,
        "budget": request.budget,
        "calendar": request.calendar,
        "offers": [
            [one.id, one.domain, one.name, one.price, one.hour, dict(one.values), sorted(one.suits)]
            for one in request.offers.values()
        ],
        "best": [offers[int(place)].id for offers, place in zip(request.by_goal, best, strict=True)],
        "facts": [
            [fact.domain, fact.topic, fact.values, fact.weight, fact.place]
            for fact in request.resident.facts
            if fact.domain in domains
        ],
        "state": {
            name: [entry.shown() for entry in rows.values()] for name, rows in request.state.tables.items()
        },
    }
    return orjson.dumps(body).decode()


# -- one episode -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EpisodeSlot:
    """One episode that is wanted: who acts for whom, told what."""

    dataset: str
    item: Item
    request: Request
    told: Context
    agent: Agent
    user: ModelUser | None
    seed: int
    sample: int
    attempt: str = ""

    @cached_property
    def name(self) -> str:
        """Names the episode within everything that was ever run: readable at its beginning, exact at its end."""
        exact = hash_text(
            INSTRUMENT,
            self.item.hash,
            self.told.name,
            self.told.id,
            self.agent.fingerprint,
            self.user.fingerprint if self.user else "",
            str(self.seed),
            str(self.sample),
            self.attempt,
        )
        return f"{self.item.id}|{self.told.name}|{exact}"

    @property
    def start(self) -> EpisodeState:
        """The episode before anything was done."""
        return start(self.request, int(hash_text("episode", self.name), 16) % SEEDS)

    def key(self, job: str, question: str, rater: str) -> AskKey:
        """The key of an ask within it."""
        return AskKey(
            job=job,
            item=self.item.id,
            question=question,
            rater=rater,
            view=self.told.name,
            context=self.told.id,
            sample=self.sample,
        )

    def product(self, state: EpisodeState, ask: Ask) -> Product:
        """The episode as it is kept, with its figures; one that failed has lost."""
        request, agent = self.request, self.agent
        if isinstance(agent, ScriptedAgent):
            told = told_to(agent.name, request)
        else:
            told = (
                request.resident.told_in(self.told.text)
                if self.told.about == self.item.person
                else frozenset()
            )
        figures = asdict(score(state.record, request, told))
        if state.stop == "failed":
            figures |= {"success": False, "regret": 1.0}
        body = {
            "slot": self.name,
            "item": self.item.id,
            "request": self.item.products[0],
            "person": self.item.person,
            "agent": agent.fingerprint,
            "given": None if isinstance(agent, ScriptedAgent) else self.told.name,
            "context": self.told.id,
            "sample": self.sample,
            "detail": ask.detail,
            "score": figures,
            "record": orjson.Fragment(state.record.to_json()),
        }
        return Product(
            id=f"{EPISODE}{ask.id}",
            kind="episode",
            text=orjson.dumps(body).decode(),
            maker=agent.fingerprint,
            given=self.told.id,
            about=self.item.person,
            parents=[self.item.id],
            status=ask.status,
            cost=ask.cost,
            sample=self.sample,
        )


class EpisodeProgress(NamedTuple):
    """An episode of a model so far, the key of its next step, and what the model is sent for it."""

    slot: EpisodeSlot
    state: EpisodeState
    key: str
    messages: tuple[Message, ...]
    turn: AgentTurn | None = None
    """The reply whose actions are being carried out."""
    place: int = 0
    """The action that comes next."""
    asked: str | None = None
    """What a model that plays the user has to answer now."""

    @property
    def agent(self) -> ModelAgent:
        """Who acts."""
        assert isinstance(self.slot.agent, ModelAgent)
        return self.slot.agent

    def after(self, ask: Ask) -> "EpisodeProgress":
        """The episode once a stored reply has been acted upon."""
        reply = ask.reply or ""
        now = self._replace(key=hash_text(self.key, reply))
        refused = ask.status == Status.REFUSED
        if self.asked is not None:
            assert self.slot.user is not None
            return now._taken(UserReply("", True) if refused else self.slot.user.read(reply))._on()
        if refused:
            return now._replace(state=self.state.step(End()))
        turn = self.agent.read(reply)
        return now._replace(messages=(*self.messages, self.agent.said(turn)), turn=turn, place=0)._on()

    def _on(self) -> "EpisodeProgress":
        """Carry out the actions that are left, up to one that a model has to answer as the user.

        A model of which no tool can read a call many times in a row will not find the form any more: its episode ends.
        """
        now = self
        while now.turn is not None and now.place < len(now.turn.actions) and now.state.stop is None:
            asked = now.state.awaits_user(now.turn.actions[now.place]) if now.slot.user else None
            if asked is not None:
                return now._replace(asked=asked)
            now = now._taken(None)
        lost = [turn.fault == "malformed" for turn in now.state.turns[-LOST:]]
        return now._replace(state=now.state.step(End())) if len(lost) == LOST and all(lost) else now

    def _taken(self, said: UserReply | None) -> "EpisodeProgress":
        assert self.turn is not None
        state = self.state.step(self.turn.actions[self.place], said)
        heard = self.agent.heard(self.turn, self.place, state)
        return self._replace(state=state, messages=(*self.messages, heard), place=self.place + 1, asked=None)


def opening_job(slot: EpisodeSlot) -> Job:
    """The first step of a model's episode; the others follow from it."""
    assert isinstance(slot.agent, ModelAgent)
    key, messages = hash_text("episode", slot.name), slot.agent.opening(slot.request, slot.told)
    return _step_job(EpisodeProgress(slot, slot.start, key, messages))


def _step_job(now: EpisodeProgress) -> Job:
    slot, user = now.slot, now.slot.user if now.asked is not None else None
    fresh: dict[
        str, EpisodeProgress
    ] = {}  # what follows from the ask just made: it need not be found out twice

    async def ask(ask_id: str) -> Exchange:
        name = f"{slot.item.id}|{slot.told.name}|{slot.sample}|{len(now.messages)}"  # of the request, in recordings
        seed = int(ask_id, 16) % SEEDS if slot.sample else None  # at temperature 0 a seed says nothing
        if user is not None and now.asked is not None:
            return await user.answer(user.ask(now.state, now.asked, f"{name}|user", seed))
        return await now.agent.act(now.agent.ask(now.messages, slot.request, name, seed))

    def rows(ask: Ask, _: Exchange) -> Rows:
        following = fresh[ask.id] = now.after(ask)
        return [], [slot.product(following.state, ask)] if following.state.stop is not None else []

    def failed(ask: Ask) -> list[Product]:
        return [slot.product(replace(now.state, stop="failed"), ask)]

    def then(outcome: Outcome) -> Job | None:
        following = fresh.get(outcome.ask.id) or now.after(outcome.ask)
        return _step_job(following) if following.state.stop is None else None

    who = user or now.agent
    key = slot.key(now.key, USER_STEP if user else AGENT_STEP, who.fingerprint)
    return ask_job(key, ask, rows, failed=failed, then=then, endpoint=who.model.endpoint)


@dataclass(slots=True)
class Played(Exchange):
    """A whole episode as it came out."""

    state: EpisodeState | None = None


def whole_job(slot: EpisodeSlot, world: World) -> Job:
    """A whole episode of an agent that is no model of ours."""

    async def ask(_: str) -> Played:
        played = Played(calls=1)
        agent = slot.agent
        if isinstance(agent, PythonAgent):
            played.state = await agent.play(slot.start, slot.told, _user_on_loop(slot, played))
        elif isinstance(agent, ScriptedAgent):
            played.state = play(world, slot.request, agent.name, slot.start.seed)
        assert played.state is not None
        played.reply = str(played.state.stop)
        return played

    def rows(ask: Ask, played: Played) -> Rows:
        assert played.state is not None
        return [], [slot.product(played.state, ask)]

    def failed(ask: Ask) -> list[Product]:
        return [slot.product(replace(slot.start, stop="failed"), ask)]

    key = slot.key(hash_text("episode", slot.name), WHOLE, slot.agent.fingerprint)
    return ask_job(key, ask, rows, failed=failed)


def _user_on_loop(slot: EpisodeSlot, played: Played) -> Callable[[EpisodeState, str], UserReply | None]:
    """How a Python agent's thread asks the user: a model is asked on the event loop."""
    user, loop = slot.user, asyncio.get_running_loop()

    def asks(state: EpisodeState, text: str) -> UserReply | None:
        if user is None:
            return None
        name = f"{slot.item.id}|{slot.told.name}|{slot.sample}|{len(state.turns)}|user"
        answer = user.answer(user.ask(state, text, name, None))
        exchange = asyncio.run_coroutine_threadsafe(answer, loop).result()
        for reply in exchange.replies:
            played.add(reply)
        return user.read(exchange.reply or "") if exchange.status == Status.OK else UserReply("", True)

    return asks


# -- all of them -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Playing:
    """All episodes of one agent, or of all scripted ones together."""

    store: Store
    dataset: str
    people: Mapping[str, Person]
    items: Callable[[], Iterable[Item]]
    count: int
    """How many requests there are."""
    world: World
    agents: Sequence[Agent]
    user: ModelUser | None
    givens: Sequence[ContextBuilder]
    seed: int = 0
    samples: int = 1
    attempt: str = ""
    """The run that plays anew; agents whose fingerprint covers what they do have one set of episodes for all."""

    @property
    def total(self) -> int:
        """How many episodes there are to be; a script plays each request once."""
        each = len(self.givens) * self.samples
        return self.count * sum(1 if isinstance(one, ScriptedAgent) else each for one in self.agents)

    def lane(self) -> Lane:
        """All episodes, by request and context."""
        agent, user = self.agents[0], self.user
        if isinstance(agent, ScriptedAgent):
            name = f"{agent.name} episodes" if len(self.agents) == 1 else "scripted controls"
            return Lane(name, "scripted", self._jobs(), self.total)
        if isinstance(agent, PythonAgent):
            return Lane(
                f"{agent.name} episodes", agent.endpoint, self._jobs(), self.total, agent.max_concurrency
            )
        model = agent.model
        endpoints = {}
        if user is not None and user.model.endpoint != model.endpoint:
            endpoints = {user.model.endpoint: user.model.max_concurrency}
        return Lane(
            name=f"{agent.name} episodes",
            endpoint=model.endpoint,
            jobs=self._jobs(),
            total=self.total,
            max_concurrency=model.max_concurrency,
            chains=model.max_concurrency + sum(endpoints.values()),
            endpoints=endpoints,
            together=together(model, *([user.model] if user else [])),
        )

    def slots(self) -> Iterator[EpisodeSlot]:
        """Every episode that is wanted."""
        for item in self.items():
            request = self.world.requests[item.id]
            for agent in self.agents:
                if isinstance(agent, ScriptedAgent):
                    yield EpisodeSlot(self.dataset, item, request, UNTOLD, agent, None, self.seed, 0)
                    continue
                fixed = isinstance(agent, ModelAgent) and is_fixed(agent.model)
                for given in self.givens:
                    try:
                        told = given.build(self.people[item.person], item)
                    except Unmade:  # a model should have made it and did not: nothing is played without it
                        continue
                    for sample in range(self.samples):
                        yield EpisodeSlot(
                            self.dataset,
                            item,
                            request,
                            told,
                            agent,
                            self.user,
                            self.seed,
                            sample,
                            "" if fixed else self.attempt,
                        )

    def _jobs(self) -> Iterator[Job]:
        slots = self.slots()
        while page := list(islice(slots, PAGE)):
            self.store.add_products({slot.told.id: slot.told.product for slot in page}.values())
            for slot in page:
                is_model = isinstance(slot.agent, ModelAgent)
                yield opening_job(slot) if is_model else whole_job(slot, self.world)


# -- reading back ------------------------------------------------------------------------------------------------------

FIGURES = tuple(EpisodeScore.__dataclass_fields__)


def episode_rows(store: Store, run: int) -> Iterator[dict[str, Any]]:
    """Every episode of a run that has ended, as its stored id, status, slot, who played, and figures; failed tries included."""
    ended: ColumnElement[str] = literal(EPISODE).concat(t.asks.c.id)
    query = (
        select(t.asks.c.status, t.asks.c.at, t.products.c.id, t.products.c.text)
        .select_from(
            t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job).join(
                t.products, t.products.c.id == ended
            )
        )
        .where(t.run_jobs.c.run == run, t.asks.c.question.in_(QUESTIONS))
    )
    for rows in store.stream(query, ROWS):
        for row in rows:
            body = orjson.loads(row.text)
            kept = {name: body[name] for name in ("slot", "item", "agent", "given", "sample")}
            yield {"episode": row.id, "status": row.status, "at": row.at, **kept, **body["score"]}


def read_episodes(store: Store, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The stored episodes of these ids, in that order, with all that happened."""
    ids = list(ids)
    for place in range(0, len(ids), ROWS):
        page = ids[place : place + ROWS]
        texts = store.texts(page)
        for key in page:
            if key in texts:
                yield {"id": key, **orjson.loads(texts[key])}
