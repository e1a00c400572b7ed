"""All dialogues a simulated user has with an assistant: who can take part, and which there are, as one lane."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.contexts import ContextBuilder, TaskItem, Unmade
from personafit.engine import Job, Lane, together
from personafit.models import ChatReply, ChatRequest, Model, Spec, is_fixed, make_model, parse_spec
from personafit.models.tokens import estimated_cost
from personafit.people import Person
from personafit.simulate.speakers import WORDINGS, Assistant, UserAgent, user_brief
from personafit.simulate.turns import Scene, opening_job
from personafit.store import Store

STYLES = ("vanilla", "cot")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
CANNED: dict[str, list[str]] = WORDINGS["canned"]


class CannedAssistant:
    """Says the same polite things to everybody: what a score is worth shows beside it."""

    name = endpoint = "canned"
    max_concurrency = 64
    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        self.settings: dict[str, Any] = {"kind": "canned", "says": content_hash(CANNED)}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The next sentence of the sequence; its last ones come back again and again."""
        said = sum(message["role"] == "assistant" for message in request.messages)
        last = request.messages[-1]["content"]
        lines = CANNED["zh" if _CHINESE.search(last) else "en"]
        return ChatReply(text=lines[said] if said < len(lines) else lines[2 + said % 2])

    async def close(self) -> None:
        """Nothing to release."""


def make_assistant(text: str) -> Assistant:
    """The assistant a spec names."""
    spec = parse_spec(text)
    model: Model = CannedAssistant(spec) if spec.kind == "canned" else make_model(spec)
    return Assistant(model)


def make_user(text: str) -> UserAgent:
    """The user agent a spec names; `style=cot` makes it think before it speaks."""
    spec = parse_spec(text)
    options = dict(spec.options)
    style = options.pop("style", STYLES[0])
    if style not in STYLES:
        raise UserError(f"{text}: unknown style '{style}'; there are {', '.join(STYLES)}.")
    return UserAgent(make_model(Spec(spec.text, spec.kind, spec.name, spec.url, options)), style)


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
    """How many tasks there are."""
    system: Assistant
    user: UserAgent
    givens: Sequence[ContextBuilder]
    seed: int = 0
    samples: int = 1
    attempt: str = ""
    """The run that holds dialogues anew: its dialogues are no other's. A system whose fingerprint covers what it does has one set for all."""

    def lane(self) -> Lane:
        """All dialogues, by task and context."""
        system, user = self.system.model, self.user.model
        endpoints = {user.endpoint: user.max_concurrency} if user.endpoint != system.endpoint else {}
        return Lane(
            name=f"{system.name} dialogues",
            endpoint=system.endpoint,
            jobs=self._jobs(),
            total=self.count * len(self.givens) * self.samples,
            max_concurrency=system.max_concurrency,
            ask_cost=self._ask_cost(),
            free=system.price == user.price == (0.0, 0.0),
            chains=system.max_concurrency + sum(endpoints.values()),
            endpoints=endpoints,
            together=together(system, user),
        )

    def scenes(self) -> Iterator[Scene]:
        """Every dialogue that is wanted."""
        attempt = "" if is_fixed(self.system.model) else self.attempt
        for item in self.tasks():
            person = self.people[item.person]
            brief = user_brief(person, item.task)
            for given in self.givens:
                try:
                    told = given.build(person, item)
                except Unmade:  # a model should have made it and did not: no dialogue is held without it
                    continue
                for sample in range(self.samples):
                    yield Scene(
                        dataset=self.dataset,
                        item=item,
                        person=person,
                        told=told,
                        brief=brief,
                        system=self.system,
                        user=self.user,
                        seed=self.seed,
                        sample=sample,
                        attempt=attempt,
                    )

    def _jobs(self) -> Iterator[Job]:
        scenes = self.scenes()
        while page := list(islice(scenes, PAGE)):
            contexts = {told.id: told.product for scene in page for told in (scene.told, scene.brief)}
            self.store.add_products(contexts.values())
            yield from map(opening_job, page)

    def _ask_cost(self) -> float:
        """About what the dearer side's turn costs at the beginning."""
        scene = next(self.scenes(), None)
        if scene is None:
            return 0.0
        user = ChatRequest(self.user.opening(scene.brief, scene.person.language))
        system = ChatRequest(self.system.opening(scene.told))
        return max(
            estimated_cost(user, self.user.model.price, USUAL_TOKENS),
            estimated_cost(system, self.system.model.price, USUAL_TOKENS),
        )
