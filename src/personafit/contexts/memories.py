"""A person's memories and the contexts made of them: `history[:budget=32000]` holds all that fit, `memory[:k=3,by=hybrid,budget=400]`
those retrieved for the prompt.

Memories on record are used if there are any; otherwise each sentence or bullet of the person's summaries of earlier interactions
becomes a memory, with an id made of its domain and number. A context holds only the memories themselves, the newest last. Their ids
are the parents of the stored context, and the retrieval method is part of its maker.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.contexts.context import (
    HISTORY,
    UNTIL,
    WAYS,
    Context,
    ContextBuilder,
    FromMemories,
    People,
    has_memories,
    in_language,
)
from personafit.models.purse import count_tokens
from personafit.people import Memory, Person
from personafit.store import Item

_PIECE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|(?<!\s)\s*\n\s*(?:[-*•]\s+|\d+[.)]\s+)?")
_BULLET = re.compile(r"^(?:[-*•]\s+|\d+[.)]\s+)")


def memories_of(person: Person) -> list[Memory]:
    """Return the person's memories in file order; raise UserError for duplicate ids or blank texts."""
    memories = person.memories or list(_of_summaries(person))
    seen: set[str] = set()
    for memory in memories:
        if memory.id in seen:
            raise UserError(
                f"Person '{person.id}' has two memories with the id '{memory.id}'; give each its own."
            )
        if not memory.text.strip():
            raise UserError(
                f"Memory '{memory.id}' of person '{person.id}' is blank; remove it or say what is remembered."
            )
        seen.add(memory.id)
    return memories


def memories_at(person: Person, item: Item) -> list[Memory]:
    """Return the memories available at the time of the item; for another person, all of that history, or else all memories.

    An item names its history (the `source` of memories) in the slice `history`, and the number of memories up to it in `until`.
    """
    memories = memories_of(person)
    history = item.slices.get(HISTORY)
    if history is None:
        return memories
    named = [memory for memory in memories if memory.source == history]
    if person.id != item.person:
        return named or memories
    return named[: int(item.slices.get(UNTIL, len(named)))]


def oldest_first(memories: Sequence[Memory]) -> list[Memory]:
    """Sort memories by time, those without a time first; ties keep file order."""
    return sorted(memories, key=lambda memory: memory.time or "")


def _of_summaries(person: Person) -> Iterator[Memory]:
    for domain, text in person.summaries.items():
        pieces = (_BULLET.sub("", piece.strip()) for piece in _PIECE.split(text))
        for number, piece in enumerate((piece for piece in pieces if piece), 1):
            yield Memory(id=f"{domain}#{number}", text=piece, source=domain)


BUDGET = 32_000  # tokens
HEADINGS = {"en": "Said in earlier conversations:", "zh": "以前的对话："}


class HistoryContext(FromMemories):
    """A context of all memories up to the item, within a token budget."""

    def __init__(self, budget: int) -> None:
        self.name = "history" if budget == BUDGET else f"history:budget={budget}"
        self.fingerprint = content_hash(["said-1", budget, HEADINGS])
        self._budget = budget
        self._tokens: dict[str, int] = {}
        self._of: str | None = None

    def build(self, person: Person, item: Item) -> Context:
        kept = self._latest(person, oldest_first(memories_at(person, item)))
        return told(self.name, self.fingerprint, person, kept, {}, HEADINGS, lambda memory, _: memory.text)

    def _latest(self, person: Person, memories: list[Memory]) -> list[Memory]:
        if person.id != self._of:  # items are ordered by person, and one history serves many prompts
            self._of, self._tokens = person.id, {}
        left, kept = self._budget, 0
        for memory in reversed(memories):
            if memory.id not in self._tokens:
                self._tokens[memory.id] = count_tokens(memory.text)
            left -= self._tokens[memory.id]
            if left < 0:
                break
            kept += 1
        return memories[len(memories) - kept :]


def history_context(argument: str, people: People) -> ContextBuilder:
    """Make `history` or `history:budget=TOKENS`."""
    name = f"history:{argument}" if argument else "history"
    option, _, value = argument.partition("=")
    if argument and (option != "budget" or not (value.isascii() and value.isdecimal() and int(value) > 0)):
        raise UserError(f"{name}: write history:budget=TOKENS, such as history:budget=8000.")
    if not any(has_memories(person) for person in people.values()):
        raise UserError(f"{name}: nobody here has memories; add `memories` to people.jsonl.")
    return HistoryContext(int(value) if argument else BUDGET)


