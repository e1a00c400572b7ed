"""Episodes as keyed jobs: one job per step of a model, one per episode for other agents.

The key of a step is made from everything before it, so an interrupted episode resumes exactly where it was and no finished step is
asked for again. The next step follows from the reply as stored. A slot is one planned episode of a run; of several episodes in a slot,
complete ones count before failed ones.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import orjson

from personafit._hashing import hash_text
from personafit.contexts import Context
from personafit.engine import Job
from personafit.engine.ask import AskKey, Exchange, Rows, ask_job
from personafit.models import Message
from personafit.store import Ask, Item, Outcome, Product, Status
from personafit.worlds.agents import Agent
from personafit.worlds.chat_agents import AgentAction, ChatAgent, ChatUser
from personafit.worlds.episode import End, EpisodeState, spoken, start
from personafit.worlds.python_agents import AskUser, EpisodeTools, PythonAgent
from personafit.worlds.requests import Request, World
from personafit.worlds.scoring import score
from personafit.worlds.scripted import ScriptedAgent, play, told_to
from personafit.worlds.storage import AGENT_STEP, EPISODE, INSTRUMENT, USER_STEP, WHOLE
from personafit.worlds.user import UserReply

SEEDS = 2**31
LOST = 5  # consecutive malformed calls that end a model's episode


@dataclass(frozen=True)
class EpisodeSlot:
    """One planned episode: agent, request, context and user."""

    item: Item
    request: Request
    context: Context
    """What the agent is told about the person."""
    agent: Agent
    user: ChatUser | None
    """The model that plays the user; None for the template user."""
    seed: int
    sample: int = 0
    attempt: str = ""
    """The run that plays its episodes anew; empty if an earlier run's episode may be reused."""

    @cached_property
    def name(self) -> str:
        """Return a name that is unique across all runs: readable at its beginning, exact at its end."""
        exact = hash_text(
            INSTRUMENT,
            self.item.hash,
            self.context.name,
            self.context.id,
            self.agent.fingerprint,
            self.user.fingerprint if self.user else "",
            str(self.seed),
            str(self.sample),
            self.attempt,
        )
        return f"{self.item.id}|{self.context.name}|{exact}"

    @property
    def first_key(self) -> str:
        return hash_text("episode", self.name)

    @property
    def start(self) -> EpisodeState:
        return start(self.request, int(self.first_key, 16) % SEEDS)

    def key(self, job: str, question: str, rater: str) -> AskKey:
        return AskKey(
            job=job,
            item=self.item.id,
            question=question,
            rater=rater,
            context=self.context.name,
            context_id=self.context.id,
            sample=self.sample,
        )

    def call_key(self, place: int) -> str:
        """Return the key of a call in recordings: the request, the context, and the step."""
        return f"{self.item.id}|{self.context.name}|{self.sample}|{place}"

    @property
    def told(self) -> frozenset[str]:
        if isinstance(self.agent, ScriptedAgent):
            return told_to(self.agent.name, self.request)
        about = self.context.about == self.item.person
        return self.request.resident.told_in(self.context.text) if about else frozenset()

    def product(self, state: EpisodeState, ask: Ask) -> Product:
        """Return the product that stores the episode with its figures; a failed episode counts as lost."""
        figures = asdict(score(state, self.told))
        if state.stop == "failed":
            figures |= {"success": False, "regret": 1.0}
        body = {
            "slot": self.name,
            "item": self.item.id,
            "request": self.item.products[0],
            "person": self.item.person,
            "agent": self.agent.fingerprint,
            "given": None if isinstance(self.agent, ScriptedAgent) else self.context.name,
            "context": self.context.id,
            "sample": self.sample,
            "detail": ask.detail,
            "score": figures,
            "record": orjson.Fragment(state.record.to_json()),
        }
        return Product(
            id=f"{EPISODE}{ask.id}",
            kind="episode",
            text=orjson.dumps(body).decode(),
            maker=self.agent.fingerprint,
            given=self.context.id,
            about=self.item.person,
            parents=[self.item.id],
            status=ask.status,
            cost=ask.cost,
            sample=self.sample,
        )


