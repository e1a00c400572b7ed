"""`induced[@SPEC]`: an explicit profile inferred from all of a person's memories, independently of the prompt.

Memories are read oldest first, in batches of a few; for each batch a model proposes edits to the persona so far. A new memory costs one
more ask: the replies on earlier ones are read back from the store.

The model sees the current persona and the new memories by number; it replies with edits, each citing memory numbers as evidence.
Edits without evidence among the numbers shown are discarded: the model can phrase a field, but it cannot invent the evidence.
Edits are merged here, deterministically.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit._versions import fingerprint_of
from personafit.contexts.context import HISTORY, Context, in_language
from personafit.contexts.filtering import WORDINGS, JsonPairs, json_pairs, numbered, tagged
from personafit.contexts.making import ContextPrompt, ModelMade, context_job
from personafit.contexts.memories import memories_of, oldest_first
from personafit.engine import Job
from personafit.models import Message, Model
from personafit.people import FacetValue, Memory, Person, facet_values, render_facets
from personafit.store import Item, Outcome, Product, Status, Store

KIND = "induced"
EVERY = 8  # memories per batch
LONGEST_MEMORY = 2_000  # characters of one memory that the model is shown


ADD, CHANGE, REMOVE = "add", "change", "remove"
LONGEST_VALUE = 400
MOST_FIELDS = 60
_PATH = re.compile(r"[^\W_][\w '&/()-]{0,59}(?:\.[^\W_][\w '&/()-]{0,59}){0,2}")


@dataclass(frozen=True)
class Belief:
    """One inferred value, the ids of the memories that support it, and the time of the newest of them."""

    value: str
    evidence: tuple[str, ...]
    time: str | None = None


@dataclass(frozen=True)
class Edit:
    """A change that a model proposes, with the memories it cites as evidence."""

    do: str  # `add`, `change` or `remove`
    path: str
    value: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Persona:
    """An inferred profile: current beliefs by field, earlier beliefs, and the ids of the memories read so far."""

    fields: Mapping[str, Belief] = field(default_factory=dict)
    past: Mapping[str, tuple[Belief, ...]] = field(default_factory=dict)
    """Earlier values by field, the latest last."""
    seen: tuple[str, ...] = ()

    def updated(self, edits: Iterable[Edit], shown: Sequence[Memory]) -> "Persona":
        """Return the persona after applying edits; fields that no edit names are unchanged."""
        times = {memory.id: memory.time for memory in shown}
        fields, past = dict(self.fields), dict(self.past)
        for edit in edits:
            _apply(fields, past, edit, _latest(times.get(id) for id in edit.evidence))
        return Persona(fields, past, tuple(dict.fromkeys([*self.seen, *(memory.id for memory in shown)])))

    def unseen(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return the memories that have not been read yet, in the order given."""
        seen = set(self.seen)
        return [memory for memory in memories if memory.id not in seen]

    def without(self, forgotten: Collection[str]) -> "Persona":
        """Return the persona without forgotten memories: beliefs based on them alone are removed, and an earlier one may return."""
        fields, past = {}, {}
        for path in {**self.past, **self.fields}:
            now = [self.fields[path]] if path in self.fields else []
            beliefs = [
                replace(one, evidence=tuple(id for id in one.evidence if id not in forgotten))
                for one in (*self.past.get(path, ()), *now)
            ]
            kept = [one for one in beliefs if one.evidence]
            if kept and now:
                fields[path] = kept.pop()
            if kept:
                past[path] = tuple(kept)
        return Persona(fields, past, tuple(id for id in self.seen if id not in forgotten))

    @property
    def facets(self) -> dict[str, FacetValue]:
        return {path: belief.value for path, belief in self.fields.items()}

    def render(self) -> str:
        """Render the current beliefs as an outline, like a profile."""
        return render_facets(dict(sorted(self.facets.items(), key=lambda pair: pair[0].split("."))))


def _apply(
    fields: dict[str, Belief], past: dict[str, tuple[Belief, ...]], edit: Edit, time: str | None
) -> None:
    """Apply an edit in place: the newer statement wins, and one without a time counts as newer than all earlier ones."""
    path = next((known for known in fields if known.casefold() == edit.path.casefold()), edit.path)
    new, now = Belief(edit.value, edit.evidence, time), fields.get(path)
    if now is None:
        if edit.do != REMOVE and len(fields) < MOST_FIELDS:
            fields[path] = new
        return
    later = time is None or now.time is None or time >= now.time
    if edit.do == REMOVE:
        if later:
            past[path] = (*past.get(path, ()), fields.pop(path))
    elif now.value.casefold().strip(" .。") == edit.value.casefold().strip(" .。"):
        # The value is unchanged: add the new evidence to it.
        evidence = tuple(dict.fromkeys([*now.evidence, *edit.evidence]))
        fields[path] = Belief(now.value, evidence, _latest([now.time, time]))
    else:
        fields[path], older = (new, now) if later else (now, new)
        past[path] = tuple(sorted((*past.get(path, ()), older), key=lambda belief: belief.time or ""))