KIND = "memory"
TELLING = "memories-1"  # version of the rendering of memories
FOUND_HEADINGS = {
    "en": "Remembered from earlier conversations with the person:",
    "zh": "从以前的对话中记得的：",
}
CUT = " …"
MOST = 1_000_000  # upper limit of k and budget


class MemorySettings(BaseModel):
    """Options of memory retrieval."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: int = Field(3, ge=1, le=MOST)
    by: Literal["bm25", "dense", "hybrid"] = "hybrid"
    budget: int = Field(
        400, ge=1, le=MOST
    )  # approximate token limit; a single memory that exceeds it is truncated
    embedder: str = ""  # as in models.embeddings; empty for the built-in one

    @property
    def options(self) -> str:
        """The options that differ from the defaults, as written on the command line."""
        return ",".join(f"{name}={value}" for name, value in self.model_dump(exclude_defaults=True).items())


class MemoryContext(FromMemories):
    """A context of the memories retrieved for a prompt."""

    def __init__(self, settings: MemorySettings, people: People) -> None:
        self.settings = settings
        self.name = f"{KIND}:{settings.options}" if settings.options else KIND
        from personafit.contexts.retrieval import Retriever

        self._retriever = Retriever(settings.by, settings.embedder, people.index_folder)
        self.fingerprint = content_hash(
            [TELLING, settings.k, settings.budget, self._retriever.fingerprint, FOUND_HEADINGS]
        )

    def build(self, person: Person, item: Item) -> Context:
        found = self.find(person, item)
        return told(self.name, self.fingerprint, person, found, {})

    def find(self, person: Person, item: Item) -> list[Memory]:
        memories = memories_at(person, item)
        found = self._retriever.find(person.id, memories, item.prompt, self.settings.k)
        return within(found, self.settings.budget)


def within(memories: Sequence[Memory], budget: int) -> list[Memory]:
    """Return the memories that fit a token budget, in order; if the first one is too long, return it alone, truncated."""
    kept: list[Memory] = []
    for memory in memories:
        size = count_tokens(memory.text)
        if size <= budget:
            kept.append(memory)
            budget -= size
        elif not kept:
            return [memory.model_copy(update={"text": _cut(memory.text, budget)})]
    return kept


def _line(memory: Memory, mark: str) -> str:
    date = f"[{memory.time}] " if memory.time else ""
    return f"- {date}{mark}{' '.join(memory.text.split())}"


def told(
    name: str,
    fingerprint: str,
    person: Person,
    memories: Sequence[Memory],
    marks: Mapping[str, str],
    headings: Mapping[str, str] = FOUND_HEADINGS,
    line: Callable[[Memory, str], str] = _line,
) -> Context:
    """Format memories as a context; `marks` maps memory ids to prefixes."""
    ordered = oldest_first(memories)
    lines = [line(memory, marks.get(memory.id, "")) for memory in ordered]
    text = "\n".join([in_language(headings, person.language), *lines]) if lines else ""
    values, parents = tuple(memory.text for memory in ordered), tuple(memory.id for memory in ordered)
    return Context(name, text, values, person.id, maker=f"{name}#{fingerprint}", parents=parents)


def memory_settings(argument: str, name: str) -> MemorySettings:
    """Parse options such as `k=5,by=bm25`."""
    options = dict(part.partition("=")[::2] for part in filter(None, argument.split(",")))
    try:
        return MemorySettings.model_validate(options)
    except ValidationError as error:
        wrong = str(error.errors()[0]["loc"][0])
        raise UserError(
            f"{name}: '{wrong}={options[wrong]}' is not an option; write k=NUMBER, by={'|'.join(WAYS)}, budget=TOKENS or embedder=NAME."
        ) from error


def check_people(people: People, name: str) -> None:
    """Raise UserError if nobody has memories, or if somebody's are invalid."""
    if not sum(len(memories_of(person)) for person in people.values()):
        raise UserError(
            f"{name}: nobody here has memories, or summaries to take them from; add `memories` to people.jsonl."
        )


def _cut(text: str, budget: int) -> str:
    """Truncate a text to a number of tokens and append `CUT`."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    return text[:low].rstrip() + CUT
