"""Contexts made by a model, such as filtered memories or an induced profile: made once before they are needed, and stored.

Each is made by a keyed job like any other ask, so making them resumes, retries, respects the budget and is paid for once. Builders
then read the replies back from the store; a context that could not be made is never used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import func, select

from personafit._hashing import hash_text
from personafit.contexts.context import Context, ContextBuilder, FromMemories, People, Unmade
from personafit.contexts.profile import WrongContext
from personafit.engine import Job, Lane, Runner, Summary
from personafit.engine.ask import Asker, AskKey, Exchange, Rows, ask_job
from personafit.models import MODELS, ChatReply, ChatRequest, Message, Model, parse_spec
from personafit.people import Person
from personafit.store import Ask, Item, Outcome, Product, RaterRecord, Status, Store
from personafit.store import tables as t

FILTER, FILTER_BY_PROFILE = "memory-filter", "memory-filter-by-profile"
MADE = (FILTER, FILTER_BY_PROFILE, "induce")
"""Question names of the asks that make contexts."""

USUAL_TOKENS = (900, 200)  # typical input and output tokens per ask, for cost estimates
ROLES_OWN = (
    "ask",
    "guard",
    "tools",
)  # options on how a model judges or acts, not on the model itself


class ModelMade(FromMemories, ABC):
    """Base of builders that need a model."""

    question: str  # question name of its asks in the store
    per_person: ClassVar[bool]  # whether the context depends on the person alone, not on the item

    def __init__(self, model: Model, name: str, fingerprint: str) -> None:
        self.asker = Asker(model)
        self.name = name
        self.fingerprint = fingerprint
        """Hash of the model, the wording and everything else that determines the context."""
        self._store: Store | None = None

    @property
    def model(self) -> Model:
        return self.asker.model

    def begin(self, store: Store) -> None:
        self._store = store

    @abstractmethod
    def job(self, person: Person, item: Item) -> Job | None:
        """Return the first job that makes the context; None if no model is needed."""

    @abstractmethod
    def build(self, person: Person, item: Item) -> Context:
        """Build the context from the model's stored replies."""

    def _reply(self, prompt: "ContextPrompt", about: str) -> Ask:
        asks = self._store.final_asks([prompt.key]) if self._store is not None else {}
        if prompt.key not in asks:
            raise Unmade(
                f"{self.name} for {about} is not made: the model was not asked or did not answer; the same "
                "`personafit run` tries again."
            )
        return asks[prompt.key]


@dataclass(frozen=True)
class ContextPrompt:
    """A prompt to a model that makes a context."""

    item: str  # id of the item, or of the person where no item matters
    context: str
    question: str
    fingerprint: str
    source: Product  # what the model reads about the person, stored so that forgetting them finds the ask
    messages: tuple[Message, ...]
    again: str  # the message after a reply that cannot be parsed
    readable: Callable[[str], bool]
    step: str = ""
    tokens: int = 256  # maximum reply length, reasoning excluded

    @property
    def key(self) -> str:
        """The job key: a hash of everything that could change the reply."""
        said = "\n".join(message["content"] for message in self.messages)
        return hash_text(
            self.item, self.context, self.question, self.fingerprint, self.source.id, self.step, said
        )

    @property
    def replay(self) -> str:
        return made_key(self.item, self.question, self.source.about or "", self.step)


def made_key(item: str, question: str, person: str, step: str) -> str:
    """Return the name of a context-making request in recordings."""
    return f"{item}|{question} {person}|{step}|0"


def context_job(
    prompt: ContextPrompt, asker: Asker, then: Callable[[Outcome], Job | None] | None = None
) -> Job:
    """Return the job that sends a prompt, and asks once more if the reply cannot be parsed."""

    def read(reply: ChatReply, _: str | None) -> str | None:
        return reply.text if prompt.readable(reply.text) else None

    async def ask(_: str) -> Exchange:
        exchange = Exchange()
        request = ChatRequest(prompt.messages, prompt.tokens, key=prompt.replay)
        await asker.ask(request, exchange, read, prompt.again)
        return exchange

    def rows(_: Ask, __: Exchange) -> Rows:
        return [], [prompt.source]

    source = prompt.source.id
    key = AskKey(
        prompt.key, prompt.item, prompt.question, prompt.fingerprint, prompt.context, source, prompt.step
    )
    return ask_job(key, ask, rows, then=then)


def makers(builders: Sequence[ContextBuilder]) -> list[ModelMade]:
    """Return the builders that need a model, including those behind `wrong:`, without duplicates."""
    found: dict[str, ModelMade] = {}
    for builder in builders:
        inner = _inner(builder)
        if isinstance(inner, ModelMade):
            found.setdefault(inner.fingerprint, inner)
    return list(found.values())


