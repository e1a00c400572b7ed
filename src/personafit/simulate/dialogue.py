"""All dialogues a simulated user has with an assistant, single- and multi-domain alike: which there are, as one lane."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from personafit.contexts import ContextBuilder, TaskItem, Unmade
from personafit.engine import Job, Lane, together
from personafit.models import ChatRequest
from personafit.models.tokens import estimated_cost
from personafit.people import Person
from personafit.simulate.speakers import Assistant, UserAgent, user_brief
from personafit.simulate.turns import Scene, opening_job
from personafit.store import Store

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
                        self.dataset, item, person, told, brief, self.system, self.user, self.seed, sample
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
