"""`induced[:every=8][@SPEC]`: traits inferred from all of a person's memories before any question is asked, as an explicit profile.

Memories are read oldest first, a few at a time; each time a model proposes edits to the persona so far. A new memory costs one more
ask: what was learned from the earlier ones is read back from the store.

The model sees the persona as it stands and the new memories by number; it answers with edits, each with the numbers it rests on.
Edits without evidence among the numbers shown are left out: the model can word a field, it cannot invent what it rests on.
"""

from collections.abc import Sequence

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit._versions import fingerprint_of
from personafit.contexts.context import Context, Unmade
from personafit.contexts.filtering import WORDINGS, JsonPairs, json_pairs, numbered, tagged
from personafit.contexts.making import ContextPrompt, context_job
from personafit.contexts.memories import HISTORY, has_memories, memories_of, oldest_first
from personafit.contexts.persona import Edit, Persona, valid_edit
from personafit.engine import Job
from personafit.engine.ask import Asker
from personafit.models import Message, Model
from personafit.people import Memory, Person, facet_values
from personafit.store import Item, Outcome, Product, Status, Store

KIND = "induced"
EVERY = 8
LONGEST_MEMORY = 2_000  # characters of one memory that the model is shown


class InducedContext:
    """A profile that a model inferred from memories."""

    question = "induce"
    per_person = True

    def __init__(self, model: Model, every: int, named: str | None) -> None:
        self.asker = Asker(model)
        self._every = every
        options = f":every={every}" if every != EVERY else ""
        self.name = f"{KIND}{options}" + (f"@{named}" if named else "")
        self.fingerprint = content_hash([model.settings, every, LONGEST_MEMORY, profiling_fingerprint()])
        self._store: Store | None = None
        self._made: dict[str, Context] = {}

    @property
    def model(self) -> Model:
        """Who does the work."""
        return self.asker.model

    def begin(self, store: Store) -> None:
        """Say where the model's replies are kept."""
        self._store = store
        self._made.clear()

    def covers(self, person: Person, item: Item) -> bool:
        """Whether there is anything to infer from."""
        return has_memories(person)

    def job(self, person: Person, item: Item) -> Job | None:
        """The first link of the chain that reads the person's memories."""
        if HISTORY in item.slices:
            raise UserError(
                f"{self.name} reads all that a person ever said, and {item.id} is about a history up to some place in it, so it would "
                "be told what comes later; use memory, memory+filter or history."
            )
        return self._link(person, Persona(), 0)

    def build(self, person: Person, item: Item) -> Context:
        """The persona as an outline, with the memories it rests on as parents."""
        if person.id not in self._made:
            self._made[person.id] = self._read(person)
        return self._made[person.id]

    def persona(self, person: Person) -> tuple[Persona, list[str], Status]:
        """The persona from the stored replies, the asks it came from, and the worst status among them."""
        persona, asks, status, step = Persona(), list[str](), Status.OK, 0
        while new := self._next(person, persona):
            prompt = self._prompt(person, persona, new, step)
            ask = self._store.final_asks([prompt.key]).get(prompt.key) if self._store is not None else None
            if ask is None:
                raise Unmade(
                    f"{self.name} of {person.id} is not made: the model was not asked or did not answer; the same "
                    "`personafit run` tries again."
                )
            status = status if ask.status == Status.OK else ask.status
            persona = persona.updated(edits_in(ask.reply or "", new) or [], new)
            asks.append(ask.id)
            step += 1
        return persona, asks, status

    def _read(self, person: Person) -> Context:
        persona, asks, status = self.persona(person)
        evidence = sorted({id for belief in persona.fields.values() for id in belief.evidence})
        return Context(
            self.name,
            persona.render(),
            tuple(facet_values(persona.facets)),
            person.id,
            persona.facets,
            maker=f"{self.name}#{self.fingerprint}",
            parents=(*evidence, *asks),
            status=status,
        )

    def _next(self, person: Person, persona: Persona) -> list[Memory]:
        return persona.unseen(oldest_first(memories_of(person)))[: self._every]

    def _link(self, person: Person, persona: Persona, step: int) -> Job | None:
        new = self._next(person, persona)
        if not new:
            return None

        def then(outcome: Outcome) -> Job | None:
            edits = edits_in(outcome.ask.reply or "", new) or []
            return self._link(person, persona.updated(edits, new), step + 1)

        return context_job(self._prompt(person, persona, new, step), self.asker, then)

    def _prompt(self, person: Person, persona: Persona, new: Sequence[Memory], step: int) -> ContextPrompt:
        shown = [memory.model_copy(update={"text": memory.text[:LONGEST_MEMORY]}) for memory in new]
        said = "\n".join(f"{memory.id}: {memory.text}" for memory in shown)
        return ContextPrompt(
            item=person.id,
            view=self.name,
            question=self.question,
            fingerprint=self.fingerprint,
            source=Product(kind="memories", text=said, maker=hash_text(person.id, said), about=person.id),
            messages=profiling_messages(persona, shown, person.language),
            again=words_for(person.language)["again"].format(),
            readable=lambda reply: edits_in(reply, new) is not None,
            step=str(step),
            tokens=reply_tokens(new),
        )