def _latest(times: Iterable[str | None]) -> str | None:
    return max((time for time in times if time is not None), default=None)


def valid_edit(do: object, path: object, value: object, evidence: Sequence[str]) -> Edit | None:
    """Return an edit if all its parts are valid, else None; the caller checks the evidence against the memories shown."""
    if not (isinstance(do, str) and do in (ADD, CHANGE, REMOVE) and isinstance(path, str) and evidence):
        return None
    path = ".".join(part.strip() for part in path.split("."))
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not _PATH.fullmatch(path) or len(text) > LONGEST_VALUE or (not text and do != REMOVE):
        return None
    return Edit(do, path, text, tuple(evidence))


class InducedContext(ModelMade):
    """A profile that a model inferred from memories."""

    question = "induce"
    per_person = True

    def __init__(self, model: Model, named: str | None) -> None:
        made_by = [model.settings, EVERY, LONGEST_MEMORY, profiling_fingerprint()]
        super().__init__(model, KIND + (f"@{named}" if named else ""), content_hash(made_by))
        self._made: dict[str, Context] = {}

    def begin(self, store: Store) -> None:
        super().begin(store)
        self._made.clear()

    def job(self, person: Person, item: Item) -> Job | None:
        """Return the first job of the chain that reads the person's memories."""
        if HISTORY in item.slices:
            raise UserError(
                f"{self.name} reads all that a person ever said, and {item.id} is about a history up to some place in it, so it would "
                "be told what comes later; use memory, memory+filter or history."
            )
        return self._link(person, Persona(), 0)

    def build(self, person: Person, item: Item) -> Context:
        """Build the context: the persona as an outline, with its evidence and asks as parents."""
        if person.id not in self._made:
            self._made[person.id] = self._read(person)
        return self._made[person.id]

    def _read(self, person: Person) -> Context:
        """Build the persona from the stored replies; its status is the last one that is not OK, if any."""
        persona, asks, status = Persona(), list[str](), Status.OK
        while new := self._next(person, persona):
            ask = self._reply(self._prompt(person, persona, new, len(asks)), person.id)
            status = status if ask.status == Status.OK else ask.status
            persona = persona.updated(edits_in(ask.reply or "", new) or [], new)
            asks.append(ask.id)
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
        return persona.unseen(oldest_first(memories_of(person)))[:EVERY]

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
            context=self.name,
            question=self.question,
            fingerprint=self.fingerprint,
            source=Product(kind="memories", text=said, maker=hash_text(person.id, said), about=person.id),
            messages=profiling_messages(persona, shown, person.language),
            again=in_language(WORDING, person.language)["again"].format(),
            readable=lambda reply: edits_in(reply, new) is not None,
            step=str(step),
            tokens=reply_tokens(new),
        )


EDITS = "edits"
# The prompt describes the format without an example: small models copy an example, down to its placeholders.
TOKENS_EACH, TOKENS_AT_LEAST = 60, 160  # reply length: tokens per memory, and the base amount
WORDING_VERSION = "1"
"""Version of the wording and of how edits are parsed and merged into a persona; raise it with any change."""
WORDING = WORDINGS["induced"]


def profiling_fingerprint() -> str:
    """Return the fingerprint of the wording and of how edits are parsed and merged."""
    return fingerprint_of("profiling", WORDING_VERSION)


def profiling_messages(persona: Persona, new: Sequence[Memory], language: str) -> tuple[Message, ...]:
    """Return the prompt; the parts that are the same for everybody come first."""
    words = in_language(WORDING, language)
    parts = [
        words["task"],
        words["closing"],
        tagged("persona", _fields(persona) or words["empty"]),
        tagged("memories", numbered(new)),
    ]
    return ({"role": "user", "content": "\n\n".join(parts)},)


def edits_in(reply: str, new: Sequence[Memory]) -> list[Edit] | None:
    """Return the valid edits of a reply, or None if it is not one JSON object with a list of edits."""
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
    """Return the maximum number of tokens of a reply."""
    return TOKENS_AT_LEAST + TOKENS_EACH * len(new)
