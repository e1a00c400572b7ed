"""A system answers each question several times, each time anew: candidates to choose among.

Like all answers they are made by keyed jobs, so making them resumes and is paid for once; more of them later cost only the
rest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from personafit._hashing import content_hash, hash_text
from personafit.contexts import Context, ContextBuilder
from personafit.engine import Job, Lane
from personafit.engine.ask import Asker
from personafit.models import ChatRequest, Model
from personafit.models.tokens import estimated_cost
from personafit.people import Person
from personafit.simulate.answer_job import QUESTION, answer_job
from personafit.simulate.answering import KNOWING, MAX_TOKENS, PLAIN, USUAL_TOKENS, answer_messages
from personafit.store import Item, Store


@dataclass(frozen=True)
class Sampling:
    """A system, the questions it gets, what it is told about who asks, and how often it is asked."""

    store: Store
    dataset: str
    people: Mapping[str, Person]
    system: Model
    given: ContextBuilder
    count: int
    temperature: float

    @property
    def fingerprint(self) -> str:
        """Hash of the system, of how it is told about people, and of how freely it answers."""
        return content_hash([self.system.settings, PLAIN, KNOWING, MAX_TOKENS, self.temperature])

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self.system)

    def lane(self) -> Lane:
        """All answers to be made."""
        return Lane(
            name=f"{self.system.name} answers",
            endpoint=self.system.endpoint,
            jobs=(self._job(item, context, sample) for item, context, sample in self._asked()),
            total=self.store.count_items(self.dataset) * self.count,
            max_concurrency=self.system.max_concurrency,
            ask_cost=self._ask_cost(),
            free=self.system.price == (0.0, 0.0),
        )

    def answers(self) -> Iterator[tuple[Item, list[str]]]:
        """Every question with the answers made to it so far; those that are the same word for word stand once."""
        for item in self.store.items(self.dataset):
            context = self._context(item)
            keys = [self.key(item, context, sample) for sample in range(self.count)]
            states = self.store.job_states(keys)
            made = [hash_text(key, str(states[key].generation)) for key in keys if key in states]
            texts = self.store.texts(made)
            yield item, list(dict.fromkeys(texts[product] for product in made if product in texts))

    def key(self, item: Item, context: Context, sample: int) -> str:
        """The job key of one answer."""
        return hash_text(
            item.id, item.hash, QUESTION, self.fingerprint, context.name, context.id, str(sample)
        )

    def _context(self, item: Item) -> Context:
        return self.given.build(self.people[item.person], item)

    def _asked(self) -> Iterator[tuple[Item, Context, int]]:
        for item in self.store.items(self.dataset):
            context = self._context(item)
            self.store.add_products([context.product])
            for sample in range(self.count):
                yield item, context, sample

    def _ask_cost(self) -> float:
        first = next(self.store.items(self.dataset), None)
        if first is None or self.system.price in (None, (0.0, 0.0)):
            return 0.0
        messages = answer_messages(first.prompt, self._context(first))
        return estimated_cost(ChatRequest(messages), self.system.price, USUAL_TOKENS)

    def _job(self, item: Item, context: Context, sample: int) -> Job:
        request = ChatRequest(
            answer_messages(item.prompt, context),
            MAX_TOKENS,
            temperature=self.temperature,
            seed=sample + 1,
            key=f"{item.id}|{context.name}|{sample}",
        )
        key = self.key(item, context, sample)
        return answer_job(self._asker, self.fingerprint, key, item, context, request, sample)