async def make_contexts(
    builders: Sequence[ContextBuilder],
    store: Store,
    people: People,
    items: Callable[[], Iterator[Item]],
    runner: Runner,
) -> Summary | None:
    """Make all contexts that the builders need a model for, then close the models; None if no model is needed."""
    needed = makers(builders)
    if not needed:
        return None
    askers: dict[str, Asker] = {}
    for builder in builders:
        if isinstance(inner := _inner(builder), ModelMade):
            inner.asker = askers.setdefault(inner.model.name, inner.asker)  # so that weights are loaded once
            inner.begin(store)
    store.add_raters(
        RaterRecord(
            fingerprint=one.fingerprint,
            name=f"{one.model.name} ({one.question})",
            kind="maker",
            settings={**one.model.settings, "makes": one.name},
        )
        for one in needed
    )
    persons = [item.person for item in items()]

    def lane(maker: ModelMade) -> Lane:
        contexts = [one for one in builders if context_fingerprint(one) == maker.fingerprint]
        people_told = min(len(set(persons)) * len(contexts), len(people))
        return Lane(
            name=f"{maker.model.name} makes {maker.name}",
            endpoint=maker.model.endpoint,
            jobs=_jobs(contexts, people, items),
            total=people_told if maker.per_person else len(persons) * len(contexts),
            max_concurrency=maker.model.max_concurrency,
            chains=maker.model.max_concurrency if maker.per_person else 0,
        )

    try:
        return await runner.run([lane(maker) for maker in needed])
    finally:
        for asker in askers.values():
            await asker.model.close()


def usual_cost(price: tuple[float, float] | None) -> float:
    """Estimate the cost of one ask in USD."""
    return (USUAL_TOKENS[0] * price[0] + USUAL_TOKENS[1] * price[1]) / 1e6 if price else 0.0


def made_notes(store: Store, run: int, builders: Sequence[ContextBuilder]) -> list[str]:
    """Return a note for each maker with unusable replies, so that no fallback context goes unreported."""
    notes = []
    for maker in makers(builders):
        ask = t.asks.c
        query = (
            select(ask.status, func.count(ask.job.distinct()))
            .select_from(t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job))
            .where(t.run_jobs.c.run == run, ask.rater == maker.fingerprint)
            .group_by(ask.status)
        )
        counts = dict(store.frame(query).iter_rows())
        bad = {status: n for status, n in counts.items() if status in (Status.UNPARSED, Status.REFUSED)}
        if bad:
            listed = ", ".join(f"{n} {status}" for status, n in sorted(bad.items()))
            instead = (
                "nothing was learned from those memories"
                if maker.per_person
                else "all that was retrieved is told"
            )
            notes.append(
                f"{maker.name}: of {sum(counts.values())} replies of {maker.model.name}, {listed}; where that is so, {instead}."
            )
    return notes


def default_model(specs: Sequence[str]) -> str | None:
    """Return the first spec that names a model to prompt, without the options on how it judges or acts.

    A `python:` spec is never a default: the user's function may be a judge or an assistant that can do nothing else.
    """
    for text in specs:
        spec = parse_spec(text)
        if spec.kind in MODELS and spec.kind != "python":
            kept = {name: value for name, value in spec.options.items() if name not in ROLES_OWN}
            options = "".join(f",{name}={value}" for name, value in kept.items())
            url = f"@{spec.url}" if spec.url else ""
            return f"{spec.kind}{':' if spec.name else ''}{spec.name}{url}{options}"
    return None


def context_fingerprint(builder: ContextBuilder) -> str | None:
    """Return the hash of how a context is made; None if its name alone determines it."""
    return getattr(_inner(builder), "fingerprint", None)


def _jobs(
    contexts: Sequence[ContextBuilder], people: People, items: Callable[[], Iterator[Item]]
) -> Iterator[Job]:
    seen: set[str] = set()
    for item in items():
        for context in contexts:
            person, builder = people[item.person], context
            try:
                while isinstance(builder, WrongContext):
                    person, builder = builder.stand_in(person, item), builder.inner
            except Unmade:  # there is no wrong person for this one
                continue
            job = builder.job(person, item) if isinstance(builder, ModelMade) else None
            if job is not None and job.key not in seen:
                seen.add(job.key)
                yield job


def _inner(builder: ContextBuilder) -> ContextBuilder:
    while isinstance(builder, WrongContext):
        builder = builder.inner
    return builder