# -- a model's episode, step by step -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class EpisodeProgress:
    """A model's episode so far, the key of its next step, and the messages for it."""

    slot: EpisodeSlot
    agent: ChatAgent
    state: EpisodeState
    key: str
    messages: tuple[Message, ...]
    todo: Sequence[AgentAction] = ()
    """Actions of the last reply that are still to be carried out."""

    @property
    def question(self) -> str | None:
        """Return the text that a model playing the user has to answer now."""
        playing = self.slot.user is not None and self.todo and self.state.stop is None
        return spoken(self.todo[0].action) if playing else None

    def after(self, ask: Ask) -> "EpisodeProgress":
        """Return the episode after a stored reply has been acted upon.

        A model that makes many malformed calls in a row is not expected to recover: its episode ends.
        """
        text, refused = ask.reply or "", ask.status == Status.REFUSED
        now = replace(self, key=hash_text(self.key, text))
        if self.question is not None and self.slot.user is not None:
            now = now._acted(UserReply("", ends=True) if refused else self.slot.user.read(text))
        elif refused:
            return replace(now, state=self.state.step(End()))
        else:
            message, actions = self.agent.read(text)
            now = replace(now, messages=(*self.messages, message), todo=actions)
        while now.todo and now.state.stop is None and now.question is None:
            now = now._acted(None)
        lost = [turn.fault == "malformed" for turn in now.state.turns[-LOST:]]
        return replace(now, state=now.state.step(End())) if len(lost) == LOST and all(lost) else now

    def _acted(self, said: UserReply | None) -> "EpisodeProgress":
        """Carry out the next action; `said` is the user's reply if a model plays the user."""
        first, *rest = self.todo
        state = self.state.step(first.action, said)
        messages = (*self.messages, self.agent.result(first, state.turns[-1].reply))
        return replace(self, state=state, messages=messages, todo=rest)


def step_job(now: EpisodeProgress) -> Job:
    """Return the job of the next step of a model's episode; those after it follow from it."""
    slot, agent = now.slot, now.agent
    user = slot.user if now.question is not None else None

    async def ask(ask_id: str) -> Exchange:
        key = slot.call_key(len(now.messages))
        seed = int(ask_id, 16) % SEEDS if slot.sample else None  # at temperature 0 a seed has no effect
        if user is not None and now.question is not None:
            return await user.send(user.ask(now.state, now.question, f"{key}|user", seed))
        return await agent.send(agent.ask(now.messages, slot.request, key, seed))

    def rows(ask: Ask, _: Exchange) -> Rows:
        state = now.after(ask).state
        return [], [] if state.stop is None else [slot.product(state, ask)]

    def failed(ask: Ask) -> list[Product]:
        return [slot.product(replace(now.state, stop="failed"), ask)]

    def then(outcome: Outcome) -> Job | None:
        following = now.after(outcome.ask)
        return step_job(following) if following.state.stop is None else None

    who = user or agent
    key = slot.key(now.key, USER_STEP if user else AGENT_STEP, who.fingerprint)
    return ask_job(key, ask, rows, failed=failed, then=then, endpoint=who.model.endpoint)


# -- other agents: a whole episode at once -----------------------------------------------------------------------------


@dataclass(slots=True)
class WholeEpisode(Exchange):
    """The outcome of a job that plays a whole episode."""

    state: EpisodeState | None = None


def whole_job(slot: EpisodeSlot, agent: PythonAgent | ScriptedAgent, world: World) -> Job:
    """Return the job that plays a whole episode of an agent that is not a chat model."""
    tools: list[EpisodeTools] = []  # of the latest attempt: what it did is stored even if it fails

    async def ask(_: str) -> WholeEpisode:
        whole = WholeEpisode(calls=1)
        if isinstance(agent, ScriptedAgent):
            whole.state = play(world, slot.request, agent.name, slot.start.seed)
        else:
            tools[:] = [EpisodeTools(slot.start, _ask_on_loop(slot, whole))]
            await agent.play(tools[0], slot.context)
            whole.state = tools.pop().state
        whole.reply = str(whole.state.stop)
        return whole

    def rows(ask: Ask, whole: WholeEpisode) -> Rows:
        assert whole.state is not None
        return [], [slot.product(whole.state, ask)]

    def failed(ask: Ask) -> list[Product]:
        state = tools[0].state if tools else slot.start
        return [slot.product(replace(state, stop="failed"), ask)]

    return ask_job(slot.key(slot.first_key, WHOLE, agent.fingerprint), ask, rows, failed=failed)


def _ask_on_loop(slot: EpisodeSlot, whole: WholeEpisode) -> AskUser:
    """Return the function by which a Python agent's thread asks the user: a model is asked on the event loop."""
    user, loop = slot.user, asyncio.get_running_loop()

    def ask_user(state: EpisodeState, question: str) -> UserReply | None:
        if user is None:
            return None
        answer = user.send(user.ask(state, question, f"{slot.call_key(len(state.turns))}|user", None))
        exchange = asyncio.run_coroutine_threadsafe(answer, loop).result()
        for reply in exchange.replies:
            whole.add(reply)
        ok = exchange.status == Status.OK
        return user.read(exchange.reply or "") if ok else UserReply("", ends=True)

    return ask_user
