"""A system's answers to people's questions, for each system context: one, or several sampled candidates.

Answers are made by keyed jobs as judgments are, so answering resumes, retries and never pays twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from personafit._hashing import content_hash, hash_text
from personafit.contexts import Context, ContextBuilder, Unmade
from personafit.engine import Job, Lane, together
from personafit.engine.ask import Asker, AskKey, Exchange, Rows, ask_job
from personafit.items import inert
from personafit.models import ChatReply, ChatRequest, Message, Model, is_fixed
from personafit.people import Person
from personafit.people.prompts import prompt_messages
from personafit.simulate.speakers import WORDINGS
from personafit.store import Ask, Item, Product, Status, Store

QUESTION = "answer"


def answer_job(
    system: Asker, maker: str, key: str, item: Item, context: Context, request: ChatRequest, sample: int = 0
) -> Job:
    """Return the job that asks a system for an answer; it holds no store, since it may run in another process."""

    async def ask(_: str) -> Exchange:
        exchange = Exchange()
        await system.ask(request, exchange, _words)
        if not (exchange.reply or "").strip():
            exchange.detail = "the system answered nothing"
        return exchange

    def rows(ask: Ask, exchange: Exchange) -> Rows:
        if exchange.status != Status.OK:
            return [], []
        answer = Product(
            id=ask.id,
            kind="answer",
            text=(exchange.reply or "").strip(),
            maker=maker,
            given=context.id,
            about=item.person,
            parents=[item.id],
            cost=ask.cost,
            sample=sample,
        )
        return [], [answer]

    return ask_job(AskKey(key, item.id, QUESTION, maker, context.name, context.id, sample=sample), ask, rows)


def _words(reply: ChatReply, _: str | None) -> str | None:
    return reply.text.strip() or None


MAX_TOKENS = 1024
USUAL_TOKENS = 300
PAGE = 500
PLAIN, KNOWING = WORDINGS["answer"]["plain"], WORDINGS["answer"]["knowing"]


@dataclass(frozen=True)
class Answering:
    """A system, the questions it answers, and its system contexts."""

    store: Store
    dataset: str
    people: Mapping[str, Person]
    system: Model
    system_contexts: Sequence[ContextBuilder]
    selected: frozenset[str] | None = None
    attempt: str = ""
    """The run whose answers are generated anew, separate from all others; ignored if the fingerprint fixes a system's replies."""
    samples: int = 0
    """Number of candidates sampled per answer; 0 for one answer at temperature 0."""
    temperature: float = 0.0

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the system, its prompts, and the sampling temperature."""
        drawn = [self.temperature] if self.samples else []
        return content_hash([self.system.settings, PLAIN, KNOWING, MAX_TOKENS, *drawn])

    @property
    def count(self) -> int:
        items = self.store.count_items(self.dataset) if self.selected is None else len(self.selected)
        return items * len(self.system_contexts) * max(1, self.samples)

    def items(self) -> Iterator[Item]:
        for item in self.store.items(self.dataset):
            if self.selected is None or item.id in self.selected:
                yield item

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self.system)

    def lane(self) -> Lane:
        return Lane(
            name=f"{self.system.name} answers",
            endpoint=self.system.endpoint,
            jobs=self._jobs(),
            total=self.count,
            max_concurrency=self.system.max_concurrency,
            together=together(self.system),
        )

    def key(self, item: Item, context: Context, sample: int = 0) -> str:
        parts = [item.id, item.hash, QUESTION, self.fingerprint, context.name, context.id]
        if self.samples:
            parts.append(str(sample))
        elif self.attempt and not self._is_fixed:
            parts.append(self.attempt)
        return hash_text(*parts)

    @cached_property
    def _is_fixed(self) -> bool:
        return is_fixed(self.system)

    def prompts(self) -> Iterator[tuple[Item, list[Context]]]:
        """Yield every question with its contexts; one that a model failed to make is left out."""
        for item in self.items():
            contexts = []
            for system_context in self.system_contexts:
                with suppress(Unmade):
                    contexts.append(system_context.build(self.people[item.person], item))
            yield item, contexts

    def _jobs(self) -> Iterator[Job]:
        for item, contexts in self.prompts():
            self.store.add_products(context.product for context in contexts)
            for context in contexts:
                for sample in range(max(1, self.samples)):
                    yield self._job(item, context, sample)

    def _job(self, item: Item, context: Context, sample: int) -> Job:
        request = ChatRequest(
            answer_messages(item.prompt, context),
            MAX_TOKENS,
            temperature=self.temperature,
            seed=sample + 1 if self.samples else None,
            key=f"{item.id}|{context.name}" + (f"|{sample}" if self.samples else ""),
            # The parts of the messages, for callables; under `none` the person's own id would reveal whose memory to look up.
            context={
                "person": context.about or "",
                "question": item.id,
                "given": context.name,
                "text": context.text,
            },
        )
        key = self.key(item, context, sample)
        return answer_job(self._asker, self.fingerprint, key, item, context, request, sample)

    def answers(self) -> Iterator[tuple[Item, dict[str, str]]]:
        """Yield every question with the answers made so far, by context name, or by context name and number for candidates."""
        for item, texts in self.tried():
            yield item, {name: text for name, text in texts.items() if text}

    def tried(self) -> Iterator[tuple[Item, dict[str, str]]]:
        """Yield every question with an answer for each available context, "" if the system made none."""
        for batch in self._pages():
            states = self.store.job_states([key for _, keys in batch for key in keys.values()])
            products = {key: hash_text(key, str(state.generation)) for key, state in states.items()}
            texts = self.store.texts(products.values())
            for item, keys in batch:
                yield item, {name: texts.get(products.get(key, "")) or "" for name, key in keys.items()}

    def unmade(self) -> int:
        """Return the number of missing answers: failed, refused or empty."""
        return sum(not text for _, texts in self.tried() for text in texts.values())

    def _pages(self) -> Iterator[list[tuple[Item, dict[str, str]]]]:
        """Yield pages of questions with the job keys of their answers."""
        prompts = self.prompts()
        while batch := list(islice(prompts, PAGE)):
            yield [(item, self._keys(item, contexts)) for item, contexts in batch]

    def _keys(self, item: Item, contexts: Sequence[Context]) -> dict[str, str]:
        if not self.samples:
            return {context.name: self.key(item, context) for context in contexts}
        each = [(context, sample) for context in contexts for sample in range(self.samples)]
        return {f"{context.name}|{sample}": self.key(item, context, sample) for context, sample in each}


def answer_messages(question: str, context: Context) -> tuple[Message, ...]:
    """Return the messages to the system: its context, then the question's turns."""
    told = KNOWING.format(person=inert(context.text)) if context.text else PLAIN
    return ({"role": "system", "content": told}, *prompt_messages(question))
