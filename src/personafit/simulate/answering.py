"""A system answers people's questions, each time told what a context says: the simplest dialogue, one turn long.

Answers are made by keyed jobs like judgments are, so making them resumes, retries and costs nothing twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from personafit._hashing import content_hash, hash_text
from personafit.contexts import Context, ContextBuilder, Unmade
from personafit.engine import Job, Lane, together
from personafit.engine.ask import Asker
from personafit.items import inert
from personafit.models import ChatRequest, Message, Model
from personafit.models.tokens import estimated_cost
from personafit.people import Person
from personafit.simulate.answer_job import QUESTION, answer_job
from personafit.store import Item, Store

MAX_TOKENS = 1024
USUAL_TOKENS = 300
PLAIN = "You are a helpful assistant. Answer the question; be concrete and brief."
KNOWING = (
    PLAIN + " This is what you know about the person who asks:\n\n<person>\n{person}\n</person>\n\n"
    "Use it where it makes the answer better for them, and only there."
)


@dataclass(frozen=True)
class Answering:
    """A system, the questions it gets, and what it is told about who asks."""

    store: Store
    dataset: str
    people: Mapping[str, Person]
    system: Model
    givens: Sequence[ContextBuilder]
    selected: frozenset[str] | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of the system and of how it is told about people."""
        return content_hash([self.system.settings, PLAIN, KNOWING, MAX_TOKENS])

    @property
    def count(self) -> int:
        """How many answers there are to be."""
        items = self.store.count_items(self.dataset) if self.selected is None else len(self.selected)
        return items * len(self.givens)

    def items(self) -> Iterator[Item]:
        """The questions."""
        for item in self.store.items(self.dataset):
            if self.selected is None or item.id in self.selected:
                yield item

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self.system)

    def lane(self) -> Lane:
        """All answers to be made, by person and context."""
        return Lane(
            name=f"{self.system.name} answers",
            endpoint=self.system.endpoint,
            jobs=self._jobs(),
            total=self.count,
            max_concurrency=self.system.max_concurrency,
            ask_cost=self._ask_cost(),
            free=self.system.price == (0.0, 0.0),
            together=together(self.system),
        )

    def _ask_cost(self) -> float:
        """About what one answer costs: the first question's prompt, and an answer of usual length."""
        if self.system.price in (None, (0.0, 0.0)):
            return 0.0
        item, contexts = next(self.prompts(), (None, []))
        if item is None or not contexts:
            return 0.0
        messages = answer_messages(item.prompt, contexts[0])
        return estimated_cost(ChatRequest(messages), self.system.price, USUAL_TOKENS)

    def key(self, item: Item, context: Context) -> str:
        """The job key of one answer."""
        return hash_text(item.id, item.hash, QUESTION, self.fingerprint, context.name, context.id)

    def prompts(self) -> Iterator[tuple[Item, list[Context]]]:
        """Every question with the contexts it is asked under; one that a model should have made and did not is left out."""
        for item in self.items():
            contexts = []
            for given in self.givens:
                with suppress(Unmade):
                    contexts.append(given.build(self.people[item.person], item))
            yield item, contexts

    def _jobs(self) -> Iterator[Job]:
        for item, contexts in self.prompts():
            self.store.add_products(context.product for context in contexts)
            for context in contexts:
                yield self._job(item, context)

    def _job(self, item: Item, context: Context) -> Job:
        request = ChatRequest(
            answer_messages(item.prompt, context),
            MAX_TOKENS,
            key=f"{item.id}|{context.name}",
            context={"person": item.person, "given": context.name, "text": context.text},
        )
        return answer_job(self._asker, self.fingerprint, self.key(item, context), item, context, request)

    def answers(self, page: int = 500) -> Iterator[tuple[Item, dict[str, str]]]:
        """Every question with the answers made to it so far, by context name."""
        for item, texts in self.tried(page):
            yield item, {name: text for name, text in texts.items() if text}

    def tried(self, page: int = 500) -> Iterator[tuple[Item, dict[str, str]]]:
        """Every question with an answer for each context that could be told, "" where the system made none."""
        batch: list[tuple[Item, dict[str, str]]] = []
        for item, contexts in self.prompts():
            batch.append((item, {context.name: self.key(item, context) for context in contexts}))
            if len(batch) == page:
                yield from self._texts(batch)
                batch = []
        yield from self._texts(batch)

    def _texts(self, batch: list[tuple[Item, dict[str, str]]]) -> Iterator[tuple[Item, dict[str, str]]]:
        states = self.store.job_states([key for _, keys in batch for key in keys.values()])
        products = {key: hash_text(key, str(state.generation)) for key, state in states.items()}
        texts = self.store.texts(products.values())
        for item, keys in batch:
            yield item, {name: texts.get(products.get(key, "")) or "" for name, key in keys.items()}


def answer_messages(question: str, context: Context) -> tuple[Message, ...]:
    """What the system is sent."""
    told = KNOWING.format(person=inert(context.text)) if context.text else PLAIN
    return ({"role": "system", "content": told}, {"role": "user", "content": question})