def induced_every(argument: str, name: str) -> int:
    """The number of memories read at a time, from `every=8`."""
    if not argument:
        return EVERY
    option, _, value = argument.partition("=")
    if option != "every" or not (value.isascii() and value.isdecimal() and 1 <= int(value) <= 100):
        raise UserError(f"{name}: '{argument}' is no option; write induced:every=NUMBER, from 1 to 100.")
    return int(value)


EDITS = "edits"
# The form is told in words and shows no example: small models copy whatever stands in one, down to its placeholders.
TOKENS_EACH, TOKENS_AT_LEAST = 60, 160  # of a reply: for each memory, and in all
WORDING_VERSION = "1"
"""Of the wording, of how edits are read, and of how they are merged into a persona; a change raises it."""
WORDING = WORDINGS["induced"]


def profiling_fingerprint() -> str:
    """That of the wording, of how edits are read, and of how they are merged."""
    return fingerprint_of("profiling", WORDING_VERSION)


def words_for(language: str) -> dict[str, str]:
    """What is said to the model, in the person's language where we speak it."""
    return WORDING["zh" if language.startswith("zh") else "en"]


def profiling_messages(persona: Persona, new: Sequence[Memory], language: str) -> tuple[Message, ...]:
    """The prompt; what is the same for everybody comes first."""
    words = words_for(language)
    parts = [
        words["task"],
        words["closing"],
        tagged("persona", _fields(persona) or words["empty"]),
        tagged("memories", numbered(new)),
    ]
    return ({"role": "user", "content": "\n\n".join(parts)},)


def edits_in(reply: str, new: Sequence[Memory]) -> list[Edit] | None:
    """The usable edits of a reply, or None where it is not one JSON object with a list of edits."""
    pairs = json_pairs(reply)
    if pairs is None or [key for key, _ in pairs] != [EDITS] or type(pairs[0][1]) is not list:
        return None
    edits = [_edit(dict(entry), new) for entry in pairs[0][1] if isinstance(entry, JsonPairs)]
    return [edit for edit in edits if edit is not None]


def _edit(entry: dict[str, object], new: Sequence[Memory]) -> Edit | None:
    named = entry.get("evidence")
    numbers = list(named) if isinstance(named, list) else [named]
    places = [number - 1 for number in numbers if type(number) is int and 1 <= number <= len(new)]
    if len(places) < len(numbers):
        return None
    evidence = list(dict.fromkeys(new[place].id for place in places))
    value = entry.get("value")
    return valid_edit(entry.get("do"), entry.get("field"), value, evidence)


def _fields(persona: Persona) -> str:
    return "\n".join(
        f"{path}: {belief.value}{f' (since {belief.time})' if belief.time else ''}"
        for path, belief in persona.fields.items()
    )


def reply_tokens(new: Sequence[Memory]) -> int:
    """How long a reply may be."""
    return TOKENS_AT_LEAST + TOKENS_EACH * len(new)
